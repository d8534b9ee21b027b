"""The formats that are read, one line each, in the order in which a file is tried for them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module
from typing import Final, Protocol, cast

from ..conversation import Session
from ..errors import InvalidInput
from .files import Export, File
from .reading import Reading


class FormatReader(Protocol):
    """What a module of `secom_core.readers.formats` has."""

    def looks_like(self, file: File) -> bool:
        """Whether a file is of the format, by its name and its beginning."""

    def read(self, export: Export, files: list[File], reading: Reading) -> Iterator[Session]:
        """The sessions in an export.

        Args:
            export: all its files.
            files: those of the format.
            reading: what was asked for, and whom to tell.
        """


@dataclass(frozen=True, slots=True)
class Format:
    """A format that is read.

    Args:
        name: what ``--format`` calls it.
        title: what people call it.
        module: the module of `secom_core.readers.formats` that reads it.
        found: whether files are recognised as it; else only ``format=`` names it.
        alone: whether it is recognised in a single file only, and not among those of a folder or an archive.
    """

    name: str
    title: str
    module: str
    found: bool = True
    alone: bool = False

    @property
    def reader(self) -> FormatReader:
        """The module, imported when it is asked for."""
        return cast(FormatReader, import_module(f".formats.{self.module}", __package__))


FORMATS: Final = (
    Format("deepseek", "an export of DeepSeek", "deepseek"),
    Format("chatgpt", "an export of ChatGPT", "chatgpt"),
    Format("claude", "an export of Claude", "claude"),
    Format("grok", "an export of Grok", "grok"),
    Format("claude-code", "logs of Claude Code", "claude_code"),
    Format("codex", "logs of Codex", "codex"),
    Format("copilot", "a chat of GitHub Copilot in VS Code", "copilot"),
    Format("open-webui", "chats exported from Open WebUI", "open_webui"),
    Format("librechat", "a conversation exported from LibreChat", "librechat"),
    Format("gemini", "the activity of Gemini from Google Takeout", "gemini"),
    Format("telegram", "an export of Telegram", "telegram"),
    Format("messenger", "an export of Messenger or Instagram", "messenger"),
    Format("discord", "an export of DiscordChatExporter", "discord"),
    Format("discord-package", "a data package of Discord", "discord_package"),
    Format("slack", "an export of Slack", "slack"),
    Format("teams", "an export of Microsoft Teams", "teams"),
    Format("signal", "an export of Signal", "signal"),
    Format("kakaotalk", "a chat exported from KakaoTalk", "kakaotalk"),
    Format("whatsapp", "a chat exported from WhatsApp", "whatsapp"),
    Format("line", "a chat exported from LINE", "line"),
    Format("wechat", "a chat copied from WeChat or QQ, with name and time above each message", "wechat"),
    Format("sharegpt", "conversations in the form of ShareGPT", "sharegpt"),
    Format("mem0", "memories of mem0", "memories"),
    Format("zep", "messages or facts of Zep", "zep"),
    Format("speech", "a recording or a call, as a service of speech gives it", "speech"),
    Format("captions", "captions of a recording, WebVTT or SubRip", "captions", alone=True),
    Format("mail", "mails, mbox or .eml", "mail"),
    Format("parquet", "a table in Parquet", "parquet", alone=True),
    Format("csv", "a table in CSV", "table", alone=True),
    Format("openai", "chats for fine-tuning at OpenAI, JSON lines", "rows", found=False),
    Format("messages", "role/content messages, JSON or JSON lines", "rows", alone=True),
    Format("dictation", "words that one person dictated, as text", "dictation", found=False),
    Format("transcript", "a transcript, `Name: words` on each line", "transcripts", alone=True),
)
"""Every format, in the order in which a file is tried for them."""

_PROMISING: Final = frozenset({".json", ".jsonl", ".txt", ".html", ".mbox", ".eml"})
"""The endings of files that may be an export; what else lies beside one are pictures and the like."""
_SHOWN: Final = 3


def format_called(name: str) -> Format:
    """The format with this name.

    Raises:
        InvalidInput: there is none, with those that there are.
    """
    found = next((each for each in FORMATS if each.name == name.strip().lower()), None)
    if found is None:
        names = [each.name for each in FORMATS]
        near = [f"did you mean {each}? " for each in get_close_matches(name.lower(), names, 1)]
        raise InvalidInput(f"no format is called {name!r}; {''.join(near)}there are {', '.join(names)}")
    return found


def recognised(export: Export) -> tuple[Format, list[File]] | None:
    """The format of an export and its files of this format; nothing where no format fits."""
    for each in FORMATS:
        if each.found and (export.is_single or not each.alone) and (files := files_of(each, export)):
            return each, files
    return None


def left_in(export: Export, files: list[File]) -> list[str]:
    """What else an export holds that can be read, format by format; archives in an archive were sent in a chat."""
    others = [file for file in export.files if file not in files and file.suffix in _PROMISING]
    found = []
    for each in FORMATS:
        if each.found and not each.alone and (its := [file for file in others if each.reader.looks_like(file)]):
            others = [file for file in others if file not in its]
            found.append(f"{each.title} (--format {each.name}: {_names(its)})")
    archives = [file for file in export.files if export.is_folder and file.suffix == ".zip"]
    return found + ([f"archives ({_names(archives)})"] if archives else [])


def _names(files: list[File]) -> str:
    more = ["…"] if len(files) > _SHOWN else []
    return ", ".join([*(file.name for file in files[:_SHOWN]), *more])


def files_of(format: Format, export: Export) -> list[File]:
    """The files of an export that look like a format."""
    return [file for file in export.files if format.reader.looks_like(file)]
