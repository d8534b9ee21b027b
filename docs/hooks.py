"""Puts the files of the repository that pages link to into the site, so that every link leads somewhere.

Pages in ``docs`` link to ``../SECURITY.md`` and the like, which is right in the repository. In the site, the same files
stand beside the pages: Markdown as pages, everything else as it is.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[1]
PAGES = ("CHANGELOG.md", "SECURITY.md", "benchmarks/README.md", "examples/README.md")
LINK = re.compile(r"(?<=\]\()(?!\w+:|[#/])[^)#\s]+")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add what pages link to outside ``docs``."""
    texts = [(Path("docs", file.src_uri), file.content_string) for file in files.documentation_pages()]
    texts += [(Path(name), (ROOT / name).read_text(encoding="utf-8")) for name in PAGES]
    linked = {(ROOT / path.parent / link).resolve() for path, text in texts for link in LINK.findall(text)}
    outside = {path for path in linked if path.is_file() and ROOT / "docs" not in path.parents}
    for path in sorted(outside | {ROOT / name for name in PAGES}):
        files.append(File.generated(config, path.relative_to(ROOT).as_posix(), abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: object) -> str:
    """The links of a page as they are in the site, where ``docs`` is the top."""
    home = Path(page.file.src_uri if page.file.generated_by else f"docs/{page.file.src_uri}").parent

    def moved(link: re.Match[str]) -> str:
        path = (ROOT / home / link[0]).resolve().relative_to(ROOT)
        here = Path(page.file.src_uri).parent
        place = path.relative_to("docs") if path.parts[0] == "docs" else path
        return "/".join([*[".."] * len(here.parts), place.as_posix()])

    return LINK.sub(moved, markdown)
