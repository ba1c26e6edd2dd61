"""Simulated providers: Shopify and PayPal as a worker meets them, for the demo and for tests.

Each answers over real HTTP and sends deliveries as the provider does, from a :class:`~streams.simulation.book.Book`
that a scenario changes while they run. They need the extra ``demo`` (starlette, uvicorn).
"""
