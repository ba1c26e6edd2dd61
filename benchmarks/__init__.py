"""The benchmark: our worker beside the same pure functions under Quix Streams, Faust as it comes, and plain aiokafka.

``scripts/bench`` runs it. ``workload`` makes what is to be done, ``contenders`` are the processes that do it, the other
modules measure them from the outside, by the times at which the broker appended records.
"""
