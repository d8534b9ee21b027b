"""A table of the papers, with the paper's own row beside each of ours.

    python -m benchmarks.papers --list
    python -m benchmarks.papers --table NAME --data DIR [DIR …] [--model M --base-url URL] [--judge M] [--budget TOKENS]
        [--samples N] [--conversations N] [--rows LABEL …] [--peers] [--json OUT]

DIR is a folder or a file of a data set (`benchmarks.datasets`); a table is made of each. Before anything is asked, the
calls and tokens that it will take are estimated and printed; ``--estimate`` does no more than that, and ``--budget``
refuses a run whose estimate is above it; rows that are done already are not counted. ``--list`` with ``--table`` names
the rows of a table. Each row that is done is kept in ``--work`` under a digest of all that it depends on, and so is
each reply of a model: a run that was killed goes on where it stopped. ``--peers`` adds the memories of other packages
to the tables that compare memories. Where something is missing for a row, such as a model, it is left out, and the
reason is told.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import Any

from tqdm import tqdm

from benchmarks.answering import cost_line, positive
from benchmarks.datasets import beginnings
from benchmarks.datasets.registry import form_of
from benchmarks.evaluation.agreement import JUDGES
from benchmarks.memories import frameworks, registry
from benchmarks.recorded_model import Recorder
from benchmarks.report import grid
from benchmarks.retrieval import versions
from secom_core.errors import DegradedWarning, InvalidInput, InvalidTranscript, ModelUnavailable
from secom_core.llm.flow import Cost

from . import estimate
from .runs import RUNNERS, LeftOut, Setting
from .tables import TABLES, Table

PEERS = tuple(
    name for name in registry.MEMORIES if name.partition("-")[0] in ("langchain", "llamaindex", "langmem", "mem0")
)
_AWAY = "gave no answer"
_RAW_KEYS = "the words themselves"
"""What a denoiser that fails says of the keys: they are those of another row."""
COMPARING = ("answers", "shown", "teafarm")
"""The runners whose rows are memories, to which others can be added."""


# -- what is run ------------------------------------------------------------------------------------------------------


def rows_of(table: Table, setting: Setting, peers: bool, only: Sequence[str] = ()) -> dict[str, str]:
    """The rows of a table, or only some of them, and what each runs.

    Raises:
        SystemExit: for a row that the table does not have.
    """
    rows = _every_row(table, setting, peers)
    if unknown := [name for name in only if name not in rows]:
        raise SystemExit(f"--rows {unknown[0]!r} is no row of this table; its rows are: {', '.join(rows)}")
    return {label: kind for label, kind in rows.items() if not only or label in only}


def _every_row(table: Table, setting: Setting, peers: bool) -> dict[str, str]:
    if table.runner == "judges":
        return {name: name for name in JUDGES}
    retriever = "BM25" if setting.embedder == "none" else "dense"
    rows = {label.format(retriever=retriever): kind for label, kind in table.rows.items()}
    if table.runner == "shown" and not rows:
        rows = {name: name for name in registry.possible(setting.means())}
        rows = {name: kind for name, kind in rows.items() if peers or name not in PEERS}
    return rows | ({name: name for name in PEERS} if peers and table.runner in COMPARING else {})


def data_set(table: Table, data: Path) -> str:
    """What a data set is called in the papers; of dialogues with segments, by the name of the file or its folder."""
    if table.runner == "segmentation":
        # SuperDialSeg's own folder is called superseg-v2.
        called = [part.lower().replace("superseg", "superdialseg") for part in (data.stem, data.resolve().parent.name)]
        return next((name for part in called for name in table.published if name in part), data.stem)
    file = data if data.is_file() else next((each for each in sorted(data.glob("*")) if each.is_file()), data)
    try:
        title = form_of(file)[0].title
    except InvalidTranscript:
        return data.stem
    return beginnings.title_of(file) or title


def key_of(name: str, label: str, kind: str, setting: Setting) -> str:
    """A digest of all that a row depends on: what is run, with what, on which contents."""
    about: dict[str, Any] = {
        field: str(getattr(setting, field))
        for field in ("model", "judge", "embedder", "tokens", "conversations", "samples", "bert", "llmlingua")
    }
    about |= {"table": name, "label": label, "kind": kind, "data": digest(setting.data), "versions": _versions()}
    about["weights"] = digest(setting.weights) if setting.weights else ""
    about |= {"episodes": digest(setting.episodes)} if setting.episodes else {}
    about |= {"longest": setting.longest} if setting.longest else {}
    return blake2b(json.dumps(about, sort_keys=True, default=str).encode(), digest_size=10).hexdigest()


def kept_row(name: str, label: str, kind: str, setting: Setting) -> Path:
    """Where a row is kept once it is done."""
    return setting.work / "rows" / f"{name}-{key_of(name, label, kind, setting)}.json"


@lru_cache(maxsize=1)
def _versions() -> dict[str, str]:
    return versions("openai")


def digest(data: Path) -> str:
    """Of the contents of a file, or of all files of a folder."""
    files = [data] if data.is_file() else sorted(each for each in data.glob("*") if each.is_file())
    made = blake2b(digest_size=10)
    for file in files:
        made.update(file.name.encode() + b"\0" + file.read_bytes())
    return made.hexdigest()


def run(name: str, table: Table, rows: Mapping[str, str], setting: Setting, quiet: bool) -> dict[str, Any]:
    """The table: each row from the folder of work, or computed and kept there."""
    found: dict[str, Any] = {"rows": {}, "left_out": {}}
    for label, kind in tqdm(rows.items(), desc=f"{name}, {setting.data.stem}", unit="row", disable=quiet):
        kept = kept_row(name, label, kind, setting)
        if kept.is_file():
            found["rows"][label] = json.loads(kept.read_text(encoding="utf-8"))
            continue
        begin = time.perf_counter()
        try:
            with warnings.catch_warnings(record=True) as warned:
                warnings.simplefilter("ignore")
                warnings.simplefilter("always", DegradedWarning)
                figures = RUNNERS[table.runner](table, kind, setting)
        except LeftOut as reason:
            found["left_out"][label] = str(reason)
            continue
        except ModelUnavailable as error:
            raise SystemExit(f"{label}: {error}; what was done is kept: run the same command again to go on") from error
        except ImportError as error:
            found["left_out"][label] = f"a package is not installed: {error}"
            continue
        degraded = [str(each.message) for each in warned if issubclass(each.category, DegradedWarning)]
        if raw := next((each for each in degraded if _RAW_KEYS in each and table.runner == "denoising"), None):
            found["left_out"][label] = raw
            continue
        rounded = {each: value if value is None else round(value, 4) for each, value in figures.items()}
        found["rows"][label] = {"figures": rounded, "seconds": round(time.perf_counter() - begin, 1)}
        if degraded:
            found["rows"][label]["degraded"] = {"times": len(degraded), "first": degraded[0]}
        if not any(_AWAY in each for each in degraded):  # what a model that was away would have said is asked again
            write(kept, found["rows"][label])
    return found


def write(path: Path, content: Any) -> None:
    """Whole or not at all, should the run be killed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    part.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    part.replace(path)


