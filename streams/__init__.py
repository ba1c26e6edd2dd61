"""The streams: from an operation and a webhook to a verdict.

The way to read it is the way of the data:

1. ``app``: every topic, the table and every agent on one page.
2. ``intake``: what producers and gateways publish, checked and put into normal form; ``registration`` keeps an
   operation id to one meaning.
3. ``cases``: the rows of the table, and ``messages``, what changes them.
4. ``timers``: when a row is due.
5. ``readback``: reading a provider back; ``reads`` says when.
6. ``decide``: one message applied to one row, purely; ``fold`` does it for a batch; ``observation`` is what a case
   shows to its contract.
7. ``verdicts``: the records that leave.

Below lies the transport: ``batch`` (one Faust event is one Kafka batch), ``outbox`` and ``table`` (acknowledged, or the
process ends), ``topics``. ``replay`` runs the same stages on a virtual clock.
"""
