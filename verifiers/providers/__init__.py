"""Providers: one file each, found by being here.

A file defines ``PROVIDER``, a :class:`verifiers.provider.Provider`. To connect another provider, add another file:
nothing else names one. Or declare it in a connection, see ``verifiers.declared``.
"""

import importlib
import pkgutil
from collections.abc import Mapping
from functools import cache

from verifiers.connection import Connection
from verifiers.declared import DeclaredConnection
from verifiers.provider import Provider


@cache
def providers() -> Mapping[str, Provider]:
    """Return every provider by its name."""
    modules = (importlib.import_module(f"{__name__}.{found.name}") for found in pkgutil.iter_modules(__path__))
    return {module.PROVIDER.name: module.PROVIDER for module in modules}


def provider_of(connection: Connection) -> Provider:
    """Return the provider of a configured connection."""
    if isinstance(connection, DeclaredConnection):
        return connection.declared
    return providers()[connection.provider]


def carried_identifiers(provider: str) -> Mapping[str, frozenset[str]] | None:
    """Return event type → the identifiers that such events carry, or None where no file here is about that provider."""
    known = providers().get(provider)
    return known.carried if known else None
