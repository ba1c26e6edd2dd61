"""The embedded broker, for the demo and the tests: its process, and what it takes to work with it."""
