"""What must become of what a world has published: known to it by how it made each record, and to nobody else."""

from dataclasses import dataclass, field
from typing import Final

CONSUMED: Final = ("operations", "webhooks", "cases", "readbacks")

LATER: Final = "later"
"""The name of a connection that no worker knows until the cause of its dead letters is mended."""

Place = tuple[str, int, int]
"""Topic without the prefix, partition, offset."""


@dataclass(frozen=True)
class Fate:
    """What must become of one record.

    ``forwarded``: intake hands it on, and it counts once. ``letter``: the stage and the class of its dead letter. With
    neither it leaves no trace; with both it is refused by ``decide``. ``about``: the operation or the refund that it is
    about. ``late_for``: the operation that a delivery comes too late for. ``mended``: it is refused for a cause that is
    mended later, and what is put back then is forwarded.
    """

    forwarded: bool = False
    letter: tuple[str, str] | None = None
    about: str | None = None
    late_for: str | None = None
    mended: bool = False


IGNORED: Final = Fate()


def taken(about: str) -> Fate:
    """Return the fate of a record that is all right."""
    return Fate(forwarded=True, about=about)


def refused(class_: str, stage: str = "intake") -> Fate:
    """Return the fate of a record that cannot be read."""
    return Fate(letter=(stage, class_))


@dataclass
class Expected:
    """What must come out: the last verdict of each operation by its id, and the fate of each record by its place."""

    verdicts: dict[str, str] = field(default_factory=dict)
    fates: dict[Place, Fate] = field(default_factory=dict)

    @property
    def published(self) -> int:
        """How many records were published."""
        return len(self.fates)
