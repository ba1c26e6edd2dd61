"""Completion contracts: what evidence proves that an operation really happened.

Pure: data and the time go in, a decision comes out. Nothing here reads a clock, sleeps, logs or talks to anything.

The way to read it: ``model`` (the YAML format) → ``catalogue`` (loading) → ``paths``, ``values``, ``instants``,
``operators`` (what a rule compares) → ``evaluation`` (all rules of a contract over what was observed) →
``judgement`` (which verdict that makes) → ``schedule`` (when to read again).
"""
