"""One chat request over HTTP: body out, reply in, every failure sorted."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from functools import cached_property
from typing import Final

import aiohttp
from yarl import URL

from handbench.errors import HandbenchError
from handbench.models._reply import ChatReply, error_words, excerpt, is_filtered, read_reply
from handbench.models._trouble import AWAY, BUSY, FATAL, MALFORMED, PASSING, SETUP, Trouble

MOST_BYTES: Final = 4 << 20
"""A longer reply is not read to its end."""
_ROUNDS: Final = 4
LONGEST_WAIT: Final = 600.0
"""Seconds; a server that asks for more is asked again after this."""

_BUSY: Final = {429, 503, 529}
_PASSING: Final = {408, 409, 425, 500, 502, 504, 520, 521, 522, 523, 524}
_SETUP: Final = {401, 402, 403, 404, 405, 407, 410}
_JSON_TYPE = re.compile(r"application/(?:[\w.+-]*\+)?json\b", re.IGNORECASE)


@dataclass(frozen=True)
class Endpoint:
    """Where to ask.

    Attributes:
        base_url: up to and without ``/chat/completions``, e.g. ``http://localhost:8000/v1``.
        key: the API key; it stands in no text that this package writes.
    """

    base_url: str
    key: str = field(default="", repr=False)

    def __post_init__(self) -> None:
        try:
            url = URL(self.base_url)
            good = url.scheme in ("http", "https") and bool(url.host)
        except ValueError:
            good = False
        if not good:
            raise HandbenchError(f"base_url {self.base_url!r}: expected http(s)://host:port/v1")
        if url.query_string or url.fragment:
            raise HandbenchError(f"base_url {url.with_query(None).with_fragment(None)}: nothing may follow the path")
        if url.user is not None or url.password is not None:
            raise HandbenchError("base_url holds a password; give the key by key_env=NAME or key_file=PATH")

    @cached_property
    def url(self) -> URL:
        """The address of chat completions."""
        return URL(self.base_url.rstrip("/") + "/chat/completions")

    def conceal(self, text: str) -> str:
        """Text without the key, in case a server repeats it."""
        return text.replace(self.key, "***") if self.key else text


@asynccontextmanager
async def open_session(key: str, timeout: float, through_proxy: bool) -> AsyncIterator[aiohttp.ClientSession]:
    """A session for many requests; the number under way is limited by the caller.

    Args:
        key: sent as a bearer token, if any.
        timeout: seconds for one request from beginning to end.
        through_proxy: use the proxy that the environment names.
    """
    headers = {"Content-Type": "application/json", "Accept": "application/json", "Accept-Encoding": "identity"}
    if key:
        headers["Authorization"] = f"Bearer {key}"
    session = aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0, ttl_dns_cache=300),
        headers=headers,
        timeout=aiohttp.ClientTimeout(total=timeout, sock_connect=min(timeout, 30.0)),
        trust_env=through_proxy,
        cookie_jar=aiohttp.DummyCookieJar(),
    )
    try:
        yield session
    finally:
        await session.close()
        for _ in range(_ROUNDS):  # a transport that was told to close does so in the loop's next rounds
            await asyncio.sleep(0)


async def ask(session: aiohttp.ClientSession, endpoint: Endpoint, body: bytes) -> ChatReply:
    """Send one request.

    Args:
        session: see :func:`open_session`.
        endpoint: the address, and the key, which errors must not show.
        body: the JSON body.

    Raises:
        Trouble: it failed; the kind tells what is to be done.
    """
    try:
        async with session.post(endpoint.url, data=body, allow_redirects=False) as response:
            payload = await _read(response)
            if response.status != 200:
                raise _refused(response.status, response.headers, payload)
            if not _JSON_TYPE.match(response.headers.get("Content-Type", "")):
                kind = response.headers.get("Content-Type", "no content type")[:60]
                raise Trouble(MALFORMED, f"expected JSON, got {kind}: {excerpt(payload)}")
            return read_reply(payload)
    except Trouble as trouble:
        trouble.words = endpoint.conceal(trouble.words)
        raise
    except aiohttp.ClientConnectorCertificateError:
        raise Trouble(SETUP, f"{endpoint.base_url}: the server's certificate is not trusted") from None
    except aiohttp.ClientConnectorError as error:
        raise Trouble(AWAY, f"no connection to {endpoint.base_url} ({error.strerror})") from None
    except TimeoutError:
        raise Trouble(PASSING, "no whole reply in time") from None
    except (aiohttp.ClientError, OSError) as error:
        words = " ".join(str(error).split())[:120]
        raise Trouble(PASSING, endpoint.conceal(f"the line broke: {type(error).__name__} {words}")) from None


async def _read(response: aiohttp.ClientResponse) -> bytes:
    length = response.content_length
    if length is not None and length <= MOST_BYTES and "Content-Encoding" not in response.headers:
        return await response.read()
    pieces, size = [], 0
    async for piece in response.content.iter_chunked(1 << 16):
        pieces.append(piece)
        size += len(piece)
        if size > MOST_BYTES:
            response.close()  # else the rest would be read to keep the connection
            raise Trouble(MALFORMED, f"the reply is longer than {MOST_BYTES >> 20} MB", response.status)
    return b"".join(pieces)


def _refused(status: int, headers: Mapping[str, str], body: bytes) -> Trouble:
    words = error_words(body)
    if 300 <= status < 400:
        return Trouble(SETUP, f"redirected to {headers.get('Location', '?')[:120]}; give that base_url", status)
    if status in _BUSY:
        return Trouble(BUSY, words, status, retry_after(headers))
    if status in _PASSING or status > 504:
        return Trouble(PASSING, words, status, retry_after(headers))
    if status in _SETUP:
        return Trouble(SETUP, words, status)
    if status < 300:
        return Trouble(MALFORMED, f"an empty success: {words}", status)
    if is_filtered(body):
        return Filtered(words, status)
    return Trouble(FATAL, words, status)


class Filtered(Trouble):
    """The server's content filter stopped the request: an answer of its own kind, not a failure."""

    def __init__(self, words: str, status: int | None = None, wait: float | None = None) -> None:
        super().__init__(FATAL, words, status, wait)


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait as the server says: a number, or a date read against the server's own clock."""
    value = headers.get("Retry-After", "").strip()
    if not value:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            until, now = (parsedate_to_datetime(text) for text in (value, headers.get("Date", "")))
            seconds = (until - now).total_seconds()
        except (ValueError, TypeError):
            return None
    return min(max(seconds, 0.0), LONGEST_WAIT) if seconds == seconds else None
