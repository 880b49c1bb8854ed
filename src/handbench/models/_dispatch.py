"""Which request goes to which server, when, and how often."""

from __future__ import annotations

import asyncio
import random
import threading
import time
from collections import Counter, OrderedDict, deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import Final

from handbench.models._concurrency import AdaptiveLimit
from handbench.models._http import Endpoint, Filtered, ask, open_session
from handbench.models._images import ImagePolicy, SentImage, load
from handbench.models._outcome import Outcome
from handbench.models._reply import ChatReply
from handbench.models._request import Ask, Renderer
from handbench.models._sending import Outbox
from handbench.models._trouble import AWAY, BUSY, FATAL, IMAGE, MALFORMED, SETUP, Patience, Trouble

_AHEAD: Final = 512
_REMEMBERED: Final = 100_000
_ONCE: Final = {FATAL, SETUP, IMAGE}


@dataclass(frozen=True)
class Pace:
    """How hard to try.

    Attributes:
        concurrency: most requests under way at one server.
        tries: how often a request is sent before its question counts as failed.
        few_tries: the same where more is of little use: what came back is no chat reply, or nobody has answered at
            any address yet.
        first_wait: seconds before the second try; doubled for each further one, with jitter.
        longest_wait: seconds; the doubling ends here (a server's Retry-After may ask for more).
        timeout: seconds for one request.
        through_proxy: use the proxy that the environment names.
    """

    concurrency: int = 64
    tries: int = 8
    few_tries: int = 3
    first_wait: float = 0.5
    longest_wait: float = 60.0
    timeout: float = 300.0
    through_proxy: bool = False


@dataclass(eq=False)
class _Server:
    """One server: what waits for it, and how many workers carry requests to it."""

    endpoint: Endpoint
    limit: AdaptiveLimit
    waiting: deque[Ask] = field(default_factory=deque)
    workers: int = 0
    closed_until: float = 0.0


