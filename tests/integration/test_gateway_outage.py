"""The gateway while Kafka is away: providers are asked to come again in time, and then it goes on by itself."""

import asyncio
import itertools
import os
import signal
import time
from pathlib import Path

from brokers import RunningKafka, start_kafka
from gateways import ANSWERS_WITHIN_S, Gateway, running_gateway, values
from system import running_system


class Provider:
    """Delivers, and keeps what was answered."""

    def __init__(self, gateway: Gateway) -> None:
        self.gateway = gateway
        self.numbers = itertools.count()
        self.taken: list[bytes] = []

    async def deliver(self) -> int:
        body = b'{"id": %d}' % next(self.numbers)
        started = time.monotonic()
        answer = await self.gateway.deliver(body)
        assert time.monotonic() - started < ANSWERS_WITHIN_S + 0.7
        if answer.is_success:
            self.taken.append(body)
        else:
            assert int(answer.headers["retry-after"]) > 0
        return answer.status_code

    async def deliver_many(self, count: int) -> set[int]:
        return set(await asyncio.gather(*(self.deliver() for _ in range(count))))


async def test_503_while_kafka_is_away_and_200_again_by_itself(kafka_tools: None, topic_prefix: str, tmp_path: Path):
    async with (
        start_kafka() as kafka,
        running_system(kafka.bootstrap, topic_prefix, tmp_path, "kafka") as system,
        running_gateway(system) as gateway,
    ):
        provider = Provider(gateway)
        assert await provider.deliver_many(20) == {200}

        await goes_on_after_a_stop(kafka, gateway, provider)
        await goes_on_after_a_silence(kafka, gateway, provider)

        found = values(await gateway.records(len(provider.taken)))
        assert {found.count(body) for body in provider.taken} == {1}, "each is there, and idempotence keeps it single"
        await ends_without_kafka(kafka, gateway, provider)


async def goes_on_after_a_stop(kafka: RunningKafka, gateway: Gateway, provider: Provider) -> None:
    await kafka.stop()
    assert await provider.deliver_many(20) == {503}
    await gateway.until_ready(False)
    assert (await gateway.client.get("/healthz")).status_code == 200

    await kafka.restart()

    await gateway.until_ready()
    assert await provider.deliver_many(20) == {200}


async def goes_on_after_a_silence(kafka: RunningKafka, gateway: Gateway, provider: Provider) -> None:
    """Kafka's process stands still: connections stay, and nothing comes over them."""
    os.kill(kafka.pid, signal.SIGSTOP)
    try:
        assert await provider.deliver_many(20) == {503}
        assert (await gateway.client.get("/readyz")).status_code == 503
    finally:
        os.kill(kafka.pid, signal.SIGCONT)

    await gateway.until_ready()
    async with asyncio.timeout(10):
        while await provider.deliver() != 200:
            pass
    assert await provider.deliver_many(20) == {200}


async def ends_without_kafka(kafka: RunningKafka, gateway: Gateway, provider: Provider) -> None:
    """SIGTERM with deliveries under way that Kafka will never acknowledge: they are answered first."""
    await kafka.kill()
    under_way = asyncio.create_task(provider.deliver_many(5))
    await asyncio.sleep(1)
    started = time.monotonic()

    assert await gateway.stop() == 0

    assert await under_way == {503}
    assert time.monotonic() - started < 8
