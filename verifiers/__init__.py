"""Verifiers: how evidence is got, and what it looks like once it is.

``http`` reads a provider back; ``answers`` says what an answer is worth; ``webhook`` counts the events of a case's
ledger. ``providers`` holds one file for each provider: how its deliveries are authenticated, what their events are in
normal form, how a request to it is authorised; ``declared`` is for providers that a connection declares instead.
``certificates`` fetches what deliveries are signed with, ``trust`` says what that is worth. ``connections`` are the
configured accounts.
"""
