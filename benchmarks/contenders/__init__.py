"""The contenders: each a process of its own, started as ``python -m benchmarks.contenders.NAME``.

All take their settings from the environment, as the worker does, and say on their output what state they are in.
"""