# -- what is shown ----------------------------------------------------------------------------------------------------


def listing(names: Sequence[str] = ()) -> str:
    """Every table: what it takes, what of it was run here, and how our definitions differ.

    Of the named ones alone, where there are some, with the labels of their rows.
    """
    rows = [
        [
            f"`{name}`" if table.runner else "",
            f"{table.paper} {table.number}".strip(" -"),
            table.title,
            " or ".join(table.data),
            table.needs if table.runner else "",
            f"{table.state}: {table.about}" if table.about else table.state,
            table.differs,
        ]
        for name, table in TABLES.items()
        if not names or name in names
    ]
    labels = [f"\nRows of {name}, for --rows: {_labels(TABLES[name])}" for name in names]
    return "\n".join([grid(["`--table`", "of", "what", "on", "needs", "state", "differs"], rows), *labels])


def _labels(table: Table) -> str:
    if table.runner == "shown" and not table.rows:
        return "every memory of `benchmarks.memories` that it can run"
    labels = [*JUDGES] if table.runner == "judges" else [label.format(retriever="BM25") for label in table.rows]
    dense = any("{retriever}" in label for label in table.rows)
    return ", ".join(labels) + ("; with --embedder, write dense in place of BM25" if dense else "")


def markdown(table: Table, found: Mapping[str, Any]) -> str:
    """The table, with the paper's figures beside ours where the paper has some on this data set."""
    papers = table.papers_rows(found["data"])
    head = ["", *(part for column in table.columns for part in ([column, "paper"] if papers else [column]))]
    rows: list[list[object]] = []
    for label in dict.fromkeys([*found["rows"], *papers]):
        figures = found["rows"].get(label, {}).get("figures", {})
        ours = [_interval(figures, column) for column in table.columns]
        theirs = [_cell(each) for each in papers.get(label, (None,) * len(table.columns))]
        pairs = zip(ours, theirs, strict=True)
        rows.append([label, *(part for pair in pairs for part in (pair if papers else pair[:1]))])
    title = f"{table.paper} {table.number}: {table.title}".removeprefix("- -: ")
    lines = [f"## {title}, on {found['data']}", "", grid(head, rows)]
    if table.data and found["data"] not in table.data and not papers:
        lines += ["", f"The paper has it on {' and '.join(table.data)}."]
    lines += [f"\nLeft out: {label}: {reason}" for label, reason in found["left_out"].items()]
    for label, row in found["rows"].items():
        if unread := row["figures"].get("unread"):
            lines.append(f"\n{label}: {unread:.0f} judgements could not be read, and do not count.")
        if degraded := row.get("degraded"):
            lines.append(
                f"\n{label}: a part without the model took over {degraded['times']} times, first: {degraded['first']}"
            )
    if any(name.endswith(" ±") for row in found["rows"].values() for name in row["figures"]):
        lines.append("\n± is half of a 95 per cent interval.")
    return "\n".join([*lines, *([f"\nDiffers: {table.differs}."] if table.differs else [])])


