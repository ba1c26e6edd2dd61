"""``proofstream gateway``."""

from typing import Any

import click
from pydantic import ValidationError

from streams.cli.common import bootstrap_option, load_settings
from streams.messages import describe
from verifiers.connections import ConnectionsError


@click.command()
@click.option("--host", metavar="ADDRESS", help="Listen there; 127.0.0.1 by default. [PROOFSTREAM_GATEWAY_HOST]")
@click.option("--port", type=int, help="Listen on it; 8080 by default. [PROOFSTREAM_GATEWAY_PORT]")
@bootstrap_option
def gateway(host: str | None, port: int | None, bootstrap_servers: str | None) -> None:
    """Take providers' webhooks in over HTTP, until SIGTERM or SIGINT.

    A provider delivers to /webhooks/CONNECTION. What is authentic goes to the topic `webhooks` byte for byte, and is
    answered 200 once Kafka has acknowledged it. It needs Kafka (PROOFSTREAM_BOOTSTRAP_SERVERS) and the configured
    accounts (PROOFSTREAM_CONNECTIONS_FILE, a YAML file); put a proxy with TLS in front. See docs/gateway.md.
    """
    from streams.gateway.process import ListenError, run_gateway  # noqa: PLC0415 - the other commands need no server
    from streams.gateway.settings import ENV_PREFIX, GatewaySettings  # noqa: PLC0415

    settings = load_settings(bootstrap_servers=bootstrap_servers)
    given: dict[str, Any] = {"host": host, "port": port}
    try:
        ours = GatewaySettings(**{name: value for name, value in given.items() if value is not None})
    except ValidationError as error:
        field, _, rule = describe(error).partition(": ")
        raise click.ClickException(f"the setting {ENV_PREFIX}{field.upper()}: {rule}") from None
    try:
        run_gateway(settings, ours)
    except (ConnectionsError, ListenError) as error:
        raise click.ClickException(str(error)) from None
