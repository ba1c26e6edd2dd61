"""What is wrong with a contract file, and where."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Severity = Literal["error", "warning"]


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong with a file.

    Attributes:
        file: the file, as it was named by whoever asked for it.
        line: the line of the offending key or value, counted from 1.
        field: the dotted path of the field, such as ``readings.rules.refund_amount_mismatch.as``; empty where
            the problem concerns the whole file.
        message: what is wrong and why, in a sentence.
        level: an error keeps the contract from being used, a warning does not.
    """

    file: Path
    line: int
    field: str
    message: str
    level: Severity = "error"

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}: {self.level}: "
        return where + (f"{self.field}: {self.message}" if self.field else self.message)


class ContractFileError(ValueError):
    """A contract file, or a directory of them, cannot be used."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(map(str, self.problems)))

    @classmethod
    def of(cls, file: Path, message: str, *, line: int = 1, field: str = "") -> "ContractFileError":
        """Make the error of a single problem."""
        return cls([Problem(file, line, field, message)])
