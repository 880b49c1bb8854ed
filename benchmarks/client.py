"""Client CPU per chat request with a 50 KB body, at 16, 128 and 512 requests at once.

The product's path counts reading the file, encoding, parsing and the answer log; beside it, in the same run, a bare
aiohttp client that does the same without key, retries or log, and the openai package where it is installed.

Prints JSON lines {"name", "value", "unit"}.  Run by `make bench`.
"""

from __future__ import annotations

import asyncio
import base64
import json
import multiprocessing
import os
import tempfile
import time
from collections.abc import Awaitable, Callable
from importlib.util import find_spec
from multiprocessing.connection import Connection
from pathlib import Path

COUNT = 3_000
AT_ONCE = (16, 128, 512)
IMAGE_BYTES = 37_000
PROMPT = "Which one of these sentences is true of the hand in the image?\n" + "A. It is so.\n" * 30

REPLY = json.dumps(
    {
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "A. It is so."}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 300, "completion_tokens": 6, "total_tokens": 306},
        "id": "x",
        "object": "chat.completion",
        "created": 0,
        "model": "m",
    }
).encode()


def tell(name: str, value: float, unit: str) -> None:
    """Print one figure."""
    print(json.dumps({"name": name, "value": round(value, 4), "unit": unit}), flush=True)


class _Stub(asyncio.Protocol):
    """Reads a body by its length and answers with a constant."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport, self.left, self.head = transport, 0, b""

    def data_received(self, data: bytes) -> None:
        if not self.left:
            self.head += data
            end = self.head.find(b"\r\n\r\n")
            if end < 0:
                return
            lower = self.head[:end].lower()
            length = int(lower.split(b"content-length:")[1].split(b"\r\n")[0])
            self.left, data, self.head = length, self.head[end + 4 :], b""
        self.left -= len(data)
        if not self.left:
            head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(REPLY)
            self.transport.write(head + REPLY)


def serve(tell_port: Connection) -> None:
    """Run the stub until the process is ended."""

    async def run() -> None:
        server = await asyncio.get_running_loop().create_server(_Stub, "127.0.0.1", 0, backlog=1024)
        tell_port.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(run())


def make_images(folder: Path) -> list[str]:
    """JPEG files of one size, each with bytes of its own."""
    import io

    from PIL import Image

    buffer = io.BytesIO()
    Image.effect_noise((224, 224), 60).convert("RGB").save(buffer, "JPEG", quality=90)
    data = buffer.getvalue()
    names = [f"{number}.jpg" for number in range(COUNT)]
    for number, name in enumerate(names):  # a comment segment makes the bytes unique and the size exact
        filler = f"{number:08d}".encode().ljust(max(IMAGE_BYTES - len(data), 8) - 4, b".")
        segment = b"\xff\xfe" + (len(filler) + 2).to_bytes(2, "big") + filler
        (folder / name).write_bytes(data[:2] + segment + data[2:])
    return names


def handbench_client(url: str, folder: Path, names: list[str], at_once: int) -> None:
    """The product's whole path, answer log included."""
    import polars as pl

    from handbench import tables
    from handbench.runs.log import AnswerLog
    from handbench.runs.parts import make_model

    count = len(names)
    questions = pl.DataFrame(
        {
            "question_id": [f"bench/{number:06d}" for number in range(count)],
            "images": [[name] for name in names],
            "cluster": names,
            **{key: ["x"] * count for key in ("variant", "task", "kind", "system", "dataset", "split")},
            "prompt": [PROMPT] * count,
            "options": [["It is so.", "It is not."]] * count,
        }
    )
    model = make_model(f"server:m?base_url={url}&concurrency={at_once}")
    model.images_at(folder)
    log_file = folder / f"log-{at_once}-{time.monotonic_ns()}.jsonl"
    with AnswerLog(log_file, model.name) as log:
        for answers in model.answer(tables.conform(questions, "questions")):
            log.append(answers)
    assert log_file.read_bytes().count(b'"A. It is so."') == count


async def in_waves(names: list[str], at_once: int, one: Callable[[str], Awaitable[None]]) -> None:
    """Call ``one`` for every name, ``at_once`` at a time."""
    left = iter(names)

    async def worker() -> None:
        for name in left:
            await one(name)

    await asyncio.gather(*(worker() for _ in range(at_once)))


def _messages(path: Path) -> list[dict[str, object]]:
    uri = "data:image/jpeg;base64," + base64.b64encode(path.read_bytes()).decode()
    image = {"type": "image_url", "image_url": {"url": uri}}
    return [{"role": "user", "content": [image, {"type": "text", "text": PROMPT}]}]


def aiohttp_client(url: str, folder: Path, names: list[str], at_once: int) -> None:
    """Bare aiohttp with the standard json."""
    import aiohttp

    async def run() -> None:
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:

            async def one(name: str) -> None:
                body = json.dumps({"model": "m", "messages": _messages(folder / name)}).encode()
                headers = {"Content-Type": "application/json"}
                async with session.post(url + "/chat/completions", data=body, headers=headers) as response:
                    assert json.loads(await response.read())["choices"][0]["message"]["content"]

            await in_waves(names, at_once, one)

    asyncio.run(run())


def openai_client(url: str, folder: Path, names: list[str], at_once: int) -> None:
    """The openai package as it comes."""
    import openai

    async def run() -> None:
        async with openai.AsyncOpenAI(base_url=url, api_key="none", max_retries=0) as client:

            async def one(name: str) -> None:
                reply = await client.chat.completions.create(model="m", messages=_messages(folder / name))
                assert reply.choices[0].message.content

            await in_waves(names, at_once, one)

    asyncio.run(run())


def main() -> None:
    receive, send = multiprocessing.Pipe(duplex=False)
    server = multiprocessing.get_context("spawn").Process(target=serve, args=(send,), daemon=True)
    server.start()
    url = f"http://127.0.0.1:{receive.recv()}/v1"
    clients = {"handbench": handbench_client, "aiohttp": aiohttp_client}
    if find_spec("openai") is not None:
        clients["openai"] = openai_client
    shelf = "/dev/shm" if os.path.isdir("/dev/shm") else None
    with tempfile.TemporaryDirectory(dir=shelf) as place:
        folder = Path(place)
        names = make_images(folder)
        for client, ask in clients.items():
            ask(url, folder, names[:200], 16)  # imports and first connections are not counted
            for at_once in AT_ONCE:
                some = names if client != "openai" else names[: COUNT // 4]
                cpu, wall = time.process_time(), time.perf_counter()
                ask(url, folder, some, at_once)
                cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
                tell(f"client CPU per 50 KB request, {client}, {at_once} at once", 1000 * cpu / len(some), "ms")
                tell(f"requests, {client}, {at_once} at once", len(some) / wall, "1/s")
    server.terminate()
    server.join()


if __name__ == "__main__":
    main()
