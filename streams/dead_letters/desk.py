"""The desk at which dead letters are repaired: finding, reading and putting back, on the topics.

A record is put back first and marked as put back second, so a mark is always true. A crash in between leaves it
unmarked, and whoever puts it back once more does no harm: its receiver has seen it.
"""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

from aiokafka import AIOKafkaProducer
from aiokafka.errors import MessageSizeTooLargeError

from streams.clock import clock_ms
from streams.dead_letters.letter import Contents, Letter, contents_of
from streams.dead_letters.requeue import PutBack, headers_of, mark_headers
from streams.dead_letters.search import Found, Wanted
from streams.messages import Source
from streams.settings import Settings
from streams.transport.reader import Reader, open_reader
from streams.transport.topics import CASES, DEAD_LETTERS, OPERATIONS, READBACKS, WEBHOOKS


class CannotPutBackError(ValueError):
    """A letter whose record cannot go back; the sentence says why."""


@dataclass(frozen=True, slots=True)
class Desk:
    """Dead letters at hand. ``topics``: the full name of each topic they may go back to, and its plain one."""

    reader: Reader
    dead_letters: str
    topics: Mapping[str, str]

    async def find(self, wanted: Wanted) -> Found:
        """Look for letters on the whole topic, or from the first one on that was asked for by its id.

        Raises:
            LookupError: there is no such topic.
        """
        found = Found(wanted, self.topics)
        async for record in self.reader.scan(self.dead_letters, wanted.beginnings):
            found.look_at(record)
        return found

    async def open(self, letter: Letter) -> Contents:
        """Return what a letter holds of its record.

        Raises:
            LookupError: the letter has gone since it was found.
        """
        record = await self.reader.read(self.dead_letters, letter.id.partition, letter.id.offset)
        if record is None:
            raise LookupError(f"the dead letter {letter.id} is not there any more")
        return contents_of(record)

    def plain_topic(self, letter: Letter) -> str:
        """Return the plain name of the topic that a letter goes back to.

        Raises:
            CannotPutBackError: it is none that this worker reads.
        """
        plain = self.topics.get(letter.source.topic)
        if plain is None:
            raise CannotPutBackError(
                f"it came from the topic {letter.source.topic}, which is none of {', '.join(self.topics)}"
            )
        return plain

    async def whole(self, letter: Letter) -> Contents:
        """Return the record of a letter, from where it lay if the letter was cut.

        Raises:
            CannotPutBackError: the letter was cut, and the record is not there any more.
            LookupError: the letter has gone since it was found.
        """
        held, source = await self.open(letter), letter.source
        if letter.cut is None:
            return held
        record = await self.reader.read(source.topic, source.partition, source.offset)
        if record is None or not (record.value or b"").startswith(held.value or b""):
            raise CannotPutBackError(f"it was cut, and the whole record is no longer at {source.place}")
        return Contents(record.key, record.value, tuple(record.headers))

    async def put_back(self, letter: Letter, kafka: AIOKafkaProducer) -> PutBack:
        """Put the record of a letter back where it came from, and mark the letter.

        Raises:
            CannotPutBackError: see :meth:`plain_topic` and :meth:`whole`; or the topic takes no record of its size.
            LookupError: the letter has gone since it was found.
            aiokafka.errors.KafkaError: Kafka did not take it.
        """
        plain, source = self.plain_topic(letter), letter.source
        contents = await self.whole(letter)
        headers = headers_of(letter, contents, plain)
        try:
            to = await _send(kafka, source.topic, source.partition, Contents(contents.key, contents.value, headers))
        except MessageSizeTooLargeError:  # it was compressed when it was published, and is not now
            size = len(contents.value or b"")
            raise CannotPutBackError(f"its value has {size} bytes, more than the topic {source.topic} takes") from None
        mark = PutBack(letter.id, clock_ms(), to.place)
        await _send(kafka, self.dead_letters, letter.id.partition, Contents(None, None, mark_headers(mark)))
        return mark


async def _send(kafka: AIOKafkaProducer, topic: str, partition: int, record: Contents) -> Source:
    """Publish a record and wait until it is acknowledged; return its place.

    By the batch, since a producer's other way out takes no record that has neither key nor value.
    """
    batch = kafka.create_batch()
    batch.append(key=record.key, value=record.value, timestamp=None, headers=list(record.headers))
    sent = await (await kafka.send_batch(batch, topic, partition=partition))
    return Source(topic, sent.partition, sent.offset)


@asynccontextmanager
async def open_desk(settings: Settings) -> AsyncIterator[Desk]:
    """Open the desk of a worker's topics."""
    topics = {settings.topic(name): name for name in (OPERATIONS, WEBHOOKS, CASES, READBACKS)}
    async with open_reader(settings) as reader:
        yield Desk(reader, settings.topic(DEAD_LETTERS), topics)
