"""A chat server that fails in twenty ways, in an order that a seed decides."""

from __future__ import annotations

import asyncio
import itertools
import json
import random
import threading
from collections import Counter
from collections.abc import Awaitable, Callable
from hashlib import sha256

from aiohttp import web

Handler = Callable[[web.Request, str], Awaitable[web.StreamResponse]]


def completion(text: str, **more) -> dict:
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop", **more}
    usage = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}
    return {"id": "x", "object": "chat.completion", "choices": [choice], "usage": usage}


def reply_to(prompt: str) -> str:
    """What the server says to a prompt: anyone can work out whether an answer belongs to its question."""
    return f"A. {sha256(prompt.encode()).hexdigest()[:16]}"


def prompt_of(body: dict) -> str:
    content = body["messages"][-1]["content"]
    return content if isinstance(content, str) else content[-1]["text"]


def error(status: int, message: str, headers: dict | None = None, **more) -> web.Response:
    return web.json_response({"error": {"message": message, **more}}, status=status, headers=headers)


def _says(status: int, message: str, **headers) -> Handler:
    async def handler(request, prompt):
        return error(status, message, {name.replace("_", "-"): value for name, value in headers.items()})

    return handler


async def _dated_wait(request, prompt):
    # the server's clock is years off: only the difference of its own two dates counts
    headers = {"Date": "Mon, 01 Jan 2001 00:00:00 GMT", "Retry-After": "Mon, 01 Jan 2001 00:00:00 GMT"}
    return error(503, "overloaded", headers)


async def _half_reply(request, prompt):
    whole = json.dumps(completion(reply_to(prompt))).encode()
    response = web.StreamResponse(headers={"Content-Type": "application/json"})
    response.content_length = len(whole)
    await response.prepare(request)
    await response.write(whole[: len(whole) // 2])
    request.transport.close()
    return response


async def _cut_json(request, prompt):
    whole = json.dumps(completion(reply_to(prompt)))
    return web.Response(text=whole[: len(whole) // 2], content_type="application/json")


async def _hang_up(request, prompt):
    request.transport.close()
    return web.Response()


async def _html(request, prompt):
    return web.Response(text="<html><title>Gateway</title><body>Welcome</body></html>", content_type="text/html")


async def _wrong_type(request, prompt):
    return web.Response(text=json.dumps(completion(reply_to(prompt))), content_type="text/plain")


async def _write(request, head, piece, times):
    response = web.StreamResponse(headers={"Content-Type": "application/json"})
    await response.prepare(request)
    try:
        await response.write(head)
        for _ in times:
            await response.write(piece)
            await asyncio.sleep(0)
        await response.write(b'"}}]}')
    except (ConnectionError, asyncio.CancelledError):
        return response
    return response


async def _endless(request, prompt):
    return await _write(request, b"", b" " * 65536, itertools.repeat(None))


async def _huge(request, prompt):
    return await _write(request, b'{"choices":[{"message":{"content":"', b"x" * 65536, range(640))


async def _stall(request, prompt):
    await asyncio.sleep(2.5)
    return web.Response()


async def _no_choices(request, prompt):
    return web.json_response({"object": "chat.completion", "choices": []})


async def _deep(request, prompt):
    return web.Response(text="[" * 200_000, content_type="application/json")


async def _filtered(request, prompt):
    return error(400, "The response was filtered", code="content_filter")


async def _refused(request, prompt):
    return web.json_response(completion("", finish_reason="content_filter"))


FAULTS: dict[str, Handler] = {
    "429 with seconds": _says(429, "slow down", Retry_After="0.01"),
    "429 bare": _says(429, "slow down"),
    "503 with a date": _dated_wait,
    "500": _says(500, "internal"),
    "502": _says(502, "bad gateway"),
    "504": _says(504, "gateway timeout"),
    "529": _says(529, "overloaded"),
    "408": _says(408, "request timeout"),
    "half a reply": _half_reply,
    "cut JSON": _cut_json,
    "hang up": _hang_up,
    "HTML": _html,
    "wrong type": _wrong_type,
    "endless": _endless,
    "40 MB": _huge,
    "stall": _stall,
    "no choices": _no_choices,
    "deep nesting": _deep,
    "400 filtered": _filtered,
    "400": _says(400, "this prompt is not to my liking"),
}
LASTING = {"400 filtered", "400"}
"""What a question gets each time that it is asked: another try is of no use."""
SLOW = {"endless", "40 MB", "stall"}
"""What costs time; they come up less often."""


class FaultServer:
    """Serves on a free port of 127.0.0.1 in a thread; use as a context manager.

    Attributes:
        asked: how often each prompt came.
        good: how often each prompt got its reply.
        faults: how often each fault was served.
        lasting: the lasting fault of each prompt that has one.
        script: what to do with a request instead of a fault by lot, if set.
    """

    def __init__(self, share: float = 0.3, seed: int = 0, script: Handler | None = None, port: int = 0) -> None:
        self.port = port
        self.share = share
        self.random = random.Random(seed)
        self.script = script
        self.asked: Counter[str] = Counter()
        self.good: Counter[str] = Counter()
        self.faults: Counter[str] = Counter()
        self.lasting: dict[str, str] = {}
        self.bodies: list[dict] = []
        self.headers: list[dict] = []
        self.keep_bodies = script is not None
        self.under_way = self.most_under_way = 0
        names = list(FAULTS)
        self.lot = [name for name in names for _ in range(1 if name in SLOW else 20)]
        self._ready = threading.Event()
        self._transports = set()

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def __enter__(self):
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        assert self._ready.wait(10)
        return self

    def __exit__(self, *_):
        self._loop.call_soon_threadsafe(self._end.set)
        self._thread.join(10)

    def _run(self):
        asyncio.run(self._serve())

    async def _serve(self):
        self._loop, self._end = asyncio.get_running_loop(), asyncio.Event()
        app = web.Application(client_max_size=64 << 20)
        app.router.add_post("/v1/chat/completions", self._chat)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=4.0)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", self.port, reuse_address=True)
        await site.start()
        self.port = site._server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._end.wait()
        await asyncio.sleep(0.1)  # connections that are being accepted now would escape the clean-up
        await runner.cleanup()
        for transport in self._transports:
            transport.abort()  # some still hold bytes that nobody will read
        await asyncio.sleep(0.05)  # transports close in the loop's next rounds

    async def _chat(self, request):
        body = await request.json()
        prompt = prompt_of(body)
        if request.transport is not None:
            self._transports.add(request.transport)
        self.asked[prompt] += 1
        if self.keep_bodies:
            self.bodies.append(body)
            self.headers.append(dict(request.headers))
        self.under_way += 1
        self.most_under_way = max(self.most_under_way, self.under_way)
        try:
            return await self._reply(request, prompt)
        finally:
            self.under_way -= 1

    async def _reply(self, request, prompt):
        if self.script is not None:
            return await self.script(request, prompt)
        fault = self.lasting.get(prompt)
        if fault is None and self.random.random() < self.share:
            fault = self.random.choice(self.lot)
            if fault in LASTING and self.asked[prompt] > 1:
                fault = "500"  # only the first try meets a lasting fault, so that their share stays known
            elif fault in LASTING:
                self.lasting[prompt] = fault
        if fault is not None:
            self.faults[fault] += 1
            return await FAULTS[fault](request, prompt)
        self.good[prompt] += 1
        return web.json_response(completion(reply_to(prompt)))
