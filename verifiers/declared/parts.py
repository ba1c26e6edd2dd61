"""Small parts that declarations are made of: paths into a body, header names, and where a value stands."""

from collections.abc import Mapping
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from contracts.paths import MISSING, Segment, is_plural, parse_path, resolve
from verifiers.connection import ConnectionPart
from verifiers.events import Delivery, DeliveryError


def _segments(path: str) -> tuple[Segment, ...]:
    return parse_path(f"$observed.{path}")[1]


def _checked_path(path: str) -> str:
    whole = f"$observed.{path}"
    try:
        plural = is_plural(whole)
    except ValueError:
        raise ValueError("must be a path into the body, such as data.object.id or items[0].id") from None
    if plural:
        raise ValueError("must name one value: it goes through a list")
    return path


BodyPath = Annotated[str, AfterValidator(_checked_path)]
HeaderName = Annotated[str, Field(pattern=r"^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}$")]


class Place(ConnectionPart):
    """Where a delivery holds a value: at a path of its body, or in a header. A text alone is a path."""

    path: BodyPath | None = None
    header: HeaderName | None = None

    @model_validator(mode="after")
    def _one(self) -> Self:
        if (self.path is None) == (self.header is None):
            raise ValueError("give either `path` or `header`")
        return self

    @property
    def shown(self) -> str:
        """How to name it in an error."""
        return self.path if self.path is not None else f"the header {self.header}"

    def text(self, delivery: Delivery, document: Mapping[str, Any]) -> str | None:
        """Return the value that a delivery holds there, None where there is none.

        Raises:
            DeliveryError: it is no text and no whole number.
        """
        if self.header is not None:
            return delivery.headers.get(self.header.lower()) or None
        return text_at(document, self.path or "")


def _path_alone(value: Any) -> Any:
    return {"path": value} if isinstance(value, str) else value


PlaceOrPath = Annotated[Place, BeforeValidator(_path_alone)]


def value_at(document: Mapping[str, Any], path: str) -> Any:
    """Return the value at a path of a body, or MISSING."""
    return resolve(document, _segments(path))


def text_at(document: Mapping[str, Any], path: str) -> str | None:
    """Return an identifier at a path of a body as text, None where there is none.

    Raises:
        DeliveryError: it is no text and no whole number: anything else would not be exact, or no identifier.
    """
    value = value_at(document, path)
    if value is MISSING or value == "":
        return None
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise DeliveryError("malformed_delivery", f"{path} is no text and no whole number")
    return str(value)
