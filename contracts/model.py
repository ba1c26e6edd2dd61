"""The contract format: what a YAML file under ``catalog/`` may say.

Everything outside ``readings`` is a fact of the published page. ``readings`` holds what the page leaves open and we
had to settle: the types of inputs, the case key, the requests, which events a channel counts, how a value is compared.
Every model is frozen and refuses unknown fields, so a misspelt word is an error and never silently ignored.
"""

import hashlib
import json
from datetime import date
from functools import cached_property
from typing import Annotated, Any, Final, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PositiveInt,
    WithJsonSchema,
    model_validator,
)

from contracts.operators import NAMES
from contracts.paths import ROOTS, channel_of, is_path, parse_path
from contracts.schedule import Schedule


def _check_path(text: str) -> str:
    parse_path(text)
    return text


def _check_expected(value: Any) -> Any:
    if is_path(value):
        parse_path(value)
    return value


def _check_operator(name: str) -> str:
    if name not in NAMES:
        raise ValueError(f"unknown operator {name!r}: there are {', '.join(NAMES)}")
    return name


def _no_float(value: Any) -> Any:
    if isinstance(value, float):
        raise ValueError(f"{value!r} is a floating-point number: write it as text, in quotes")  # noqa: TRY004
    return value


# Said of paths in the JSON Schema only: what is wrong with one is said better by its own reader.
PATH_PATTERN: Final = rf"^\$({'|'.join(ROOTS)})[.\[]"
PathText = Annotated[str, AfterValidator(_check_path), WithJsonSchema({"type": "string", "pattern": PATH_PATTERN})]
Literal_ = Annotated[str | bool | int, BeforeValidator(_no_float)]
Expected = Annotated[Literal_ | tuple[Literal_, ...], AfterValidator(_check_expected)]
OperatorName = Annotated[str, AfterValidator(_check_operator), WithJsonSchema({"type": "string", "enum": [*NAMES]})]
CONTRACT_ID: Final = r"^[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)+$"
Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")]
Text = Annotated[str, Field(min_length=1)]
Level = Literal["E1", "E2", "E3", "E4"]
Verdict = Literal["VERIFIED", "CONTRADICTED", "FAILED", "UNVERIFIABLE"]


class Model(BaseModel):
    """The base of every part of a contract: frozen, strict about types, no unknown fields."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Link(Model):
    """A titled link."""

    text: Text
    link: Text


class Skill(Model):
    """The skill of the provider that the contract belongs to."""

    name: Text
    version: Text
    link: Text


class Published(Model):
    """What the published page says of itself. A contract without a page of its own has no hash, address and skill."""

    hash: Text | None = None
    canonical: Text | None = None
    last_reviewed: date
    publisher: Text | None = None
    certification: Literal["community", "provisional", "certified"]
    skill: Skill | None = None
    read_next: tuple[Link, ...] = ()


class Subject(Model):
    """What the operation acts on, and the paths that identify it."""

    type: Text
    identity: dict[Name, PathText]


class Idempotency(Model):
    """How the provider makes a retried action harmless."""

    key: Text
    through: Text
    retry_is_safe: bool


class Correlation(Model):
    """One way to tie evidence to an operation."""

    strategy: Name
    assurance: Literal["strong", "weak"]
    keys: dict[Name, PathText]
    required: bool


class EvidenceRule(Model):
    """How much evidence VERIFIED takes."""

    minimum_level: Level
    independent_channel_required: bool
    minimum_channels: PositiveInt
    action_response_level: Level


class Channel(Model):
    """A source of evidence."""

    level: Level
    independence: Literal["provider_readback", "provider_event", "third_party", "action_response"]
    verifier: Literal["http", "webhook"]
    description: Text

    @property
    def independent(self) -> bool:
        """Tell whether the channel speaks for itself: anything but the action's own response does."""
        return self.independence != "action_response"