class Dispatcher:
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
        self._renderer = renderer
        self._policy = policy
        self._pace = pace
        self._servers = [_Server(place, AdaptiveLimit(pace.concurrency)) for place in endpoints]
        self._patience: Patience[Outcome] = Patience(", ".join(place.base_url for place in endpoints))
        self._load = lru_cache(maxsize=64)(lambda image: load(root / image, policy))
        self._under_way: dict[bytes, asyncio.Future[Outcome | None] | None] = {}
        self._done: OrderedDict[bytes, tuple[ChatReply, float | None]] = OrderedDict()
        self._jitter = random.Random(0)
        self._finishing = threading.Event()

    def finish(self) -> None:
        """Send no more; replies to what is under way still come, failures are not tried again."""
        self._finishing.set()

    async def send(self, asks: Iterator[Ask], outbox: Outbox) -> None:
        """Send requests and put out what became of each.

        Raises:
            HandbenchError: the setup does not work.
        """
        self._outbox, self._hungry = outbox, asyncio.Event()
        key = self._servers[0].endpoint.key
        session = open_session(key, self._pace.timeout, self._pace.through_proxy)
        async with session as self._session, asyncio.TaskGroup() as self._group:
            await self._feed(asks)
        for outcome, _ in self._patience.ended():
            outbox.put(outcome)

    async def _feed(self, asks: Iterator[Ask]) -> None:
        for item in asks:
            server = self._servers[_route(item, len(self._servers))]
            while len(server.waiting) >= _AHEAD and not self._finishing.is_set():
                self._hungry.clear()
                await self._hungry.wait()
            if self._finishing.is_set():
                return
            await self._outbox.room()
            server.waiting.append(item)
            self._staff(server)

    def _staff(self, server: _Server) -> None:
        """As many workers as there may be requests under way, where there is work for them."""
        for _ in range(min(server.limit.limit - server.workers, len(server.waiting))):
            server.workers += 1
            self._group.create_task(self._work(server))

    async def _work(self, server: _Server) -> None:
        try:
            while server.waiting and server.workers <= server.limit.limit:
                if self._finishing.is_set():
                    server.waiting.clear()
                    self._hungry.set()
                    return
                item = server.waiting.popleft()
                if len(server.waiting) < _AHEAD // 2:
                    self._hungry.set()
                outcome = await self._once(item, server)
                if outcome is not None:
                    self._tell(outcome)
                if server.workers < server.limit.limit:
                    self._staff(server)
        finally:
            server.workers -= 1

    def _tell(self, outcome: Outcome) -> None:
        if outcome.reply is not None:
            for earlier, _ in self._patience.succeeded():
                self._outbox.put(earlier)
            self._outbox.put(outcome)
        elif outcome.trouble is not None:
            self.counts[outcome.trouble.kind] += 1
            self._patience.failed(outcome, outcome.trouble, outcome.ask.images or outcome.ask.prompt)

    async def _once(self, item: Ask, server: _Server) -> Outcome | None:
        """The outcome of a request, shared with an equal one that is under way or done; None if it was given up."""
        try:
            images = await self._images(item)
        except Trouble as trouble:
            return Outcome(item, None, trouble, 0.0)
        sizes = tuple([image.size for image in images])
        key = self._renderer.key(item, images)
        if (said := self._done.get(key)) is not None:
            self.counts["shared"] += 1
            return Outcome(item, said[0].free(), None, said[1], sizes)
        if key in self._under_way:
            first = await self._wait_for_equal(key)
            if first is None:
                return None
            self.counts["shared"] += 1
            return first._replace(ask=item, reply=first.reply and first.reply.free())
        self._under_way[key] = outcome = None
        try:
            outcome = await self._tries(item, self._renderer.body(item, images), sizes, server)
        finally:
            waiting = self._under_way.pop(key)
            if waiting is not None:
                waiting.set_result(outcome)
        if outcome is not None and outcome.reply is not None and outcome.trouble is None:
            self._done[key] = outcome.reply, outcome.seconds
            if len(self._done) > _REMEMBERED:
                self._done.popitem(last=False)
        return outcome

    async def _wait_for_equal(self, key: bytes) -> Outcome | None:
        future = self._under_way[key]
        if future is None:
            future = self._under_way[key] = asyncio.get_running_loop().create_future()
        return await asyncio.shield(future)

    async def _images(self, item: Ask) -> list[SentImage]:
        if self._policy.max_side is None and self._policy.rule is None:
            return [self._load(image) for image in item.images]
        return [await asyncio.to_thread(self._load, image) for image in item.images]

    async def _tries(
        self, item: Ask, body: bytes, sizes: tuple[tuple[int, int], ...], server: _Server
    ) -> Outcome | None:
        tried, place = 0, server
        while not self._finishing.is_set():
            if place.closed_until:
                await self._wait_until_open(place)
            self.counts["sent"] += 1
            begun = time.perf_counter()
            try:
                reply = await ask(self._session, place.endpoint, body)
            except Filtered as filtered:
                self.counts["filtered"] += 1
                return Outcome(item, ChatReply("", "content_filter"), filtered, time.perf_counter() - begun, sizes)
            except Trouble as trouble:
                tried += 1
                if self._gives_up(trouble, tried):
                    return Outcome(item, None, trouble, time.perf_counter() - begun, sizes)
                self.counts["retried"] += 1
                if trouble.kind == BUSY:
                    self._slow_down(place, trouble)
                elif trouble.status is None:
                    place = self._servers[(self._servers.index(place) + 1) % len(self._servers)]
                await self._rest(tried)
            else:
                seconds = time.perf_counter() - begun
                place.limit.replied(seconds)
                return Outcome(item, reply, None, seconds, sizes)
        return None

    def _gives_up(self, trouble: Trouble, tried: int) -> bool:
        few = trouble.kind == MALFORMED or (trouble.kind == AWAY and not self._patience.ever)
        most = min(self._pace.few_tries, self._pace.tries) if few else self._pace.tries
        return trouble.kind in _ONCE or tried >= most

    def _slow_down(self, server: _Server, trouble: Trouble) -> None:
        server.limit.too_busy()
        if trouble.wait is not None:
            until = asyncio.get_running_loop().time() + trouble.wait
            server.closed_until = max(server.closed_until, until)

    async def _rest(self, tried: int) -> None:
        wait = min(self._pace.first_wait * 2 ** (tried - 1), self._pace.longest_wait)
        await asyncio.sleep(wait * self._jitter.uniform(0.5, 1.0))

    async def _wait_until_open(self, server: _Server) -> None:
        loop = asyncio.get_running_loop()
        while (closed := server.closed_until - loop.time()) > 0:
            await asyncio.sleep(closed * self._jitter.uniform(1.0, 1.1))
        server.closed_until = 0.0


def _route(item: Ask, servers: int) -> int:
    """The server of a request: the same for all questions about the same images."""
    if servers == 1:
        return 0
    about = "\0".join(item.images) or item.prompt
    return int.from_bytes(blake2b(about.encode(), digest_size=8).digest(), "little") % servers
