"""What the commands share: settings, and errors as one sentence."""

import asyncio
from collections.abc import Coroutine
from typing import Any

import click
from aiokafka.errors import KafkaConnectionError, KafkaError
from pydantic import ValidationError

from streams.messages import describe
from streams.settings import Settings
from streams.transport.topics import TopicsError


def load_settings(**overrides: Any) -> Settings:
    """Read the settings; a command's options go before the environment.

    Raises:
        click.ClickException: a setting is wrong.
    """
    try:
        return Settings(**{name: value for name, value in overrides.items() if value is not None})
    except ValidationError as error:
        field, _, rule = describe(error).partition(": ")
        raise click.ClickException(f"the setting PROOFSTREAM_{field.upper()}: {rule}") from None


def run(work: Coroutine[Any, Any, None], settings: Settings) -> None:
    """Run a command's work; what Kafka refuses becomes a sentence.

    Raises:
        click.ClickException: Kafka cannot be reached, or refuses.
    """
    try:
        asyncio.run(work)
    except KafkaConnectionError:
        raise click.ClickException(
            f"Kafka does not answer at {settings.bootstrap_servers} (PROOFSTREAM_BOOTSTRAP_SERVERS)"
        ) from None
    except (KafkaError, TopicsError) as error:
        raise click.ClickException(f"{type(error).__name__}: {error}") from None
    except KeyboardInterrupt:
        raise SystemExit(130) from None


bootstrap_option = click.option(
    "--bootstrap-servers", metavar="HOST:PORT,…", help="Kafka's addresses. [PROOFSTREAM_BOOTSTRAP_SERVERS]"
)