class Rule(Model):
    """A path, an operator and what is expected."""

    path: PathText
    operator: OperatorName
    expected: Expected

    @cached_property
    def expected_path(self) -> str | None:
        """The path that the expected value is read from, None where it is a literal."""
        return str(self.expected) if is_path(self.expected) else None

    @cached_property
    def paths(self) -> tuple[str, ...]:
        """The paths that the rule reads: its own, and the expected one where that is a path."""
        return (self.path,) if self.expected_path is None else (self.path, self.expected_path)

    @cached_property
    def channels(self) -> tuple[str, ...]:
        """The channels that the rule rests on."""
        return tuple(dict.fromkeys(name for path in self.paths if (name := channel_of(path)) is not None))

    @cached_property
    def terms(self) -> dict[str, str | None]:
        """What a record says of the rule, whatever values it has met; only to be read."""
        return {
            "path": self.path,
            "operator": self.operator,
            "expected_path": self.expected_path,
            "channel": self.channels[0] if self.channels else None,
            **self._words,
        }

    @property
    def _words(self) -> dict[str, str]:
        return {}


class Condition(Rule):
    """One of the rules that must all hold for VERIFIED."""

    meaning: Text
    evidence: Name

    @property
    def _words(self) -> dict[str, str]:
        return {"meaning": self.meaning}


class Contradiction(Rule):
    """A rule that makes CONTRADICTED when it holds. Its class is written ``class`` in YAML."""

    class_: Name = Field(alias="class")
    reason: Text

    @property
    def _words(self) -> dict[str, str]:
        return {"reason": self.reason}


class MapRule(Rule):
    """A rule of the verdict map: an observed state that decides before completion."""

    verdict: Literal["FAILED", "VERIFIED", "UNVERIFIABLE"]
    reason: Text

    @property
    def _words(self) -> dict[str, str]:
        return {"reason": self.reason}


class Backoff(Model):
    """How the poll interval grows."""

    kind: Literal["exponential"]
    factor: PositiveInt
    max_ms: PositiveInt


class OnTimeout(Model):
    """What happens when the observation ends without a verdict."""

    verdict: Literal["UNVERIFIABLE"]
    reason: Name
    escalate: bool


class Timing(Model):
    """How long, and how often, the runtime observes. All times in milliseconds from the operation's start."""

    initial_delay_ms: PositiveInt
    poll_interval_ms: PositiveInt
    backoff: Backoff
    max_attempts: PositiveInt
    timeout_ms: PositiveInt
    stale_read_window_ms: Annotated[int, Field(ge=0)]
    on_timeout: OnTimeout

    @cached_property
    def schedule(self) -> Schedule:
        """The reads' due times that these members give."""
        return Schedule.of(
            initial_delay_ms=self.initial_delay_ms,
            poll_interval_ms=self.poll_interval_ms,
            factor=self.backoff.factor,
            max_interval_ms=self.backoff.max_ms,
            max_attempts=self.max_attempts,
            timeout_ms=self.timeout_ms,
        )


class Source(Model):
    """Where a rule comes from."""

    ref: Text
    title: Text
    link: Text
    retrieved: date


class InputType(Model):
    """A reading: the type of one member of ``$input``.

    ``text`` is any non-empty text. ``money`` is an amount written as decimal text. ``currency`` is three capital
    letters. ``identifier`` may be written as a number or in full; ``form`` is the full form with ``{number}`` in it.
    """

    type: Literal["text", "money", "currency", "identifier"]
    form: Annotated[str, Field(pattern=r"^[^{}]*\{number\}[^{}]*$")] | None = None

    @model_validator(mode="after")
    def _form_goes_with_identifier(self) -> Self:
        if (self.form is not None) != (self.type == "identifier"):
            raise ValueError("`form` belongs to the type `identifier`, which needs it")
        return self


class CaseKey(Model):
    """A reading: what one case is about. ``name`` is the identifier's name in events as in the case key."""

    name: Name
    operation: PathText


class GraphQL(Model):
    """The document and the variables of a GraphQL read."""

    document: Text
    variables: dict[Name, PathText]


