"""Our worker as ``proofstream worker`` runs it, with reads that are answered by a script instead of over HTTP."""

import os
from collections.abc import Mapping

import faust

from benchmarks.contenders.recovery import watch_recovery
from benchmarks.workload import Workload
from contracts.model import Contract
from streams import app as worker_app
from streams import worker
from streams.intake import Context
from streams.settings import Settings
from verifiers.connections import Connections
from verifiers.http import HttpVerifier
from verifiers.reads import Answer


class ScriptedVerifier(HttpVerifier):
    """Answers at once."""

    def __init__(self, connections: Connections) -> None:
        super().__init__(connections)
        self._workload = Workload(int(os.environ["BENCH_CREATED_MS"]))

    async def read(self, connection: str, contract: Contract, channel: str, inputs: Mapping[str, str]) -> Answer:
        """Answer as the provider would."""
        del connection
        return self._workload.answer(contract, channel, inputs)


def create_app(settings: Settings, context: Context, verifier: HttpVerifier) -> faust.App:
    """Build the worker's app, and have it say when recovery begins and ends."""
    app = worker_app.create_app(settings, context, verifier)
    watch_recovery(app)
    return app


if __name__ == "__main__":
    # The process is set up by the worker's own code; only what it reads with, and what watches it, is another.
    vars(worker).update(HttpVerifier=ScriptedVerifier, create_app=create_app)
    worker.run_worker(Settings())
