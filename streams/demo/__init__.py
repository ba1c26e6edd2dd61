"""The demo: a broker, two simulated providers and a real worker, and seven refunds that come to different ends.

``world`` starts everything, ``cases`` says what happens to each refund and what must come of it, ``board`` compares,
``show`` lets a person watch, ``run`` puts them together.
"""
