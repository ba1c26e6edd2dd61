"""Everything that the demo runs on: a broker, the simulated providers, a worker."""

import os
import secrets
import sys
from asyncio.subprocess import Process
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml
from aiokafka import AIOKafkaProducer

from streams.demo.contract import write_hasty_contract
from streams.embedded.broker import embedded_broker
from streams.embedded.processes import start_child, stop_child
from streams.settings import Settings
from streams.simulation import paypal, shopify
from streams.simulation.server import serve
from streams.transport.clients import producer
from streams.transport.topics import ensure_topics

SHOP = "demo-shop"
SHOP_DOMAIN = "demo.myshopify.com"
PAYPAL = "demo-paypal"
_WORKER_STOPS_WITHIN_S = 8.0


@dataclass(frozen=True, slots=True)
class World:
    """What runs, and how to reach it."""

    settings: Settings
    shop: shopify.Book
    shop_secret: str
    account: paypal.Book
    kafka: AIOKafkaProducer
    worker: Process
    log: Path


@asynccontextmanager
async def demo_world() -> AsyncIterator[World]:
    """Start everything, and stop it again in the other order.

    Yields:
        The world, while its worker is still starting up.

    Raises:
        streams.embedded.BrokerError: the embedded broker is not installed, or does not start.
    """
    keys = {f"PROOFSTREAM_DEMO_{name}": secrets.token_urlsafe(24) for name in ("TOKEN", "SECRET", "ID", "KEY")}
    token, secret, client_id, client_secret = keys.values()
    shop, account = shopify.Book(), paypal.Book()
    async with AsyncExitStack() as stack:
        directory = Path(stack.enter_context(TemporaryDirectory(prefix="proofstream-demo-")))
        bootstrap = await stack.enter_async_context(embedded_broker())
        shop_app = shopify.create_app(shop, access_token=token)
        account_app = paypal.create_app(account, client_id=client_id, client_secret=client_secret)
        urls = [await stack.enter_async_context(serve(app)) for app in (shop_app, account_app)]
        settings = _settings(bootstrap, directory)
        settings.connections_file.write_text(_connections(*urls, *keys), encoding="utf-8")
        write_hasty_contract(settings.contract_directories[0])
        log = directory / "worker.log"
        command = (sys.executable, "-P", "-m", "streams.cli", "worker")
        worker = await start_child(*command, log=log, environment={**_as_environment(settings), **keys})
        stack.push_async_callback(stop_child, worker, _WORKER_STOPS_WITHIN_S)
        await ensure_topics(settings)  # the worker would, but later: operations need not wait for it
        kafka = await stack.enter_async_context(producer(settings))
        yield World(settings, shop, secret, account, kafka, worker, log)


def _settings(bootstrap: str, directory: Path) -> Settings:
    """Return the worker's settings. Each is given, so that none comes from the user's environment or `.env`."""
    defaults: dict[str, Any] = {name: field.default for name, field in Settings.model_fields.items()}
    ours = {
        "bootstrap_servers": bootstrap,
        "broker": "embedded",
        "partitions": 4,
        "session_timeout_s": 2.0,
        "connections_file": directory / "connections.yaml",
        "contract_directories": (directory / "contracts",),
        "data_dir": directory / "data",
        "health_file": directory / "healthy",
    }
    return Settings(**{**defaults, **ours})


def _as_environment(settings: Settings) -> dict[str, str]:
    """Write settings as the environment of a child that imports what we import."""
    environment = {"PYTHONPATH": os.pathsep.join(one or str(Path.cwd()) for one in sys.path)}
    for name, value in settings:
        text = os.pathsep.join(str(one) for one in value) if isinstance(value, tuple) else str(value)
        environment[f"PROOFSTREAM_{name.upper()}"] = text
    return environment


def _connections(shop_url: str, paypal_url: str, token: str, secret: str, client_id: str, client_secret: str) -> str:
    """Write the connections' file. Of each secret it holds the name of the environment variable only."""
    return yaml.safe_dump(
        {
            "connections": [
                {
                    "id": SHOP,
                    "provider": "shopify",
                    "shop": SHOP_DOMAIN,
                    "base_url": shop_url,
                    "credentials": {"access_token": {"env": token}},
                    "webhook_auth": {"hmac_secrets": [{"env": secret}]},
                },
                {
                    "id": PAYPAL,
                    "provider": "paypal",
                    "base_url": paypal_url,
                    "credentials": {"client_id": {"env": client_id}, "client_secret": {"env": client_secret}},
                    "webhook_auth": "trusted",
                },
            ]
        },
        sort_keys=False,
    )
