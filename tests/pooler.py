"""What lends out a server's connections by the transaction, as PgBouncer does: each may have another one."""

from __future__ import annotations

import asyncio
import shutil
import struct
import tempfile
import threading
from asyncio import IncompleteReadError, Queue, StreamReader, StreamWriter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from sqlalchemy.engine import make_url

_SOCKET = ".s.PGSQL.5432"
_WELCOME = b"R" + struct.pack("!II", 8, 0)
_OWN_KEY = b"K" + struct.pack("!III", 12, 1, 1)
_IDLE = b"Z" + struct.pack("!Ic", 5, b"I")
_WORDS = b"SFATAL\0C08P01\0Mserver conn crashed?\0\0"
_CRASHED = b"E" + struct.pack("!I", len(_WORDS) + 4) + _WORDS
"""What PgBouncer says before it leaves a client whose connection to the server was lost."""


async def _message(reader: StreamReader) -> bytes:
    head = await reader.readexactly(5)
    return head + await reader.readexactly(struct.unpack("!I", head[1:])[0] - 4)


class _Pooler:
    def __init__(self, server: Path, size: int, last_words: bool) -> None:
        self._server, self._size, self._last_words = server, size, last_words
        self._free: Queue[tuple[StreamReader, StreamWriter]] = Queue()
        self._told: list[bytes] = []
        self._startup = b""
        self._opening = asyncio.Lock()

    async def serve(self, reader: StreamReader, writer: StreamWriter) -> None:
        """Speak with one client."""
        length = await reader.readexactly(4)
        startup = length + await reader.readexactly(struct.unpack("!I", length)[0] - 4)
        async with self._opening:
            if not self._told:
                self._startup = startup
                for _ in range(self._size):
                    await self._open()
        writer.write(b"".join([_WELCOME, *self._told, _OWN_KEY, _IDLE]))
        with suppress(IncompleteReadError, ConnectionError):
            await self._transactions(reader, writer)
        writer.close()

    async def _open(self) -> None:
        reader, writer = await asyncio.open_unix_connection(str(self._server))
        writer.write(self._startup)
        told = []
        while (message := await _message(reader))[:1] != b"Z":
            told.append(message)
        self._told = [each for each in told if each[:1] == b"S"]
        self._free.put_nowait((reader, writer))

    async def _transactions(self, reader: StreamReader, writer: StreamWriter) -> None:
        while True:
            message = await _message(reader)
            if message[:1] == b"X":
                return
            # The one that has been free for longest: seldom the same twice.
            answers, asks = await self._free.get()
            try:
                await self._transaction(message, reader, writer, answers, asks)
            except (IncompleteReadError, ConnectionError):
                if not reader.at_eof():
                    asks.close()
                    await self._open()
                    writer.write(_CRASHED)
                raise
            self._free.put_nowait((answers, asks))

    async def _transaction(
        self, message: bytes, reader: StreamReader, writer: StreamWriter, answers: StreamReader, asks: StreamWriter
    ) -> None:
        """Hand on what a client says until the server has answered it all, outside of any transaction."""
        while True:
            asks.write(message)
            if message[:1] in b"QS":
                while (answer := await _message(answers))[:1] != b"Z":
                    if self._last_words or b"C57P01\0" not in answer:
                        # The server's last words: one that has crashed says none.
                        writer.write(answer)
                writer.write(answer)
                if answer[5:] == b"I":
                    return
            message = await _message(reader)


@contextmanager
def pooler(url: str, *, size: int = 2, last_words: bool = False) -> Iterator[str]:
    """The URL under which a database is to be had through a pooler.

    Args:
        url: of the database.
        size: how many connections to it the pooler has.
        last_words: whether it hands on what a server says that ends, before it says itself that it lost the server.
    """
    loop, server = asyncio.new_event_loop(), Path(str(make_url(url).query["host"])) / _SOCKET
    # Its socket lies in the folder, and a socket's path is short.
    folder = Path(tempfile.mkdtemp(prefix="secom-pool-"))
    inside = _Pooler(server, size, last_words)
    opened = loop.run_until_complete(asyncio.start_unix_server(inside.serve, str(folder / _SOCKET)))
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        yield make_url(url).update_query_dict({"host": str(folder)}).render_as_string(hide_password=False)
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        opened.close()
        left = asyncio.all_tasks(loop)
        for task in left:
            task.cancel()
        if left:
            loop.run_until_complete(asyncio.wait(left))
        loop.close()
        shutil.rmtree(folder)
