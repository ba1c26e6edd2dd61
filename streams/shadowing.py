"""Other distributions use the import names `contracts` and `verifiers`, too."""

from pathlib import Path

import contracts
import verifiers


def refuse_shadowed_packages() -> None:
    """Refuse to run with somebody else's package of the same import name.

    Raises:
        SystemExit: with a sentence that names both places.
    """
    home = Path(__file__).resolve().parents[1]
    for package in (contracts, verifiers):
        found = Path(package.__file__ or "").resolve().parent
        if found != home / package.__name__:
            raise SystemExit(
                f"proofstream: the package `{package.__name__}` was imported from {found}, which is not proofstream's"
                f" own ({home / package.__name__}). Another distribution uses the same name: install proofstream into"
                " an environment of its own."
            )
