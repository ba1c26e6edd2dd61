"""The transport: how records come in by the batch, and how they go out acknowledged or not at all.

``topics`` are created and checked; ``batch`` hands over one Kafka batch as one Faust event; ``outbox`` publishes,
``table`` keeps the rows; ``fatal`` ends the process where going on would lose or double something. ``clients`` are the
plain Kafka clients of the commands.
"""
