"""Providers that are declared in a connection, and need no file of their own.

A connection with ``events`` declares its provider: ``schemes`` how its deliveries are signed, ``events`` what they say,
``connection`` the whole of it, and how reads are authorised.
"""

from verifiers.declared.connection import DeclaredConnection
from verifiers.declared.events import EventDeclarations

__all__ = ["DeclaredConnection", "EventDeclarations"]
