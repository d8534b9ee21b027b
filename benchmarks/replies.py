"""What is kept of damaged and odd replies, by prompt: in this checkout, and in another one.

``python -m benchmarks.replies [--before FOLDER] [--recorded FILE ...] [--kinds] [--json OUT]``
``python -m benchmarks.replies --record BASE_URL --model NAME [--samples 3] [--parallel 1]``

The first runs the corpus of `benchmarks.damaged_replies` (``tests/fixtures/replies.jsonl``) through the real procedures
with a model that sends each reply, twice if it is asked twice. Where a reply was cut off, the model then answers
rightly what is asked of a smaller piece; after any other it has no more to say. "Kept" is, of what a reader who
understands the reply takes from it,

- segments: SeCom's segment score against the right ones; what takes over is the lexical segmenter,
- events, topics, summaries: the share of records, or sentences, in both of what was kept and what is right,
- everything else: whether the right answer was read.

``FOLDER`` is a checkout of the project as it was, such as one that ``git worktree add`` makes. The second asks the
model at an OpenAI-compatible endpoint about the talks and writes what it sends, a line a reply, to
``benchmarks/results/replies_NAME.jsonl``. What stands there already is not asked again. ``--recorded`` then measures
it too. A recorded line may have ``said``, written by hand by who read the reply: what it says, in the form of
``right``, or null where it says nothing that can be used, so that it has to be refused. "Kept" is then of that, and a
second figure says how much of what is right of the talk was kept, which the model answers for. What has no ``said`` is
measured by what is right of the talk.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timezone
from functools import partial
from hashlib import blake2b
from pathlib import Path
from statistics import fmean
from threading import Lock
from typing import Any

from benchmarks.reply_talks import TALKS, Talk
from benchmarks.retrieval import versions
from secom_core.conversation import Message, Turn, group_messages
from secom_core.errors import DegradedWarning, ModelError
from secom_core.llm.flow import Procedure, Prompt, run
from secom_core.llm.retry import all_asked_twice
from secom_core.llm.rewriting import read_question, rewriting_prompt
from secom_core.memory import Segment, boundaries_of
from secom_core.segmenters import LexicalSegmenter, ZeroShotSegmenter
from secom_core.segmenters.agreement import boundary_f1, pk, window_diff
from secom_core.segmenters.rubric.prompt import HardExample, read_reflection, reflection_prompt
from secom_core.segmenters.zero_shot_prompt import as_jsonl
from secom_core.summaries.prompts import summary_prompt
from secom_core.testing import Answer, ScriptedModel, ScriptedRequest
from secom_core.timelines import Event, Relation, Timeline
from secom_core.timelines.events import extract_events
from secom_core.timelines.linking_prompt import read_relation, relation_prompt
from secom_core.timelines.refinement import read_refinement, refinement_prompt
from secom_core.topics.notes import extract_notes
from secom_core.topics.prompts import read_update, update_prompt

try:
    from secom_core.drafts.extraction import Draft
    from secom_core.summaries.reading import read_summary
    from secom_core.topics.index import Known
    from secom_core.topics.placing import read_where
except ImportError:  # a checkout that is measured as it was
    Draft = Known = lambda *_: None  # type: ignore[assignment,misc]

    def read_where(note: Any, known: Any, reply: str) -> dict[int, str]:
        return read_update(reply, count=len(known))

    from secom_core.summaries.prompts import read_summary  # type: ignore[attr-defined,no-redef]

HERE = Path(__file__).resolve().parents[1]
CORPUS = HERE / "tests" / "fixtures" / "replies.jsonl"
Entry = Mapping[str, Any]
_NAMED = {talk.name: talk for talk in TALKS}
_MOST = 800  # tokens of a recorded reply: a small model that goes astray would not stop by itself


def turns_of(talk: Talk) -> tuple[Turn, ...]:
    """The talk as it would be remembered."""
    said = [
        message
        for asked, answered in talk.turns
        for message in (Message(asked, "user", talk.speaker), Message(answered, "assistant"))
    ]
    return group_messages(said, talk.name)


def model_for(entry: Entry, talk: Talk) -> ScriptedModel:
    """A model that sends the entry's reply to every question about the whole talk."""
    sent = Answer(entry["reply"], finish_reason="length" if entry.get("cut_off") else "stop")
    is_cut = entry.get("cut_off") and entry["right"] is not None

    def reply(request: ScriptedRequest) -> Answer | str:
        shown = [number for number, (text, _) in enumerate(talk.turns) if text in _conversation(request.text)]
        if not 0 < len(shown) < len(talk.turns):
            return sent
        return right_reply(entry["prompt"], entry["right"], shown) if is_cut else "I cannot say."

    return ScriptedModel(reply)


