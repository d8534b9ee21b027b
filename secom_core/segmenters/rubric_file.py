"""What a language model is told about segmenting, as a value and as a page of Markdown that people can edit."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ..errors import InvalidInput, SchemaTooNew
from ..flow import Cost
from ..prompts.quoting import quoted

__all__ = ["Rubric"]

_VERSION: Final = 1
_FREE: Final = Cost()
_MARK: Final = re.compile(r"<!--\s*secom-rubric version (\d{1,9})\s*-->")
_COST: Final = re.compile(r"Cost: (\d+) calls, (\d+) tokens in, (\d+) tokens out\.")
_HEADING: Final = re.compile(r"^##\s+(.*?)\s*#*\s*$")
_BULLET: Final = re.compile(r"^\s{0,3}(?:[-*+]|\d{1,9}[.)])\s+(?=\S)")
_FENCE: Final = re.compile(r"^(`{3,})\s*\w*\s*$")
_PAGE: Final = """\
# Segmentation rubric

<!-- secom-rubric version {version} -->

{about}Edit this page as you like: the list under "Rules" and the blocks under "Examples" are what the model is shown.

## Rules

{rules}

## Examples
{examples}"""
_HINT: Final = re.compile(r"^Edit this page as you like: .* shown\.$")

Lines = list[tuple[int, str]]


@dataclass(frozen=True, slots=True)
class Rubric:
    """Segmentation guidance: rules, and representative examples (SeCom section 2.2, A.1).

    Args:
        items: the rules, a line each.
        examples: divided conversations, as `secom_core.prompts.segmentation.segmentation_example` writes them.
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
        about = "".join(f"{line}\n\n" for line in (self.note, _cost_line(self.cost)) if line)
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
        _check_version(text, source)
        sections = _sections(text)
        if "rules" not in sections:
            raise InvalidInput(f'{source} has no section "## Rules", only {sorted(filter(None, sections))}')
        head = [line for _, line in sections[""] if not line.startswith("#") and not _MARK.search(line)]
        costs = [Cost(*map(int, found.groups())) for line in head if (found := _COST.search(line))]
        note = " ".join(line for line in head if not _COST.search(line) and not _HINT.match(line))
        examples = tuple(_examples(sections.get("examples", []), source))
        return cls(tuple(_rules(sections["rules"])), examples, note, sum(costs, _FREE))


def _line(text: str) -> str:
    return " ".join(text.encode("utf-8", "replace").decode().split())


def _block(text: str) -> str:
    return "\n".join(text.encode("utf-8", "replace").decode().splitlines()).strip()


def _cost_line(cost: Cost) -> str:
    if cost == _FREE:
        return ""
    return f"Cost: {cost.calls} calls, {cost.tokens_in} tokens in, {cost.tokens_out} tokens out."


def _fenced(text: str) -> str:
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}text\n{text}\n{fence}"


def _check_version(text: str, source: str) -> None:
    found = _MARK.search(text)
    if found is None:
        raise InvalidInput(f"{source} has no line <!-- secom-rubric version {_VERSION} -->; it begins {text[:80]!r}")
    if int(found[1]) > _VERSION:
        raise SchemaTooNew(f"{source} has version {found[1]}, this package reads up to {_VERSION}")


def _sections(text: str) -> dict[str, Lines]:
    """Numbered lines by the lower-case heading that they stand under, fences kept."""
    sections: dict[str, Lines] = {"": []}
    name, fence = "", ""
    for number, line in enumerate(text.replace("\r\n", "\n").split("\n"), 1):
        heading = None if fence else _HEADING.match(line)
        if heading:
            name = heading[1].casefold()
        fence = _open_fence(fence, line)
        if not heading:
            sections.setdefault(name, []).append((number, line))
        else:
            sections.setdefault(name, [])
    return sections


def _open_fence(fence: str, line: str) -> str:
    """The fence that is open after ``line``."""
    if fence:
        return "" if line.strip() == fence else fence
    found = _FENCE.match(line)
    return found[1] if found else ""


def _rules(lines: Lines) -> Iterator[str]:
    rule: list[str] = []
    for _, line in [*lines, (0, "")]:
        bullet = _BULLET.match(line)
        if bullet or not line.strip() or line.startswith(("#", "<!--")):
            if rule:
                yield " ".join(rule)
            rule = []
        if bullet:
            rule = [line[bullet.end() :]]
        elif line.strip() not in ("", "(none yet)") and not line.startswith(("#", "<!--")):
            rule.append(line)


def _examples(lines: Lines, source: str) -> Iterator[str]:
    fence, opened, body = "", 0, list[str]()
    for number, line in lines:
        before, fence = fence, _open_fence(fence, line)
        if before and fence:
            body.append(line)
        elif before:
            yield "\n".join(body)
        elif fence:
            opened, body = number, []
        elif line.strip() and not line.startswith(("#", "<!--")):
            raise InvalidInput(f"line {number} of {source}: an example stands between lines of ```, got {line[:200]!r}")
    if fence:
        raise InvalidInput(f"line {opened} of {source} opens a block with {fence} that is not closed")
