"""Many requests at once: a loop in a thread of its own sends them, and outcomes come out as they arrive."""

from __future__ import annotations

import asyncio
import queue
import random
import threading
import time
from collections import Counter, OrderedDict, deque
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import Final

import aiohttp
from yarl import URL

from handbench.models._concurrency import AdaptiveLimit
from handbench.models._http import Endpoint, Filtered, ask, open_session
from handbench.models._images import ImagePolicy, SentImage, load
from handbench.models._interrupts import held_back
from handbench.models._reply import ChatReply
from handbench.models._request import Ask, Renderer
from handbench.models._trouble import BUSY, FATAL, IMAGE, MALFORMED, SETUP, Patience, Trouble

Said = tuple[str, str, int | None, int | None, tuple[tuple[str, float], ...] | None, float | None]
"""A reply's fields and its seconds: no object that the garbage collector would look at again and again."""

_GATHER_SECONDS: Final = 0.1
_GATHER_MOST: Final = 256
_AHEAD: Final = 1024
_UNREAD: Final = 64
_REMEMBERED: Final = 100_000
_ONCE: Final = {FATAL, SETUP, IMAGE}


@dataclass(frozen=True)
class Pace:
    """How hard to try.

    Attributes:
        concurrency: most requests under way at one server.
        tries: how often a request is sent before its question counts as failed.
        malformed_tries: the same where what came back is no chat reply.
        first_wait: seconds before the second try; doubled for each further one, with jitter.
        longest_wait: seconds; the doubling ends here (a server's Retry-After may ask for more).
        timeout: seconds for one request.
        through_proxy: use the proxy that the environment names.
    """

    concurrency: int = 64
    tries: int = 8
    malformed_tries: int = 3
    first_wait: float = 0.5
    longest_wait: float = 60.0
    timeout: float = 300.0
    through_proxy: bool = False


@dataclass(frozen=True)
class Outcome:
    """What became of one request: a reply, or the trouble that it ended in.

    A request that a content filter stopped has both: a reply without text, and what the filter said.
    """

    ask: Ask
    reply: ChatReply | None
    trouble: Trouble | None
    seconds: float | None
    sizes: tuple[tuple[int, int], ...] = ()


@dataclass
class _Server:
    endpoint: Endpoint
    url: URL
    limit: AdaptiveLimit
    waiting: asyncio.Queue[Ask | None]
    active: int = 0
    closed_until: float = 0.0
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    async def enter(self) -> None:
        """Wait until one more request may be under way."""
        loop = asyncio.get_running_loop()
        while True:
            closed = self.closed_until - loop.time()
            if closed > 0:
                await asyncio.sleep(closed)
            elif self.active >= self.limit.limit:
                self.changed.clear()
                await self.changed.wait()
            else:
                self.active += 1
                return

    def leave(self) -> None:
        """A request is through."""
        self.active -= 1
        self.changed.set()


