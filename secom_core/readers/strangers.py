"""What a file that no reader knows looks like, and what to do about it."""

from __future__ import annotations

from typing import Final

from .files import Export, File

_KINDS: Final = (
    (b"%PDF", "a PDF document", "save the conversation as text, `Name: words` on each line"),
    (b"\x89PNG", "a picture", "pictures hold no text that is read"),
    (b"\xff\xd8\xff", "a picture", "pictures hold no text that is read"),
    (b"GIF8", "a picture", "pictures hold no text that is read"),
    (
        b"SQLite format 3\0",
        "a database of SQLite",
        "a store of secom is named with --store",
    ),
    (b"\x1f\x8b", "a file packed by gzip", "unpack it first, with gunzip"),
    (b"BZh", "a file packed by bzip2", "unpack it first, with bunzip2"),
    (b"\xfd7zXZ", "a file packed by xz", "unpack it first, with unxz"),
    (b"\x28\xb5\x2f\xfd", "a file packed by Zstandard", "unpack it first, with unzstd"),
    (b"7z\xbc\xaf", "an archive of 7-Zip", "unpack it, and give the folder"),
    (b"Rar!", "a RAR archive", "unpack it, and give the folder"),
    (b"\xd0\xcf\x11\xe0", "a document of Microsoft Office", "save the conversation as text or CSV"),
    (b"{\\rtf", "a document in RTF", "save the conversation as plain text, `Name: words` on each line"),
    (b"<?xml", "XML", "of a backup of text messages, make a table (CSV) with a message in each row"),
    (b"ID3", "a recording", "transcribe it first, into WebVTT or SubRip"),
    (b"OggS", "a recording", "transcribe it first, into WebVTT or SubRip"),
    (b"RIFF", "a recording", "transcribe it first, into WebVTT or SubRip"),
)


def stranger(export: Export) -> str:
    """One sentence that says what an export that nobody reads looks like, and what to do."""
    if not export.files:
        return f"{export.name} is empty; get the export once more"
    if export.is_single:
        return f"{export.name} {_looks(export.files[0])}"
    names, many = ", ".join(file.name for file in export.files[:5]), len(export.files)
    if any(file.name == "word/document.xml" for file in export.files):
        return f"{export.name} looks like a document of Word; save the conversation as text, `Name: words` on each line"
    if any(file.name == "xl/workbook.xml" for file in export.files):
        return f"{export.name} looks like a workbook of Excel; save the table with the messages as CSV"
    inner = next((file.name for file in export.files if file.suffix == ".zip"), None)
    if inner is not None:
        first = "" if export.is_folder else f"unpack {export.name}, and "
        return f"{export.name} holds another archive, {inner}; {first}give {inner}"
    return (
        f"{export.name} holds no export that is known, but {f'{many:,} files such as' if many > 1 else 'the file'} "
        f"{names}; give the file that holds the conversation, and say what it is with --format"
    )


def is_words(file: File) -> bool:
    """Whether a file may hold words as they are: it is text, no web page, and of no kind that is known otherwise."""
    return not (file.encoding.is_binary or _kind(file) or _is_page(file))


def _kind(file: File) -> tuple[str, str] | None:
    """What a file is by its first bytes, and what to do with it."""
    if file.head[4:8] == b"ftyp":
        return "a recording", "transcribe it first, into WebVTT or SubRip"
    head = file.head.removeprefix(b"\xef\xbb\xbf").lstrip()
    return next(((what, then) for mark, what, then in _KINDS if head.startswith(mark)), None)


def _is_page(file: File) -> bool:
    return file.start.lstrip()[:200].lower().startswith(("<!doctype html", "<html"))


def _looks(file: File) -> str:
    if (kind := _kind(file)) is not None:
        return f"looks like {kind[0]}; {kind[1]}"
    if file.encoding.is_binary:
        return "is no text; say what it is with --format, if it is an export"
    if _is_page(file):
        return (
            "is a web page, and which words in it were said cannot be told; export the chat as JSON or text (of "
            "ChatGPT, give conversations.json or the zip)"
        )
    return "holds no message"