def _interval(figures: Mapping[str, float | None], column: str) -> str:
    half = figures.get(f"{column} ±")
    return _cell(figures.get(column)) + (f" ± {_cell(half)}" if half is not None else "")


def _cell(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.2f}" if abs(value) >= 2 else f"{value:.3f}"


# -- the command ------------------------------------------------------------------------------------------------------


def main(arguments: Sequence[str] | None = None) -> None:
    try:
        _main(parsed(arguments))
    except (InvalidInput, OSError) as error:  # what is given cannot be read, or no file can be written there
        raise SystemExit(str(error)) from error


def _main(options: argparse.Namespace) -> None:
    if options.list:
        print(listing(options.table))
        return
    logging.disable(logging.WARNING)
    frameworks.without_deprecations()
    settings = list(settings_of(options))
    cost, done = Cost(), 0
    for name, setting in settings:
        rows = rows_of(TABLES[name], setting, options.peers, options.rows)
        left = {label: kind for label, kind in rows.items() if not kept_row(name, label, kind, setting).is_file()}
        cost, done = cost + estimate.expected(TABLES[name], left, setting), done + len(rows) - len(left)
    counted = {"calls": cost.calls, "tokens_in": cost.tokens_in, "tokens_out": cost.tokens_out}
    print(f"estimated: {cost_line(counted)}" + (f"; rows that are done and not counted: {done}" if done else ""))
    if not options.model and any("a model" in TABLES[name].needs for name, _ in settings):
        print("no --model is given: the rows that ask one are left out")
    if options.budget is not None and cost.tokens_in + cost.tokens_out > options.budget:
        raise SystemExit(
            f"the estimate of {cost.tokens_in + cost.tokens_out} tokens is above the budget of {options.budget}; "
            f"take fewer with --samples or --conversations, or give a larger --budget"
        )
    if options.estimate:
        return
    made = []
    with serving(options) as url:
        for name, setting in settings:
            table = TABLES[name]
            served = replace(setting, url=url)
            rows = rows_of(table, served, options.peers, options.rows)
            found: dict[str, Any] = {"table": name, "data": setting.title}
            found |= run(name, table, rows, served, options.quiet)
            found |= {"settings": asked_with(options, setting)}
            print(f"\n{markdown(table, found)}", flush=True)
            made.append(found)
            if options.json:
                write(options.json, {"versions": _versions(), "tables": made})


@contextmanager
def serving(options: argparse.Namespace) -> Iterator[str]:
    """The address of the model, behind a recorder whose file keeps each reply; none where there is no model."""
    if not (options.model or options.judge):
        yield ""
        return
    options.work.mkdir(parents=True, exist_ok=True)
    recorder = Recorder(options.work / "replies.jsonl", *upstream(options))
    with recorder.serving() as url:
        yield url


