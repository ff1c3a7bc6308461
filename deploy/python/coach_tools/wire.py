"""HTTP/1.1 and server-sent events over sockets. Strict about everything that a client must be able to rely on."""
import asyncio
import json


class Broken(Exception):
    """The connection was lost or a time limit exceeded. Clients must expect this."""


class Nonsense(Exception):
    """Bytes that a gateway must never send."""


class Exchange:
    """One request and its response on a new connection."""

    def __init__(self, reader, writer):
        self.reader, self.writer = reader, writer
        self.status, self.headers = 0, {}

    @classmethod
    async def begin(cls, port, method, path, token, body=None, headers=None, timeout=20.0):
        """Sends a request and reads the head of the response."""
        lines = [f"{method} {path} HTTP/1.1", "Host: 127.0.0.1", f"Authorization: Bearer {token}", "Accept: text/event-stream"]
        lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
        data = b"" if body is None else json.dumps(body, ensure_ascii=False).encode()
        if method == "POST":
            lines.append(f"Content-Length: {len(data)}")
        writer = None
        try:
            async with asyncio.timeout(timeout):
                reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 20)
                exchange = cls(reader, writer)
                writer.write("\r\n".join(lines).encode() + b"\r\n\r\n" + data)
                await writer.drain()
                await exchange._read_head()
                return exchange
        except BaseException as error:
            if writer:
                writer.transport.abort()
            if isinstance(error, (OSError, EOFError, TimeoutError, asyncio.LimitOverrunError)):
                raise Broken(repr(error)) from None
            raise

    async def _read_head(self):
        lines = (await self.reader.readuntil(b"\r\n\r\n")).decode("ascii").split("\r\n")
        self.status = int(lines[0].split(" ")[1])
        for line in lines[1:]:
            if line:
                name, _, value = line.partition(":")
                self.headers[name.lower()] = value.strip()

    @property
    def is_stream(self):
        """Whether the response is an event stream with status 200."""
        return self.status == 200 and self.headers.get("content-type", "").startswith("text/event-stream")

    async def chunks(self, silence):
        """The pieces of the body. Raises Broken when it is cut or idle for `silence` seconds."""
        try:
            if self.headers.get("transfer-encoding") == "chunked":
                while True:
                    async with asyncio.timeout(silence):
                        count = int(await self.reader.readuntil(b"\r\n"), 16)
                        chunk = (await self.reader.readexactly(count + 2))[:-2]
                    if not chunk:
                        return
                    yield chunk
            else:
                left = int(self.headers.get("content-length", "0"))
                async with asyncio.timeout(silence):
                    yield await self.reader.readexactly(left)
        except (OSError, EOFError, TimeoutError, ValueError, asyncio.LimitOverrunError) as error:
            raise Broken(repr(error)) from None

    async def events(self, silence=15.0):
        """The events of a stream as (id, object). Every line must be complete valid UTF-8."""
        waiting = b""
        async for chunk in self.chunks(silence):
            waiting += chunk
            while (end := waiting.find(b"\n\n")) >= 0:
                block, waiting = waiting[:end], waiting[end + 2:]
                identifier, data = None, None
                for line in block.split(b"\n"):
                    if line.startswith(b"id: "):
                        identifier = int(line[4:])
                    elif line.startswith(b"data: "):
                        data = line[6:]
                    elif not line.startswith((b":", b"retry: ")):
                        raise Nonsense(f"a line that is neither id, data, retry nor comment: {line[:200]!r}")
                if data is None:
                    continue
                try:
                    event = json.loads(data.decode("utf-8", errors="strict"))
                except ValueError as error:
                    raise Nonsense(f"{error}: {data[:200]!r}") from None
                yield identifier, event
        if waiting.strip():
            raise Nonsense(f"the stream ended inside an event: {waiting[:200]!r}")

    async def json(self):
        """The body of a response that is not a stream: the envelope, or its only event."""
        text = b"".join([chunk async for chunk in self.chunks(5.0)]).decode("utf-8", errors="strict")
        for line in text.split("\n"):
            if line.startswith("data: "):
                text = line[6:]
        try:
            value = json.loads(text)
        except ValueError:
            return {}
        return value if isinstance(value, dict) else {}

    def close(self):
        """Closes the connection."""
        self.writer.transport.abort()


async def ask(port, method, path, token="", body=None, headers=None, timeout=10.0):
    """Sends a request with a short response. Returns (status, object, headers)."""
    exchange = await Exchange.begin(port, method, path, token, body, headers, timeout)
    try:
        return exchange.status, await exchange.json(), exchange.headers
    finally:
        exchange.close()
