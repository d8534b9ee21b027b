"""Guidance for segmentation, as a value and as a page of Markdown that people can edit."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from typing import Final

from ...errors import InvalidInput, SchemaTooNew
from ...llm.flow import Cost
from ...llm.quoting import quoted

_VERSION: Final = 1
_FREE: Final = Cost()
_MARK: Final = re.compile(r"<!--\s*secom-rubric version (\d{1,9})\s*-->")
_COST: Final = re.compile(r"^Cost: (\d+) calls, (\d+) tokens in, (\d+) tokens out\.$", re.M)
_HEADING: Final = re.compile(r"^##[^\S\n]+(.*?)[^\S\n]*#*[^\S\n]*$", re.M)
_RULE_END: Final = re.compile(r"\n\s*\n|^[^\S\n]{0,3}(?:[-*+]|\d{1,9}[.)])[^\S\n]+(?=\S)", re.M)
_FENCED: Final = re.compile(r"^(`{3,})[^\S\n]*\w*[^\S\n]*\n(.*?)^[^\S\n]*\1[^\S\n]*$", re.M | re.S)
_ASIDE: Final = re.compile(r"^[^\S\n]*(?:#|<!--|\(none yet\)[^\S\n]*$).*$", re.M)
_PAGE: Final = files(__package__).joinpath("page.md").read_text(encoding="utf-8").removesuffix("\n")
_HINT: Final = re.compile(r"^Edit this page as you like: .* shown\.$", re.M)


@dataclass(frozen=True, slots=True)
class Rubric:
    """Segmentation guidance: rules, and representative examples (SeCom section 2.2, A.1).

    Args:
        items: the rules, a line each.
        examples: divided conversations, as `secom_core.segmenters.zero_shot_prompt.segmentation_example` writes them.
        note: where it comes from, in one line.
        cost: what learning it came to.

    Raises:
        InvalidInput: for an item or example without text.
    """

    items: tuple[str, ...] = ()
    examples: tuple[str, ...] = ()
    note: str = ""
    cost: Cost = _FREE

    def __post_init__(self) -> None:
        for name in ("items", "examples"):
            if isinstance(getattr(self, name), str):
                raise InvalidInput(f"{name} are several texts, not the one string {getattr(self, name)!r}")
        object.__setattr__(self, "items", tuple(map(_line, self.items)))
        object.__setattr__(self, "examples", tuple(map(_block, self.examples)))
        object.__setattr__(self, "note", _line(self.note).lstrip("#`< "))
        for kind, texts in (("rule", self.items), ("example", self.examples)):
            if not all(any(map(str.isalnum, text)) for text in texts):
                raise InvalidInput(f"a {kind} needs words, got {texts!r}")

    @property
    def guidance(self) -> str | None:
        """The rules as `ZeroShotSegmenter` takes them; none where there are none."""
        return "\n".join(f"- {quoted(item)}" for item in self.items) or None

    @property
    def markdown(self) -> str:
        """The page that `save` writes and `parse` reads."""
        rules = "\n".join(f"{number}. {item}" for number, item in enumerate(self.items, 1)) or "(none yet)"
        blocks = (f"\n### Example {number}\n\n{_fenced(text)}\n" for number, text in enumerate(self.examples, 1))
        cost = f"Cost: {self.cost.calls} calls, {self.cost.tokens_in} tokens in, {self.cost.tokens_out} tokens out."
        about = "".join(f"{line}\n\n" for line in (self.note, cost if self.cost != _FREE else "") if line)
        return _PAGE.format(version=_VERSION, about=about, rules=rules, examples="".join(blocks))

    def save(self, path: str | os.PathLike[str], *, replace: bool = False) -> None:
        """Write the page; all of it or nothing.

        Args:
            path: the file, such as ``"rubric.md"``.
            replace: write over a file that says something else.

        Raises:
            InvalidInput: where the file says something else, perhaps by somebody's hand, and ``replace`` is not set.
        """
        target, page = Path(path), self.markdown.encode()
        if not replace and target.exists() and target.read_bytes() != page:
            raise InvalidInput(f"{target} says something else, perhaps edited by hand; pass replace=True to lose that")
        fresh = target.with_name(f"{target.name}.{os.getpid()}.new")
        fresh.write_bytes(page)
        fresh.replace(target)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Rubric:
        """Read a page that `save` wrote, as it was edited since.

        Raises:
            InvalidInput: where the page cannot be understood; names the line.
            SchemaTooNew: where it was written by a later version.
        """
        try:
            text = Path(path).read_bytes().decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise InvalidInput(f"{os.fspath(path)} is no text in UTF-8: {error}") from error
        return cls.parse(text, source=os.fspath(path))

    @classmethod
    def parse(cls, text: str, *, source: str = "the page") -> Rubric:
        """The rubric on a page of Markdown.

        Rules are the items of the list under "Rules"; a paragraph of its own there is a rule too. Examples are the
        fenced blocks under "Examples". Other sections are for people.

        Args:
            text: the page.
            source: what errors call it.

        Raises:
            InvalidInput: where the page cannot be understood; names the line.
            SchemaTooNew: where it was written by a later version.
        """
        version = _MARK.search(text)
        if version is None:
            mark = f"<!-- secom-rubric version {_VERSION} -->"
            raise InvalidInput(f"{source} has no line {mark}; it begins {text[:80]!r}")
        if int(version[1]) > _VERSION:
            raise SchemaTooNew(f"{source} has version {version[1]}, this package reads up to {_VERSION}")
        sections = _sections(text.replace("\r\n", "\n"))
        if "rules" not in sections:
            raise InvalidInput(f'{source} has no section "## Rules", only {sorted(filter(None, sections))}')
        head, rules = (_ASIDE.sub("", sections[name]) for name in ("", "rules"))
        cost = _COST.search(head)
        note = _COST.sub("", _HINT.sub("", head))
        items = tuple(rule for rule in _RULE_END.split(rules) if rule.strip())
        examples = _examples(sections.get("examples", ""), source)
        return cls(items, examples, note, Cost(*map(int, cost.groups())) if cost else _FREE)


def _line(text: str) -> str:
    return " ".join(text.encode("utf-8", "replace").decode().split())


def _block(text: str) -> str:
    return "\n".join(text.encode("utf-8", "replace").decode().splitlines()).strip()


def _fenced(text: str) -> str:
    longest = max(map(len, re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}text\n{text}\n{fence}"


def _sections(text: str) -> dict[str, str]:
    """What stands under each heading, by the heading in lower case; the lines above it are left blank."""
    plain = _FENCED.sub(lambda found: re.sub(".", " ", found[0]), text)
    headings = list(_HEADING.finditer(plain))
    names = ["", *(heading[1].casefold() for heading in headings)]
    edges = pairwise([0, *(heading.start() for heading in headings), len(text)])
    sections = {"": ""}
    for name, (start, stop) in zip(names, edges, strict=True):
        known = sections.get(name, "")
        blank = text.count("\n", 0, start) - known.count("\n")
        sections[name] = known + "\n" * blank + text[start:stop]
    return sections


def _examples(text: str, source: str) -> tuple[str, ...]:
    outside = _FENCED.sub(lambda found: "\n" * found[0].count("\n"), text)
    for number, line in enumerate(outside.split("\n"), 1):
        if fence := re.match("`{3,}", line):
            raise InvalidInput(f"line {number} of {source} opens a block with {fence[0]} that is not closed")
        if line.strip() and not _ASIDE.match(line):
            raise InvalidInput(f"line {number} of {source}: an example stands between lines of ```, got {line[:200]!r}")
    return tuple(found[2] for found in _FENCED.finditer(text))
