"""The connections' file as the gateway needs it: who sends, and how it signs.

The gateway reads nothing back, so it has no use for credentials, and they are not looked up: the process that
everybody can reach need not hold the keys to the accounts.
"""

from collections.abc import Mapping
from pathlib import Path

import yaml

from verifiers.connection import Connection
from verifiers.connections import Connections, ConnectionsError, carried_by, declared_in, parse_connection


def load_senders(path: Path) -> Connections:
    """Read the connections' file, but for the credentials.

    Returns:
        Connection id → connection.

    Raises:
        ConnectionsError: the file cannot be read, a field is wrong, an id is there twice, or connections of one
            declared provider differ in their events.
    """
    declared_in(path)  # says what is wrong with the file as a whole
    senders: dict[str, Connection] = {}
    for number, one in enumerate(yaml.safe_load(path.read_text(encoding="utf-8"))["connections"], start=1):
        identity = one.get("id") if isinstance(one, Mapping) else None
        where = f"{path}: connection {identity or f'number {number}'}"
        if isinstance(one, Mapping):
            one = {name: value for name, value in one.items() if name != "credentials"}  # noqa: PLW2901
        connection = parse_connection(one, where)
        if connection.id in senders:
            raise ConnectionsError(f"{where}: id: there is another connection of this id")
        senders[connection.id] = connection
    try:
        carried_by(senders.values())
    except ConnectionsError as error:
        raise ConnectionsError(f"{path}: {error}") from None
    return senders