def upstream(options: argparse.Namespace) -> tuple[str | None, str | None]:
    """The address of the model, and its key; nothing where there is none, and all comes from what was recorded.

    Raises:
        SystemExit: where the variable that is to hold the key is empty.
    """
    key = os.environ.get(options.key_variable or "OPENAI_API_KEY")
    if options.base_url:
        if options.key_variable and not key:
            raise SystemExit(f"the variable {options.key_variable} is empty; set it to the endpoint's key")
        # The key of one provider is not sent to another.
        return options.base_url, key if options.key_variable else None
    if not key:
        return None, None
    from openai import OpenAI

    return str(OpenAI(api_key=key).base_url), key


def asked_with(options: argparse.Namespace, setting: Setting) -> dict[str, Any]:
    """The settings for the results: no folder of this machine."""
    names = ("model", "judge", "embedder", "samples", "conversations", "reply_tokens")
    about: dict[str, Any] = {name: getattr(options, name) for name in names} | {"embedder": Path(options.embedder).name}
    return about | {"tokens": setting.tokens, "weights": options.weights.name if options.weights else "as shipped"}


def settings_of(options: argparse.Namespace) -> Iterator[tuple[str, Setting]]:
    """Each table on each data set."""
    for name in options.table:
        table = TABLES[name]
        for data in options.data or ([Path()] if table.runner == "judges" else []):
            read = data_set(table, data) if options.data else ""
            yield (
                name,
                Setting(
                    data,
                    options.work,
                    options.model,
                    options.judge,
                    options.base_url or "",
                    options.embedder,
                    options.memory_tokens or table.budget_on(read),
                    options.conversations,
                    options.samples,
                    options.weights,
                    options.bert,
                    options.llmlingua,
                    read,
                    options.episodes if table.runner == "teafarm" else None,
                    options.reply_tokens,
                ),
            )


def parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.papers",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    runnable = [name for name, table in TABLES.items() if table.runner]
    parser.add_argument("--list", action="store_true", help="every table, what it takes and its state")
    parser.add_argument(
        "--table", nargs="+", action="extend", default=[], choices=runnable, metavar="NAME", help="those of --list"
    )
    parser.add_argument("--data", type=Path, nargs="+", action="extend", default=[], help="a data set's folder or file")
    parser.add_argument("--model", default="", help="the model's name at the endpoint")
    parser.add_argument("--judge", default="", help="the model that judges, at the same endpoint")
    parser.add_argument("--base-url", help="the endpoint; OpenAI's own where OPENAI_API_KEY is set, else none is asked")
    parser.add_argument("--key-variable", help="the environment variable that holds the endpoint's key")
    parser.add_argument("--budget", type=int, help="refuse to run above so many tokens, in and out together")
    parser.add_argument("--estimate", action="store_true", help="only tell what it will take")
    parser.add_argument("--samples", type=positive, help="questions of each conversation, or dialogues, at most")
    parser.add_argument("--conversations", type=positive, help="how many at most")
    parser.add_argument(
        "--rows", nargs="+", default=[], metavar="LABEL", help="only these rows; --list --table NAME has them"
    )
    parser.add_argument("--peers", action="store_true", help="memories of other packages too")
    parser.add_argument("--embedder", default="none", help="none (BM25, the default), static, minilm, or a folder")
    parser.add_argument("--memory-tokens", type=positive, help="of what a memory shows; the paper's unless given")
    parser.add_argument("--weights", type=Path, help="of ours, fitted without each conversation")
    parser.add_argument("--bert", help="a folder with an encoder, for BERTScore")
    parser.add_argument("--llmlingua", type=Path, help="a folder with LLMLingua-2's weights")
    parser.add_argument("--episodes", type=Path, help="of TeaFarm, in place of farming them")
    parser.add_argument("--reply-tokens", type=positive, help="the longest reply: a small model may not end by itself")
    parser.add_argument("--work", type=Path, default=Path(".papers"), help="where rows and replies are kept")
    parser.add_argument("--json", type=Path, help="the results with versions")
    parser.add_argument("--quiet", action="store_true", help="no progress bar")
    options = parser.parse_args(arguments)
    if not options.list and not options.table:
        parser.error("give --table NAME, or --list to see them")
    needing = [name for name in options.table if TABLES[name].runner != "judges"]
    if needing and not options.data and not options.list:
        parser.error(f"{', '.join(needing)} needs --data DIR with {' or '.join(TABLES[needing[0]].data)}")
    return options


if __name__ == "__main__":
    main()
