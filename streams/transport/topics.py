"""The topics: created with equal partition counts, and checked, before a worker starts.

A case's messages, its row and its timers belong together because their partitions do. So a topic with another count,
or one that a broker created by itself with the wrong policy, stops the start.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.errors import TopicAlreadyExistsError, for_code

from streams.settings import Settings

OPERATIONS: Final = "operations"
WEBHOOKS: Final = "webhooks"
CASES: Final = "cases"
READBACKS: Final = "readbacks"
VERDICTS: Final = "verdicts"
REVIEWS: Final = "reviews"
DEAD_LETTERS: Final = "dead-letters"

MAX_RECORD_BYTES: Final = 4 * 1024 * 1024
MAX_DEAD_LETTER_BYTES: Final = MAX_RECORD_BYTES + 256 * 1024
"""More than any record: a dead letter is its record and the headers that say why."""
MAX_REQUEST_BYTES: Final = MAX_RECORD_BYTES + 512 * 1024
_DAY_MS = 86_400_000
_PATIENCE, _PAUSE_S = 40, 0.25


@dataclass(frozen=True, slots=True)
class TopicSpec:
    """What a topic must be like."""

    cleanup_policy: str
    config: Mapping[str, str]


def _stream(retention_days: int) -> TopicSpec:
    return TopicSpec("delete", {"retention.ms": str(retention_days * _DAY_MS)})


_COMPACTED = TopicSpec("compact", {"delete.retention.ms": str(7 * _DAY_MS)})
# A stale record, and the right one that it hides, must both be there when the next recovery compares them.
_CHANGELOG = TopicSpec("compact", {**_COMPACTED.config, "min.compaction.lag.ms": str(_DAY_MS)})

SPECS: Final[Mapping[str, TopicSpec]] = {
    OPERATIONS: _stream(30),
    WEBHOOKS: _stream(30),
    CASES: _stream(30),
    READBACKS: _stream(1),
    VERDICTS: _stream(365),
    REVIEWS: _COMPACTED,
    DEAD_LETTERS: _stream(365),
}


class TopicsError(RuntimeError):
    """A topic that exists is not as it must be; the message names the topic, what it is and what it must be."""


async def ensure_topics(settings: Settings) -> None:
    """Create the topics that are missing, and check those that are there.

    Raises:
        TopicsError: an existing topic has another partition count or cleanup policy.
        aiokafka.errors.KafkaError: Kafka cannot be reached, or refuses.
    """
    wanted = {settings.topic(name): spec for name, spec in SPECS.items()}
    wanted[settings.changelog_topic] = _CHANGELOG
    admin = AIOKafkaAdminClient(bootstrap_servers=settings.bootstrap_servers, client_id=settings.app_id)
    try:
        await admin.start()
        # Never ask for a missing topic's metadata: a broker with auto-creation would make it, with its own defaults.
        existing = wanted.keys() & set(await admin.list_topics())
        await _create(admin, {name: spec for name, spec in wanted.items() if name not in existing}, settings)
        await _check_partitions(admin, wanted, settings)
        await _check_policies(admin, wanted)
    finally:
        await admin.close()


async def _create(admin: AIOKafkaAdminClient, missing: Mapping[str, TopicSpec], settings: Settings) -> None:
    if not missing:
        return
    topics = [
        NewTopic(
            name,
            num_partitions=settings.partitions,
            replication_factor=settings.replication_factor,
            topic_configs={
                "cleanup.policy": spec.cleanup_policy,
                "max.message.bytes": str(MAX_REQUEST_BYTES),
                **spec.config,
            },
        )
        for name, spec in missing.items()
    ]
    response = await admin.create_topics(topics)
    for name, code, *rest in response.topic_errors:
        if code not in (0, TopicAlreadyExistsError.errno):  # another worker may have been quicker
            raise TopicsError(f"the topic {name} could not be created: {for_code(code).__name__} {rest or ''}")


async def _check_partitions(admin: AIOKafkaAdminClient, wanted: Mapping[str, TopicSpec], settings: Settings) -> None:
    for described in await _describe(admin, list(wanted)):
        count = len(described["partitions"])
        if count != settings.partitions:
            raise TopicsError(
                f"the topic {described['topic']} has {count} partitions, but PROOFSTREAM_PARTITIONS is"
                f" {settings.partitions}: all topics need the same count, and the count of a topic in use cannot change"
            )


async def _describe(admin: AIOKafkaAdminClient, names: list[str]) -> list[dict[str, Any]]:
    """Describe topics. A topic that was just created is not known to every broker at once."""
    for _ in range(_PATIENCE):
        described: list[dict[str, Any]] = await admin.describe_topics(names)
        errors = {one["topic"]: for_code(one["error_code"]) for one in described if one["error_code"]}
        if not errors:
            return described
        if not all(error.retriable for error in errors.values()):
            break
        await asyncio.sleep(_PAUSE_S)
    raise TopicsError(", ".join(f"the topic {name}: {error.__name__}" for name, error in errors.items()))


async def _check_policies(admin: AIOKafkaAdminClient, wanted: Mapping[str, TopicSpec]) -> None:
    responses = await admin.describe_configs([ConfigResource(ConfigResourceType.TOPIC, name) for name in wanted])
    for response in responses:
        for resource in response.resources:
            name, entries = resource[3], resource[4]
            policy = next((entry[1] for entry in entries if entry[0] == "cleanup.policy"), None)
            if policy is not None and policy != wanted[name].cleanup_policy:
                raise TopicsError(
                    f"the topic {name} has cleanup.policy={policy}, but it must be {wanted[name].cleanup_policy}:"
                    f" set it with kafka-configs, or delete the topic if nothing uses it"
                )
