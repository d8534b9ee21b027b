"""The files of an export: one file, a folder, or what a zip or tar archive holds, each opened as a stream.

Nothing is unpacked onto the disk, so a name such as ``../../x`` leads nowhere. Links are passed over.
"""

from __future__ import annotations

import io
import os
import struct
import tarfile
import weakref
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path, PurePosixPath
from typing import BinaryIO, Final, NoReturn, TypeVar, cast

from ..errors import InvalidTranscript
from .json_shape import shape
from .text_files import Encoding, encoding_of

T = TypeVar("T")

MOST_FILES: Final = 200_000
"""How many files a folder or an archive may hold."""

LARGEST_FILE: Final = 16 * 2**30
"""How many bytes one file of an archive may have, unpacked."""

LARGEST_RATIO: Final = 300
"""How many times as large as its packed bytes a file of more than 100 MB may be. Chats shrink to a fifth or so."""

_DAMAGE: Final = (
    zipfile.BadZipFile,
    tarfile.TarError,
    zlib.error,
    struct.error,
    EOFError,
    NotImplementedError,
    RuntimeError,
    ValueError,
)
"""What the libraries of archives raise of one that is damaged, or packed in a way that they do not know."""

_LOOKED_AT: Final = 65_536
_LARGE: Final = 100_000_000


@dataclass(frozen=True, eq=False)
class File:
    """One file of an export.

    Args:
        name: its path inside the export, with slashes.
        size: in bytes, unpacked.
        shown: how an error names it, such as ``export.zip: conversations.json``.
        opener: opens its bytes, from the beginning each time.
    """

    name: str
    size: int
    shown: str
    opener: Callable[[], BinaryIO]

    @cached_property
    def head(self) -> bytes:
        """Its first 64 KiB."""
        with self.opened() as raw:
            return raw.read(_LOOKED_AT)

    @cached_property
    def start(self) -> str:
        """The text that its first 64 KiB hold, as far as they are text; without a mark of the byte order."""
        return self.encoding.beginning(self.head)

    @cached_property
    def shape(self) -> frozenset[str]:
        """The paths of the fields of its first JSON records; empty where it is no JSON (`json_shape`)."""
        return shape(self.start)

    @cached_property
    def encoding(self) -> Encoding:
        """How its bytes are text; the whole file is looked at, once."""
        return encoding_of(self.head, self.opened, self.shown)

    @property
    def stem(self) -> str:
        """Its name without folders and ending."""
        return PurePosixPath(self.name).stem

    @property
    def suffix(self) -> str:
        """The ending of its name, such as ``.json``, in lower case."""
        return PurePosixPath(self.name).suffix.lower()

    def opened(self, seen: Callable[[int], object] | None = None) -> io.BufferedReader:
        """Its bytes; damage raises `InvalidTranscript`.

        Args:
            seen: is called with how many bytes were read, each time.
        """
        return io.BufferedReader(_Watched(self.opener, self.shown, seen), 2**18)

    def text(self, seen: Callable[[int], object] | None = None) -> io.TextIOWrapper:
        """Its text, with each end of a line as a line feed."""
        return io.TextIOWrapper(self.opened(seen), self.encoding.name, self.encoding.errors)


@dataclass(frozen=True, eq=False)
class Export:
    """What a user gives to be read.

    Args:
        name: what the user called it.
        files: what it holds; those of the outermost folders first.
        is_single: whether it is one file, and neither a folder nor an archive.
        is_folder: whether it is a folder.
    """

    name: str
    files: Sequence[File]
    is_single: bool = field(default=True)
    is_folder: bool = False

    @property
    def stem(self) -> str:
        """Its name without folders and ending."""
        return Path(self.name).stem

    def named(self, name: str) -> File | None:
        """The file with this name, in whatever folder; the outermost one."""
        return next((each for each in self.files if PurePosixPath(each.name).name == name), None)


class _Watched(io.RawIOBase):
    """A stream that says how far it has been read, and turns damage of an archive into an error of the project."""

    def __init__(self, opener: Callable[[], BinaryIO], shown: str, seen: Callable[[int], object] | None) -> None:
        self._shown, self._seen = shown, seen
        self._inner = self._guarded(opener)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        piece = self._guarded(lambda: self._inner.read(len(buffer)))
        buffer[: len(piece)] = piece
        if self._seen is not None:
            self._seen(len(piece))
        return len(piece)

    def close(self) -> None:
        if not self.closed and hasattr(self, "_inner"):
            self._inner.close()
        super().close()

    def _guarded(self, act: Callable[[], T]) -> T:
        try:
            return act()
        except _DAMAGE as error:
            reason = f"{self._shown}: the archive is damaged here ({error}); get it once more"
            raise InvalidTranscript(reason) from error


