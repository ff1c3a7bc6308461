"""A TCP relay to PostgreSQL that can fall silent: it accepts connections and bytes and sends nothing, as behind a dropped route."""
import asyncio


class Relay:
    """Forwards a port of 127.0.0.1 to PostgreSQL. Bytes that arrive while it is silent are lost, also after it forwards again."""

    def __init__(self, port, target):
        self.port, self.target = port, target
        self.is_silent = False
        self.connections = set()
        self.server = None

    async def start(self):
        """Listens on the port."""
        self.server = await asyncio.start_server(self._accept, "127.0.0.1", self.port)

    async def _accept(self, reader, writer):
        task = asyncio.current_task()
        self.connections.add(task)
        try:
            if self.is_silent:
                await self._swallow(reader)
                return
            try:
                there = await asyncio.open_connection("127.0.0.1", self.target)
            except OSError:
                return
            try:
                await self._forward(reader, writer, *there)
            finally:
                there[1].transport.abort()
        finally:
            self.connections.discard(task)
            writer.transport.abort()

    async def _forward(self, reader, writer, far_reader, far_writer):
        async def copy(source, target):
            silenced = False
            while chunk := await source.read(65536):
                # Once it has swallowed bytes a connection cannot go on.
                silenced = silenced or self.is_silent
                if not silenced:
                    target.write(chunk)
                    await target.drain()
        ways = [asyncio.ensure_future(copy(reader, far_writer)), asyncio.ensure_future(copy(far_reader, writer))]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
            # The end of the far side is as silent as everything else.
            if self.is_silent and not ways[0].done():
                await asyncio.wait(ways[:1])
        finally:
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)

    async def _swallow(self, reader):
        try:
            while await reader.read(65536):
                pass
        except OSError:
            pass

    async def stop(self):
        """Ends all connections."""
        self.server.close()
        for connection in list(self.connections):
            connection.cancel()
        await asyncio.gather(*self.connections, return_exceptions=True)
