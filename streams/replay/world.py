"""The scripted world of a history: what the provider would answer to each read."""

from dataclasses import dataclass

import httpx

from streams.messages import ReadRequest
from streams.replay.history import ProviderScript


@dataclass(slots=True)
class _Script:
    script: ProviderScript
    left: int | None


class ScriptedProvider(httpx.AsyncBaseTransport):
    """An httpx transport that answers from the scripts in force.

    A script that names the operation goes before one that does not, and a newer one before an older. One with
    ``times`` is used up, and the one before it is in force again.
    """

    def __init__(self) -> None:
        self._scripts: list[_Script] = []
        self.request: ReadRequest | None = None
        """The read under way; a read carries no trace of the operation it is for, so the runner says it."""

    def follow(self, script: ProviderScript) -> None:
        """Bring a script into force."""
        self._scripts.append(_Script(script, script.times))

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Answer the read under way."""
        found = self._in_force()
        if found is None:
            raise httpx.ConnectError("no answer is scripted for this read", request=request)
        if found.left is not None:
            found.left -= 1
        answer = found.script.answer
        return httpx.Response(answer.status, headers=answer.headers, content=answer.raw, request=request)

    def _in_force(self) -> _Script | None:
        read = self.request
        matching = [
            one
            for one in self._scripts
            if read is not None
            and one.left != 0
            and one.script.connection == read.connection
            and one.script.channel == read.channel
            and one.script.operation_id in (None, read.operation_id)
        ]
        return max(
            enumerate(matching),
            key=lambda one: (one[1].script.operation_id is not None, one[0]),
            default=(0, None),
        )[1]
