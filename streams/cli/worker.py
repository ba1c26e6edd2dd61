"""``proofstream worker``."""

import click
from aiokafka.errors import KafkaConnectionError, KafkaError

from streams.cli.common import bootstrap_option, load_settings
from streams.transport.topics import TopicsError
from verifiers.connections import ConnectionsError


@click.command()
@bootstrap_option
def worker(bootstrap_servers: str | None) -> None:
    """Run a worker until it gets SIGTERM or SIGINT.

    It needs Kafka (PROOFSTREAM_BOOTSTRAP_SERVERS) and the configured accounts (PROOFSTREAM_CONNECTIONS_FILE, a YAML
    file). It creates the topics that are missing and refuses to start on ones that are not as they must be. Run as
    many workers as you like, up to the number of partitions.
    """
    from streams.worker import run_worker  # noqa: PLC0415 - Faust takes a second to import; the other commands need none

    settings = load_settings(bootstrap_servers=bootstrap_servers)
    try:
        run_worker(settings)
    except KafkaConnectionError:
        raise click.ClickException(f"Kafka does not answer at {settings.bootstrap_servers}") from None
    except (ConnectionsError, TopicsError, KafkaError, RuntimeError) as error:
        raise click.ClickException(str(error)) from None