class Sender:
    """Sends requests to one server or several.

    Requests about one image go to the same server, whose prefix cache then serves them; where it cannot be
    reached, the next one takes over.  Equal requests are sent once: later ones share the reply, failures
    excepted.

    Attributes:
        counts: ``sent``, ``retried``, ``shared`` and failures by kind, so far.
    """

    def __init__(
        self,
        endpoints: list[Endpoint],
        renderer: Renderer,
        policy: ImagePolicy,
        root: Path,
        pace: Pace,
        counts: Counter[str],
    ) -> None:
        self.counts = counts
        self._endpoints = endpoints
        self._renderer = renderer
        self._policy = policy
        self._pace = pace
        self._patience: Patience[Outcome] = Patience(", ".join(place.base_url for place in endpoints))
        self._load = lru_cache(maxsize=64)(lambda image: load(root / image, policy))
        self._under_way: dict[bytes, asyncio.Future[Outcome]] = {}
        self._done: OrderedDict[bytes, Said] = OrderedDict()
        self._jitter = random.Random(0)
        self._gathered: list[Outcome] = []
        self._out: queue.SimpleQueue[list[Outcome] | BaseException | None] = queue.SimpleQueue()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._main: asyncio.Task[None] | None = None
        self._stopped = threading.Event()
        self._finishing = threading.Event()

    def finish(self) -> None:
        """Send no more; replies to what is under way still come, failures are not tried again."""
        self._finishing.set()

    def send(self, asks: Iterator[Ask]) -> Generator[list[Outcome], None, None]:
        """Send requests and yield what became of each, in batches, as it comes.

        On Ctrl-C no more is sent, what has come in is yielded, and then the interrupt goes on.

        Raises:
            HandbenchError: the setup does not work; everything that came in before was yielded.
        """
        thread = threading.Thread(target=self._run, args=(asks,), name="handbench-sender", daemon=True)
        with held_back(self._stop):
            thread.start()
            try:
                while (batch := self._out.get()) is not None:
                    if isinstance(batch, BaseException):
                        raise batch
                    yield batch
            finally:
                self._stop()
                thread.join()

    def _stop(self) -> None:
        self._stopped.set()
        loop, main = self._loop, self._main
        if loop is not None and main is not None and not loop.is_closed():
            loop.call_soon_threadsafe(main.cancel)

    def _run(self, asks: Iterator[Ask]) -> None:
        try:
            asyncio.run(self._send_all(asks))
        except asyncio.CancelledError:
            self._flush()
        except BaseException as error:
            self._flush()
            self._out.put(_innermost(error))
        self._out.put(None)

    async def _send_all(self, asks: Iterator[Ask]) -> None:
        self._loop, self._main = asyncio.get_running_loop(), asyncio.current_task()
        servers = [
            _Server(place, place.url, AdaptiveLimit(self._pace.concurrency), asyncio.Queue(_AHEAD))
            for place in self._endpoints
        ]
        key = self._endpoints[0].key
        async with (
            open_session(key, self._pace.timeout, self._pace.through_proxy) as session,
            asyncio.TaskGroup() as group,
        ):
            flusher = group.create_task(self._flush_in_time())
            pumps = [group.create_task(self._pump(server, servers, session)) for server in servers]
            await self._feed(asks, servers)
            await asyncio.wait(pumps)
            flusher.cancel()
        for outcome, _ in self._patience.ended():
            self._gather(outcome)
        self._flush()

    async def _feed(self, asks: Iterator[Ask], servers: list[_Server]) -> None:
        for item in asks:
            while self._out.qsize() > _UNREAD:
                await asyncio.sleep(_GATHER_SECONDS)
            if self._stopped.is_set():
                raise asyncio.CancelledError
            if self._finishing.is_set():
                break
            await servers[_route(item, len(servers))].waiting.put(item)
        for server in servers:
            await server.waiting.put(None)

    async def _pump(self, server: _Server, servers: list[_Server], session: aiohttp.ClientSession) -> None:
        async with asyncio.TaskGroup() as group:
            while (item := await server.waiting.get()) is not None:
                await server.enter()
                if self._finishing.is_set():
                    server.leave()
                    continue  # drained, so that the one that feeds is not held up
                group.create_task(self._serve(item, server, servers, session))

    async def _serve(self, item: Ask, server: _Server, servers: list[_Server], session: aiohttp.ClientSession) -> None:
        try:
            outcome = await self._once(item, server, servers, session)
        finally:
            server.leave()
        if outcome.reply is not None:
            for earlier, _ in self._patience.succeeded():
                self._gather(earlier)
            self._gather(outcome)
        elif outcome.trouble is not None:
            self.counts[outcome.trouble.kind] += 1
            subject = item.images or item.prompt
            self._patience.failed(outcome, outcome.trouble, subject)

    async def _once(
        self, item: Ask, server: _Server, servers: list[_Server], session: aiohttp.ClientSession
    ) -> Outcome:
        """The outcome of a request, shared with an equal one that is under way or done."""
        try:
            images = await self._images(item)
        except Trouble as trouble:
            return Outcome(item, None, trouble, 0.0)
        sizes = tuple(image.size for image in images)
        key = self._renderer.key(item, images)
        if (said := self._done.get(key)) is not None:
            self.counts["shared"] += 1
            return Outcome(item, _free(ChatReply(*said[:-1])), None, said[-1], sizes)
        if (under_way := self._under_way.get(key)) is not None:
            first = await asyncio.shield(under_way)
            self.counts["shared"] += 1
            return Outcome(item, _free(first.reply), first.trouble, first.seconds, sizes)
        future = self._under_way[key] = asyncio.get_running_loop().create_future()
        try:
            outcome = await self._tries(item, self._renderer.body(item, images), sizes, server, servers, session)
        except BaseException:
            future.cancel()
            raise
        future.set_result(outcome)
        del self._under_way[key]
        reply = outcome.reply
        if reply is not None and outcome.trouble is None:
            self._done[key] = (
                reply.text, reply.finish, reply.tokens_in, reply.tokens_out, reply.top, outcome.seconds
            )  # fmt: skip
            if len(self._done) > _REMEMBERED:
                self._done.popitem(last=False)
        return outcome

    async def _images(self, item: Ask) -> list[SentImage]:
        if self._policy.max_side is None:
            return [self._load(image) for image in item.images]
        return [await asyncio.to_thread(self._load, image) for image in item.images]

    async def _tries(
        self,
        item: Ask,
        body: bytes,
        sizes: tuple[tuple[int, int], ...],
        server: _Server,
        servers: list[_Server],
        session: aiohttp.ClientSession,
    ) -> Outcome:
        pace, tried = self._pace, 0
        others = deque(servers)
        others.rotate(-servers.index(server))
        while True:
            place = others[0]
            await self._wait_for(place)
            self.counts["sent"] += 1
            begun = time.perf_counter()
            try:
                reply = await ask(session, place.endpoint, place.url, body)
            except Filtered as filtered:
                self.counts["filtered"] += 1
                return Outcome(item, ChatReply("", "content_filter"), filtered, time.perf_counter() - begun, sizes)
            except Trouble as trouble:
                tried += 1
                if self._finishing.is_set():
                    raise asyncio.CancelledError from None
                if self._gives_up(trouble, tried):
                    return Outcome(item, None, trouble, time.perf_counter() - begun, sizes)
                self.counts["retried"] += 1
                if trouble.kind == BUSY:
                    self._slow_down(place, trouble)
                elif trouble.status is None:
                    others.rotate(-1)
                wait = min(pace.first_wait * 2 ** (tried - 1), pace.longest_wait)
                await asyncio.sleep(wait * self._jitter.uniform(0.5, 1.0))
            else:
                seconds = time.perf_counter() - begun
                place.limit.replied(seconds)
                return Outcome(item, reply, None, seconds, sizes)

    def _gives_up(self, trouble: Trouble, tried: int) -> bool:
        most = self._pace.malformed_tries if trouble.kind == MALFORMED else self._pace.tries
        return trouble.kind in _ONCE or tried >= most

    def _slow_down(self, server: _Server, trouble: Trouble) -> None:
        server.limit.too_busy()
        if trouble.wait is not None:
            until = asyncio.get_running_loop().time() + trouble.wait
            server.closed_until = max(server.closed_until, until)

    async def _wait_for(self, server: _Server) -> None:
        loop = asyncio.get_running_loop()
        while (closed := server.closed_until - loop.time()) > 0:
            await asyncio.sleep(closed * self._jitter.uniform(1.0, 1.1))

    def _gather(self, outcome: Outcome) -> None:
        self._gathered.append(outcome)
        if len(self._gathered) >= _GATHER_MOST:
            self._flush()

    def _flush(self) -> None:
        if self._gathered:
            self._out.put(self._gathered)
            self._gathered = []

    async def _flush_in_time(self) -> None:
        while True:
            await asyncio.sleep(_GATHER_SECONDS)
            self._flush()


def _free(reply: ChatReply | None) -> ChatReply | None:
    """A reply that another request has paid for."""
    if reply is None or reply.tokens_in is None:
        return reply
    return replace(reply, tokens_in=0, tokens_out=0)


def _route(item: Ask, servers: int) -> int:
    """The server of a request: the same for all questions about the same images."""
    if servers == 1:
        return 0
    about = "\0".join(item.images) or item.prompt
    return int.from_bytes(blake2b(about.encode(), digest_size=8).digest(), "little") % servers


def _innermost(error: BaseException) -> BaseException:
    """The first single error of a task group's."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
