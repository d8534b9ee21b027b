"""Word lists that stand in text files beside the modules that read them."""

from __future__ import annotations

from importlib.resources import files


def word_lists(package: str, file: str) -> dict[str, str]:
    """The paragraphs of a text file, by their first lines.

    Args:
        package: the package that ships the file.
        file: its name. A blank line ends a paragraph.
    """
    paragraphs = files(package).joinpath(file).read_text(encoding="utf-8").split("\n\n")
    return {name: words for name, _, words in (paragraph.partition("\n") for paragraph in paragraphs)}
