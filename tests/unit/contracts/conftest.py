"""Contract files to try things with."""

from pathlib import Path

import pytest
from mutation import PAYPAL, TEXT, Write


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write a built-in contract below the test's directory, with some of its text replaced."""

    def written(*replacements: tuple[str, str], name: str = "one.yaml") -> Path:
        text = TEXT[PAYPAL]
        for old, new in replacements:
            assert old in text, old
            text = text.replace(old, new, 1)
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    return written