def _conversation(text: str) -> str:
    return text[text.rfind("<conversation>") :]


def right_reply(prompt: str, right: Any, shown: list[int]) -> str:
    """What is right to say of some exchanges of a talk, by their numbers, as it is asked for."""
    if prompt == "segment":
        parts = [[shown.index(n) for n in range(start, end + 1) if n in shown] for start, end in right]
        return (
            f"<segmentation>\n{as_jsonl([Segment(part[0], part[-1] + 1) for part in parts if part])}\n</segmentation>"
        )
    names = {"events": ("event", "exchanges"), "topics": ("summary", "reference")}[prompt]
    rows = [(text, [shown.index(n) for n in numbers if n in shown]) for text, numbers in right]
    return "[" + ", ".join(json.dumps(dict(zip(names, row, strict=True))) for row in rows if row[1]) + "]"


# -- what is kept ------------------------------------------------------------------------------------------------------


def kept(entry: Entry) -> float:
    """How much of what a reply says is kept, from 0 to 1; 1 too where it says nothing and is refused."""
    return kept_right({**entry, "right": entry.get("said", entry["right"])})


def kept_right(entry: Entry) -> float:
    """How much of what is right is kept, from 0 to 1."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DegradedWarning)
        return _MEASURES.get(entry["prompt"], _answered)(entry, _NAMED[entry["talk"]])


def _segments(entry: Entry, talk: Talk) -> float:
    turns, local = turns_of(talk), LexicalSegmenter()
    found = ZeroShotSegmenter(model_for(entry, talk), fallback=local).segment(turns)
    if entry["right"] is None:
        return float(found == local.segment(turns))
    right = [Segment(start, end + 1) for start, end in entry["right"]]
    if found == right:
        return 1.0  # also where there is no boundary, of which F1 makes nothing
    truth, said = boundaries_of(right), boundaries_of(found)
    return (2 * boundary_f1(truth, said) + (1 - pk(truth, said)) + (1 - window_diff(truth, said))) / 4


def _records(entry: Entry, talk: Talk, ask: Callable[..., Procedure[Any]]) -> float:
    found = run(ask(turns_of(talk), []), model_for(entry, talk))
    right = {(text, tuple(numbers)) for text, numbers in entry["right"] or ()}
    if entry.get("cut_off"):
        # A fact that rests on both halves is found in each, with the exchanges of that half.
        return _facts({text for text, _ in right}, {draft.text for draft in found.drafts})
    return _facts(right, {(draft.text, tuple(turn.index for turn in draft.turns)) for draft in found.drafts})


def _facts(right: set[Any], found: set[Any]) -> float:
    return len(right & found) / len(right | found) if right or found else 1.0


def _sentences(entry: Entry, talk: Talk) -> float:
    found = _read(entry, read_summary)
    if isinstance(found, ModelError) or entry["right"] is None:
        return float(isinstance(found, ModelError) and entry["right"] is None)
    return _facts({*entry["right"]}, {*getattr(found, "statements", found)})


def _notes(entry: Entry, talk: Talk) -> float:
    found = _read(entry, partial(read_refinement, timeline=timeline(talk)))
    return _same(found, entry)


def _updates(entry: Entry, talk: Talk) -> float:
    if "said" not in entry:
        return _same(_read(entry, partial(read_update, count=3)), entry)
    texts = [text for text, _ in talk.facts]
    known = [Known(place, place, text) for place, text in enumerate(texts[:3])]
    return _same(_read(entry, partial(read_where, Draft(texts[1], (), talk.speaker), known)), entry)


def _answered(entry: Entry, talk: Talk) -> float:
    return _same(_read(entry, _READERS[entry["prompt"]]), entry)


def _same(found: Any, entry: Entry) -> float:
    if isinstance(found, ModelError):
        return float(entry["right"] is None)
    return float(json.loads(json.dumps(found)) == entry["right"])


def _joins(entry: Entry, talk: Talk) -> float:
    turns = turns_of(talk)
    model = ScriptedModel(Answer(entry["reply"], finish_reason="length" if entry.get("cut_off") else "stop"))
    # What takes over says the opposite of what is right.
    fallback = _Always(
        [Segment(0, len(turns))] if not entry["right"] else [Segment(n, n + 1) for n in range(len(turns))]
    )
    return float(ZeroShotSegmenter(model, fallback=fallback).joins(turns[:-1], turns[-1]) is entry["right"])


class _Always:
    def __init__(self, segments: list[Segment]) -> None:
        self._segments = segments

    def segment(self, turns: Any) -> list[Segment]:
        return self._segments


def _read(entry: Entry, read: Callable[[str], Any]) -> Any:
    """What is read of the reply, sent twice if it is asked for twice."""
    answer = Answer(entry["reply"], finish_reason="length" if entry.get("cut_off") else "stop")
    (found,) = run(all_asked_twice([lambda *, complaint: Prompt("?")], [read]), ScriptedModel(answer))
    return found


def timeline(talk: Talk) -> Timeline:
    """A timeline of two facts of the talk."""
    day = datetime(2025, 5, 1, tzinfo=timezone.utc)
    events = tuple(Event(number, text, day, "s", ("t",)) for number, (text, _) in enumerate(talk.facts[:2]))
    return Timeline(events, (Relation(talk.relation),))


_READERS: dict[str, Callable[[str], Any]] = {
    "relation": lambda reply: getattr(read_relation(reply), "value", "None"),
    "reflect": lambda reply: read_reflection(reply, 2).item,
    "rewrite": read_question,
}
_CHOSEN = ("segment", "join", "relation")
"""The prompts whose answer is right or not; another may say the right thing in other words."""
_MEASURES: dict[str, Callable[[Entry, Talk], float]] = {
    "segment": _segments,
    "events": partial(_records, ask=extract_events),
    "topics": partial(_records, ask=extract_notes),
    "summary": _sentences,
    "refine": _notes,
    "topic-update": _updates,
    "join": _joins,
}


def measured(entries: list[Entry], by: Callable[[Entry], str]) -> dict[str, dict[str, float]]:
    """Replies and the means of what is kept of them and, where they were sent, of what is right; by prompt or kind."""
    found: defaultdict[str, list[Entry]] = defaultdict(list)
    for entry in entries:
        found[by(entry)].append(entry)
    figures: dict[str, dict[str, float]] = {}
    for name, each in found.items():
        figures[name] = {"replies": len(each), "kept": round(fmean(map(kept, each)), 4)}
        if all("said" in entry and entry["prompt"] in _CHOSEN for entry in each):
            figures[name]["right"] = round(fmean(map(kept_right, each)), 4)
    return figures


# -- the corpus, and replies really sent -------------------------------------------------------------------------------


def entries_of(*paths: Path) -> list[Entry]:
    """The entries of files, a JSON line each."""
    return [json.loads(line) for path in paths for line in path.read_text("utf-8").splitlines() if line]


def questions() -> Iterator[tuple[str, Talk, Prompt, Any]]:
    """Every prompt about every talk: purpose, talk, prompt and right answer."""
    for talk in TALKS:
        turns = turns_of(talk)
        segmenter = ZeroShotSegmenter(ScriptedModel(""), fallback=LexicalSegmenter())
        facts = [[text, list(numbers)] for text, numbers in talk.facts]
        right = {
            "segment": [list(each) for each in talk.segments],
            "events": facts,
            "topics": facts,
            "topic-update": {"1": talk.merged},
            "relation": talk.relation,
            "join": talk.segments[-1][0] < len(turns) - 1,
            "refine": talk.notes,
            "reflect": talk.rule,
            "rewrite": talk.question,
            "summary": list(talk.memory),
        }
        texts = [text for text, _ in talk.facts]
        said = "\n".join(turn.text for turn in turns)
        wrong = [Segment(0, len(turns))]
        marked = [Segment(start, end + 1) for start, end in talk.segments]
        asked = [
            next(segmenter.procedure(turns)),
            next(segmenter.join_procedure(turns[:-1], turns[-1])),
            *next(extract_events(turns, [])),
            *next(extract_notes(turns, [])),
            update_prompt(texts[:3], texts[1], speaker=talk.speaker),
            relation_prompt(texts[0], texts[1], dialogue_a=said, dialogue_b=said),
            refinement_prompt(timeline(talk), talk.question),
            reflection_prompt([HardExample(turns, wrong, marked)]),
            rewriting_prompt(list(turns[-2].messages), talk.turns[-1][0]),
            summary_prompt(said, ""),
        ]
        for prompt in asked:
            if isinstance(prompt, Prompt):
                yield prompt.purpose, talk, prompt, right[prompt.purpose]


def record(base_url: str, name: str, samples: int, parallel: int = 1) -> Path:
    """Ask a model at an endpoint all questions, and write down what it sends; what is written is not asked again."""
    from secom_core.models import OpenAIModel

    path = HERE / "benchmarks" / "results" / f"replies_{re.sub(r'[^a-z0-9]+', '_', name.lower())}.jsonl"
    known = {entry["key"] for entry in entries_of(path)} if path.exists() else set()
    writing = Lock()

    def ask(sample: int, model: OpenAIModel, question: tuple[str, Talk, Prompt, Any]) -> None:
        purpose, talk, prompt, right = question
        key = blake2b(json.dumps([name, sample, prompt.system, prompt.text]).encode(), digest_size=16).hexdigest()
        if key in known:
            return
        try:
            reply = model.complete(prompt)
        except ModelError as error:
            print(f"{purpose} {talk.name}: {error}", file=sys.stderr)
            return
        kind = "sent, held to a schema" if sample % 2 and prompt.schema else "sent"
        entry = {"prompt": purpose, "kind": kind, "talk": talk.name, "reply": str(reply), "right": right}
        entry |= {"cut_off": True} if getattr(reply, "cut_off", False) else {}
        with writing, path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry | {"model": name, "key": key}, ensure_ascii=False) + "\n")
            print(f"{purpose} {talk.name} {sample}: {len(reply)} characters", flush=True)

    with ThreadPoolExecutor(parallel) as threads:
        for sample in range(samples):
            options = {"seed": sample, "temperature": 0.0 if sample == 0 else 0.8, "max_tokens": _MOST}
            model = OpenAIModel(name, base_url=base_url, timeout=600, options=options, hold_to_schema=sample % 2 == 1)
            # Prompts that begin alike come one after another, as servers keep what they have read of the last ones.
            [*threads.map(partial(ask, sample, model), sorted(questions(), key=lambda question: question[0]))]
    return path


# -- before and after --------------------------------------------------------------------------------------------------


def run_in(folder: Path, options: argparse.Namespace) -> dict[str, dict[str, float]]:
    """The figures of the checkout in ``folder``, by this module."""
    files = [str(path.resolve()) for path in (CORPUS, *options.recorded)]
    kinds = ["--kinds"] if options.kinds else []
    command = [sys.executable, "-c", _WORKER, str(HERE), "--recorded", *files, *kinds]
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    done = subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{folder}: {done.stderr[-2000:]}")
    found: dict[str, dict[str, float]] = json.loads(done.stdout.splitlines()[-1])
    return found


_WORKER = """
import sys
here = sys.argv.pop(1)
import secom_core
sys.argv.append("--worker")
import benchmarks
benchmarks.__path__.append(here + "/benchmarks")
from benchmarks.replies import main
main()
"""


def _by(options: argparse.Namespace) -> Callable[[Entry], str]:
    def name(entry: Entry) -> str:
        model = f" ({entry['model']})" if "model" in entry else ""
        return f"{entry['prompt']}{model}" + (f": {entry['kind']}" if options.kinds else "")

    return name


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", type=Path)
    parser.add_argument("--recorded", type=Path, nargs="*", default=[])
    parser.add_argument("--kinds", action="store_true", help="a line for each kind of damage")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--record", metavar="BASE_URL")
    parser.add_argument("--model", default="local")
    parser.add_argument("--samples", type=int, default=3)
    parser.add_argument("--parallel", type=int, default=1, help="questions asked at a time")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.record:
        print(record(options.record, options.model, options.samples, options.parallel))
        return
    if options.worker:
        print(json.dumps(measured(entries_of(*options.recorded), _by(options))))
        return
    folders = {"before": options.before.resolve()} if options.before else {}
    found = {name: run_in(folder, options) for name, folder in {**folders, "after": HERE}.items()}
    results: dict[str, dict[str, float]] = {}
    print(f"{'':<52}{'replies':>8}" + "".join(f"{name:>9}" for name in found) + f"{'right':>9}")
    for name, row in found["after"].items():
        results[name] = {"replies": row["replies"]} | {which: each[name]["kept"] for which, each in found.items()}
        results[name] |= {"right": row["right"]} if "right" in row else {}
        kept_figures = [each[name]["kept"] for each in found.values()] + [row[key] for key in ("right",) if key in row]
        print(f"{name:<52}{row['replies']:>8.0f}" + "".join(f"{each:>9.3f}" for each in kept_figures))
    if options.json:
        parts = {"kept": {}, "sent": {}, "versions": versions()}
        for name, row in results.items():
            parts["sent" if "(" in name else "kept"][name] = row
        options.json.write_text(json.dumps(parts, indent=2) + "\n")


if __name__ == "__main__":
    main()