def export_at(name: str, path: Path) -> Export:
    """The files at a path: a file, a folder, or a zip or tar archive.

    Raises:
        InvalidTranscript: an archive is damaged, locked by a password, or larger than the limits above.
        OSError: the path cannot be read.
    """
    if path.is_dir():
        return Export(name, sorted(_in_folder(name, path), key=_outermost), is_single=False, is_folder=True)
    if path.is_fifo():
        # It can be read but once.
        return export_of(name, path.read_bytes())
    size = path.stat().st_size
    return _unpacked(name, File(path.name, size, name, lambda: path.open("rb")))


def export_of(name: str, raw: bytes) -> Export:
    """The same of bytes that are in memory, such as those of standard input."""
    return _unpacked(name, File(name, len(raw), name, lambda: io.BytesIO(raw)))


def _unpacked(name: str, file: File) -> Export:
    if file.head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return Export(name, sorted(_in_zip(name, file), key=_outermost), is_single=False)
    if file.head[257:262] == b"ustar":
        return Export(name, sorted(_in_tar(name, file), key=_outermost), is_single=False)
    return Export(name, [file])


def _outermost(file: File) -> tuple[int, str]:
    return file.name.count("/"), file.name


def _in_folder(name: str, folder: Path) -> Iterator[File]:
    count = 0
    for at, folders, files in os.walk(folder, onerror=_raised):
        folders[:] = sorted(each for each in folders if not each.startswith("."))
        for each in sorted(files):
            path = Path(at, each)
            if each.startswith(".") or path.is_symlink() or not path.is_file():
                continue
            count = _counted(count, name)
            inner = path.relative_to(folder).as_posix()
            yield File(inner, path.stat().st_size, f"{name}/{inner}", partial(_of_folder, path))


def _raised(error: OSError) -> NoReturn:
    """What is in a folder that cannot be looked into is not left out in silence."""
    raise error


def _counted(count: int, name: str) -> int:
    if count >= MOST_FILES:
        raise InvalidTranscript(f"{name} holds more than {MOST_FILES:,} files; give the folder of the export itself")
    return count + 1


def _in_zip(name: str, file: File) -> Iterator[File]:
    try:
        archive = _owning(file.opener(), zipfile.ZipFile)
    except (*_DAMAGE, OSError) as error:
        reason = f"{name} is a zip archive that is damaged or not whole ({error})"
        raise InvalidTranscript(f"{reason}; download it once more") from error
    count = 0
    for info in archive.infolist():
        if not info.filename or info.filename.endswith("/") or "__MACOSX/" in info.filename:
            continue
        count = _counted(count, name)
        shown = f"{name}: {info.filename}"
        _check_member(info, shown)
        yield File(info.filename, info.file_size, shown, partial(_of_zip, archive, info))


def _check_member(info: zipfile.ZipInfo, shown: str) -> None:
    if info.flag_bits & 1:
        raise InvalidTranscript(f"{shown} is locked with a password; unpack it with yours, and give the folder")
    if info.file_size > LARGEST_FILE:
        raise InvalidTranscript(
            f"{shown} would be {info.file_size:,} bytes unpacked, at most {LARGEST_FILE:,} are read"
        )
    if info.file_size > _LARGE and info.file_size > LARGEST_RATIO * max(info.compress_size, 1):
        ratio = info.file_size // max(info.compress_size, 1)
        raise InvalidTranscript(
            f"{shown} grows {ratio:,} times as it is unpacked, at most {LARGEST_RATIO} times are read: it may be a "
            "trap; if you trust it, unpack it and give the folder"
        )


def _in_tar(name: str, file: File) -> Iterator[File]:
    try:
        archive = _owning(file.opener(), _tar)
        members = [each for each in archive if each.isfile()]
    except (tarfile.TarError, OSError) as error:
        raise InvalidTranscript(f"{name} is a tar archive that is damaged ({error}); download it once more") from error
    for count, member in enumerate(members):
        _counted(count, name)
        yield File(member.name, member.size, f"{name}: {member.name}", partial(_of_tar, archive, member))


def _tar(raw: BinaryIO) -> tarfile.TarFile:
    return tarfile.open(fileobj=raw, mode="r:")


def _owning(raw: BinaryIO, opened: Callable[[BinaryIO], T]) -> T:
    """An archive that closes its file when nothing reads it any more, or now if it is none."""
    try:
        archive = opened(raw)
    except BaseException:
        raw.close()
        raise
    weakref.finalize(archive, raw.close)
    return archive


def _of_folder(path: Path) -> BinaryIO:
    return path.open("rb")


def _of_zip(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> BinaryIO:
    return cast(BinaryIO, archive.open(info))


def _of_tar(archive: tarfile.TarFile, member: tarfile.TarInfo) -> BinaryIO:
    stream = cast(BinaryIO, archive.extractfile(member))
    vars(stream)["archive"] = archive  # Else nothing holds it, and with it their file would be closed.
    return stream