class Request(Model):
    """A reading: how a channel is read back.

    ``evidence`` is the path within the body that must resolve; an answer without it holds no evidence. ``shown`` are
    paths that no rule reads and that are kept all the same, for the person who reads the verdict.
    """

    method: Literal["GET", "POST"]
    path: Annotated[str, Field(pattern=r"^/[^\s?#]*$")]
    parameters: dict[Name, PathText] = {}
    graphql: GraphQL | None = None
    evidence: Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_.\[\]]*$")]
    served_version_header: Text | None = None
    shown: tuple[PathText, ...] = ()

    @property
    def inputs(self) -> dict[str, str]:
        """Every value that the request needs, by its name in the path or among the variables."""
        return {**self.parameters, **(self.graphql.variables if self.graphql else {})}


class EventFilter(Model):
    """A reading: which events a channel counts.

    An event counts when its type is one of ``types``, each identifier of ``where`` equals the value at its path,
    and, with ``since``, the resource was not created before that instant.
    """

    types: Annotated[tuple[Text, ...], Field(min_length=1)]
    where: Annotated[dict[Name, PathText], Field(min_length=1)]
    since: PathText | None = None


class RuleReading(Model):
    """A reading of one published rule: how it compares, when it is not meant, what follows from it."""

    as_: Literal["decimal"] | None = Field(default=None, alias="as")
    unless: Rule | None = None
    do_not_retry: bool = False


class Readings(Model):
    """What the page leaves open, settled by us."""

    input: dict[Name, InputType]
    case_key: CaseKey
    requests: dict[Name, Request] = {}
    events: dict[Name, EventFilter] = {}
    rules: dict[Name, RuleReading] = {}


class Contract(Model):
    """A completion contract: what evidence proves that an operation really happened."""

    id: Annotated[str, Field(pattern=CONTRACT_ID)]
    version: Annotated[str, Field(pattern=r"^[0-9]+\.[0-9]+\.[0-9]+$")]
    provider: Name
    provider_api_versions: tuple[Text, ...]
    completion_level: Name
    claim: Text
    scope: Text
    published: Published
    intent: Text
    subject: Subject
    canonical_effect: Text
    provider_operation: Text
    idempotency: Idempotency | None = None
    correlation: tuple[Correlation, ...]
    evidence: EvidenceRule
    channels: Annotated[dict[Name, Channel], Field(min_length=1)]
    conditions: Annotated[dict[Name, Condition], Field(min_length=1)]
    contradictions: dict[Name, Contradiction] = {}
    verdict_map: dict[Name, MapRule] = {}
    timing: Timing
    sources: tuple[Source, ...]
    readings: Readings

    @cached_property
    def content_hash(self) -> str:
        """A digest of everything the file says, readings included: 16 hexadecimal digits of SHA-256.

        The order of rules counts, since the first contradiction that holds is the one that decides.
        """
        text = json.dumps(self.model_dump(mode="json", by_alias=True), separators=(",", ":"), ensure_ascii=False)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def __hash__(self) -> int:
        """Make contracts usable as keys: what is derived from one is derived once."""
        return hash(self.content_hash)

    @cached_property
    def rules(self) -> dict[str, Rule]:
        """Every rule by its id: conditions, contradictions, verdict map."""
        return {**self.conditions, **self.contradictions, **self.verdict_map}

    def reading_of(self, rule_id: str) -> RuleReading:
        """Return the reading of a rule, an empty one where none is declared."""
        return self.readings.rules.get(rule_id, _NO_READING)

    @cached_property
    def action_paths(self) -> tuple[str, ...]:
        """The ``$action`` paths that the contract reads anywhere: all that a case keeps of an action's result."""
        return tuple(sorted(path for path in self._paths if parse_path(path)[0] == "action"))

    def paths_of(self, channel: str) -> tuple[str, ...]:
        """Return the ``$observed`` paths of one channel that some rule reads."""
        return tuple(sorted(path for path in self._paths if channel_of(path) == channel))

    @cached_property
    def _paths(self) -> frozenset[str]:
        paths = set(self.subject.identity.values()) | {self.readings.case_key.operation}
        for rule_id, rule in self.rules.items():
            paths.update(rule.paths)
            if (unless := self.reading_of(rule_id).unless) is not None:
                paths.update(unless.paths)
        for request in self.readings.requests.values():
            paths.update(request.inputs.values(), request.shown)
        for events in self.readings.events.values():
            paths.update(events.where.values())
        return frozenset(paths)


_NO_READING = RuleReading()
