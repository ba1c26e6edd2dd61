"""The worker's process: everything is checked first, then Faust runs it until a signal ends it."""

import asyncio
import logging
from typing import Any

import faust
import uvloop

from contracts.catalogue import Catalogue
from streams.app import create_app
from streams.intake import Context
from streams.memory import keep_memory, spare_collections
from streams.settings import Settings
from streams.transport.faust_settings import check_faust
from streams.transport.topics import ensure_topics
from verifiers.connections import carried_by, load_connections
from verifiers.http import HttpVerifier

_log = logging.getLogger("proofstream")


def load_context(settings: Settings) -> Context:
    """Load contracts and connections.

    A contract's file that is wrong is logged and left out: it takes no other contract down with it. Contracts are
    checked against the events that connections declare, beside those of the built-in providers.

    Raises:
        verifiers.connections.ConnectionsError: the connections' file is wrong.
    """
    connections = load_connections(settings.connections_file)
    catalogue = Catalogue.load(settings.contract_directories, carried=carried_by(connections.values()))
    for problem in catalogue.problems:
        _log.error("contract refused: %s", problem)
    return Context(catalogue, connections, settings.policy)


def run_worker(settings: Settings) -> None:
    """Run a worker until SIGTERM or SIGINT. Does not return: Faust ends the process.

    Raises:
        verifiers.connections.ConnectionsError: the connections' file is wrong.
        streams.transport.topics.TopicsError: a topic is not as it must be.
        aiokafka.errors.KafkaError: Kafka cannot be reached.
    """
    check_faust()
    keep_memory()
    asyncio.set_event_loop_policy(uvloop.EventLoopPolicy())  # for the loops of Faust's threads, too
    logging.basicConfig(level=settings.log_level, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    for noisy in ("aiokafka", "faust", "mode", "httpx", "httpcore", "streams.transport.batch"):
        logging.getLogger(noisy).setLevel(logging.WARNING)
    context = load_context(settings)
    asyncio.run(ensure_topics(settings))
    app = create_app(settings, context, HttpVerifier(context.connections))
    spare_collections()
    _Process(app, quiet=True, redirect_stdouts=False).execute_from_commandline()


class _Process(faust.Worker):
    """Faust's process, without its own ideas of logging and of a terminal."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.spinner = None

    def _setup_logging(self) -> None:
        """Leave logging as it is set up already."""

    async def on_first_start(self) -> None:
        """Tell the app that its event loop runs, as Faust's own command line would."""
        await super().on_first_start()
        self.app.on_worker_init.send()

    async def on_startup_finished(self) -> None:
        """Say that the worker works: tables are recovered, partitions assigned."""
        _log.info("ready")
