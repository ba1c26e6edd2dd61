"""Signing certificates, fetched from where a delivery says that they are.

A fetch that fails is no sign of a forgery: the certificate is unavailable, for a short time, and whoever needs it is to
try again. Which addresses may be asked at all is for a provider's ``certificate_of`` to say, never for a delivery.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType, TracebackType
from typing import Final, Self

import httpx

from verifiers.trust import Certificate, read_certificate

MAX_BYTES: Final = 64 * 1024
MAX_KEPT: Final = 256
MAX_FAILED: Final = 64
ATTEMPTS: Final = 3
ATTEMPT_TIMEOUT_S: Final = 3.0
TOTAL_WAIT_S: Final = 10.0
FAILURES_KEPT_S: Final = 60.0
_PAUSES_S: Final = (0.25, 1.0)
_AT_ONCE: Final = 8
_WORTH_ASKING_AGAIN: Final = frozenset({408, 425, 429})
_OK, _SERVER_ERROR = 200, 500
_log = logging.getLogger("proofstream.certificates")


@dataclass(frozen=True, slots=True)
class Unavailable:
    """A certificate that could not be had lately, and why."""

    reason: str


Known = Mapping[str, Certificate | Unavailable]
NONE_KNOWN: Final[Known] = MappingProxyType({})


class _Failed(Exception):
    """An attempt that brought no certificate."""

    def __init__(self, reason: str, *, again: bool = True) -> None:
        super().__init__(reason)
        self.again = again


class Certificates:
    """Fetches certificates, each once: what lies under such an address does not change.

    Neither the time nor the number of requests that a sender of invented addresses can cost has to do with how many it
    sends: no more than ``MAX_FAILED`` of them are asked for within ``FAILURES_KEPT_S``, ``ATTEMPTS`` times each, and
    nobody waits for longer than ``TOTAL_WAIT_S``.
    """

    def __init__(
        self, transport: httpx.AsyncBaseTransport | None = None, now: Callable[[], float] = time.monotonic
    ) -> None:
        """Take optionally where requests go instead of the network, and a clock in seconds."""
        self._transport = transport
        self._now = now
        self._client: httpx.AsyncClient | None = None
        self._room = asyncio.Semaphore(_AT_ONCE)
        self._known: dict[str, Certificate | Unavailable] = {}
        self._failed_at: dict[str, float] = {}
        self._under_way: dict[str, asyncio.Task[None]] = {}

    @property
    def known(self) -> Known:
        """Address → its certificate, or why there was none; as it is at any time."""
        return MappingProxyType(self._known)

    async def obtain(self, urls: Iterable[str]) -> None:
        """Fetch the certificates that are not known yet, as far as they can be had in ``TOTAL_WAIT_S``.

        Args:
            urls: addresses that a provider's ``certificate_of`` has returned.

        A fetch that fails raises nothing, and what takes too long goes on behind the caller's back.
        """
        self._forget_failures()
        wanted = [url for url in dict.fromkeys(urls) if url not in self._known]
        tasks = [task for url in wanted if (task := self._fetching(url)) is not None]
        if left := len(wanted) - len(tasks):
            _log.warning("%d certificates are not asked for: too many could not be had lately", left)
        if tasks:
            await asyncio.wait(tasks, timeout=TOTAL_WAIT_S)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Break off what is under way, and close the client."""
        tasks, self._under_way = list(self._under_way.values()), {}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._client is not None:
            await self._client.aclose()
            self._client = None

    def _forget_failures(self) -> None:
        since = self._now() - FAILURES_KEPT_S
        for url in [url for url, at in self._failed_at.items() if at <= since]:
            del self._failed_at[url], self._known[url]

    def _fetching(self, url: str) -> asyncio.Task[None] | None:
        """Return the fetch of an address, begun now if need be; None where too many have failed lately."""
        if url not in self._under_way:
            if len(self._under_way) + len(self._failed_at) >= MAX_FAILED:
                return None
            task = asyncio.create_task(self._fetch(url))
            self._under_way[url] = task
            task.add_done_callback(lambda _: self._under_way.pop(url, None))
        return self._under_way[url]

    async def _fetch(self, url: str) -> None:
        reason = ""
        for attempt in range(ATTEMPTS):
            try:
                async with self._room, asyncio.timeout(ATTEMPT_TIMEOUT_S):
                    certificate = await self._ask(url)
            except _Failed as failed:
                reason = str(failed)
                if not failed.again:
                    break
            except (TimeoutError, httpx.TimeoutException):
                reason = "it was not there in time"
            except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
                reason = f"it could not be fetched ({type(error).__name__})"
            else:
                self._keep(url, certificate)
                return
            if attempt < len(_PAUSES_S):
                await asyncio.sleep(_PAUSES_S[attempt])
        _log.warning("%s: %s", url, reason)
        self._known[url] = Unavailable(reason)
        self._failed_at[url] = self._now()

    def _keep(self, url: str, certificate: Certificate) -> None:
        kept = [one for one in self._known if one not in self._failed_at]
        if len(kept) >= MAX_KEPT:
            del self._known[kept[0]]
        self._known[url] = certificate

    async def _ask(self, url: str) -> Certificate:
        if self._client is None:
            self._client = httpx.AsyncClient(
                headers={"Accept": "*/*", "Accept-Encoding": "identity", "User-Agent": "proofstream"},
                timeout=ATTEMPT_TIMEOUT_S,
                follow_redirects=False,
                trust_env=False,
                transport=self._transport,
            )
        body = bytearray()
        async with self._client.stream("GET", url) as response:
            if response.status_code != _OK:
                again = response.status_code >= _SERVER_ERROR or response.status_code in _WORTH_ASKING_AGAIN
                raise _Failed(f"its address answered {response.status_code}", again=again)
            async for part in response.aiter_bytes():
                body += part
                if len(body) > MAX_BYTES:
                    raise _Failed(f"its address answered more than {MAX_BYTES} bytes", again=False)
        try:
            return read_certificate(bytes(body))
        except ValueError:
            raise _Failed("its address answered no certificate in PEM") from None
