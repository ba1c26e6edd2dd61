"""How much may be under way at once: deliveries, and the bytes of their bodies."""

from collections.abc import Iterator
from contextlib import contextmanager

from streams.gateway.problems import Problem, try_again


class Room:
    """Counts what is under way. Whoever finds no room is asked to come again, at once."""

    def __init__(self, deliveries: int, size: int) -> None:
        self._deliveries = deliveries
        self._bytes = size

    @contextmanager
    def take(self) -> Iterator["Place"]:
        """Take a delivery's place until the block ends.

        Raises:
            Problem: as many as may be are under way.
        """
        if self._deliveries < 1:
            raise _no_room()
        self._deliveries -= 1
        place = Place(self)
        try:
            yield place
        finally:
            self._deliveries += 1
            self._bytes += place.size

    def reserve(self, size: int) -> None:
        """Take room for so many bytes.

        Raises:
            Problem: there is not so much.
        """
        if self._bytes < size:
            raise _no_room()
        self._bytes -= size


class Place:
    """One delivery's share of the room."""

    def __init__(self, room: Room) -> None:
        self._room = room
        self.size = 0

    def grow_to(self, size: int) -> None:
        """Have room for a body of so many bytes.

        Raises:
            Problem: there is not so much.
        """
        if size > self.size:
            self._room.reserve(size - self.size)
            self.size = size


def _no_room() -> Problem:
    return try_again("busy", "Too many deliveries are under way.")
