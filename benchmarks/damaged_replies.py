"""Replies as language models send them, damaged and odd, to every prompt: made by stated kinds of damage.

``python -m benchmarks.damaged_replies > tests/fixtures/replies.jsonl`` writes the corpus anew, always the same: a JSON
object a line with ``prompt`` (its purpose), ``kind`` (of damage), ``talk`` (what was asked about, in
`benchmarks.reply_talks`), ``reply``, ``right`` (what a reader who understands the reply takes from it) and, where the
model was stopped at its limit, ``cut_off``.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from benchmarks.reply_talks import TALKS, Talk

Rows = list[dict[str, Any]]
Written = str | tuple[str, bool]
"""A reply, and whether it was cut off."""


def lines(rows: Rows) -> str:
    return "\n".join(json.dumps(row, ensure_ascii=False) for row in rows)


def tagged(tag: str, body: str) -> str:
    return f"<{tag}>\n{body}\n</{tag}>"


def renamed(rows: Rows, names: Mapping[str, str]) -> Rows:
    return [{names.get(key, key): value for key, value in row.items()} for row in rows]


def camel(key: str) -> str:
    first, *others = key.split("_")
    return first + "".join(map(str.title, others))


def single_quoted(text: str) -> str:
    return text.replace('"', "'")


def typographic(text: str) -> str:
    parts = text.split('"')
    return "".join(part + ("“”"[place % 2] if place < len(parts) - 1 else "") for place, part in enumerate(parts))


def without_quoted_names(rows: Rows) -> str:
    return "\n".join(
        "{" + ", ".join(f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in row.items()) + "}"
        for row in rows
    )


# -- what may happen to any records ------------------------------------------------------------------------------------


def forms(tag: str, rows: Rows, example: Rows) -> Iterator[tuple[str, Written]]:
    """The records as they may be written, framed or cut off: every reply means ``rows``."""
    good = lines(rows)
    as_list = "[" + good.replace("\n", ",\n") + "]"
    broken = good.replace("}\n", "\n", 1)
    yield "as asked", tagged(tag, good)
    yield "a code fence around", f"```json\n{tagged(tag, good)}\n```"
    yield "a code fence inside", tagged(tag, f"```jsonl\n{good}\n```")
    yield "a code fence without tags", f"```json\n{as_list}\n```"
    yield "thoughts before", f"<think>Perhaps {lines(example)}? No.</think>\n{tagged(tag, good)}"
    yield "thoughts without an opening tag", f"Perhaps {lines(example)}? No.</think>\n{tagged(tag, good)}"
    yield "prose around", f"Sure! Here is what you asked for:\n\n{as_list}\n\nLet me know if {{this}} helps."
    yield "the example first", f"{tagged(tag, lines(example))}\n\n{tagged(tag, good)}"
    yield (
        "two fences, the second corrected",
        (f"```json\n{lines(rows[:1])}\n```\nThat is not all of it. Again:\n```json\n{as_list}\n```"),
    )
    yield "a list", as_list
    yield "an object around the list", json.dumps({tag: rows}, ensure_ascii=False, indent=2)
    yield "two objects around the list", json.dumps({"result": {"items": rows}}, ensure_ascii=False)
    yield "an object of objects", json.dumps({f"{tag}_{n}": row for n, row in enumerate(rows)}, ensure_ascii=False)
    yield "JSON inside a string", json.dumps({"answer": json.dumps(rows)})
    yield "camel case", lines(renamed(rows, {key: camel(key) for key in rows[0]}))
    yield (
        "names with capitals and blanks",
        lines(renamed(rows, {key: key.replace("_", " ").title() for key in rows[0]})),
    )
    yield "single quotes", tagged(tag, single_quoted(good))
    yield "typographic quotes", tagged(tag, typographic(good))
    yield "names without quotes", tagged(tag, without_quoted_names(rows))
    yield "trailing commas", tagged(tag, "[" + good.replace("}", ", },") + "]")
    yield "comments", tagged(tag, good.replace("}", "} // as said above"))
    yield "Python's constants", tagged(tag, good.replace("}", ', "certain": True, "note": None}'))
    yield "no comma between two keys", tagged(tag, good.replace(', "', '\n"', 1))
    yield "a brace missing", tagged(tag, broken)
    yield "the list left open", '{"' + tag + '": [' + good.replace("\n", ", ")
    yield "a line of dots", tagged(tag, f"{good}\n...")
    yield "Windows lines and a byte order mark", "\ufeff" + tagged(tag, good).replace("\n", "\r\n")
    yield "cut off in the last record", (f"<{tag}>\n{good[: good.rindex(',') - 2]}", True)
    yield "cut off half way", (f"<{tag}>\n{good[: len(good) // 2]}", True)
    yield "the last record over and over, cut off", (f"<{tag}>\n{good}\n{lines(rows[-1:] * 30)}"[:-20], True)
    yield "cut off at once", (f"<{tag}>\n{good[:12]}", True)
    yield "cut off in the prose behind", (f"{tagged(tag, good)}\nI have divided it by what", True)


# -- segments ----------------------------------------------------------------------------------------------------------


def segment_rows(talk: Talk, first: int = 0, beyond: int = 0) -> Rows:
    return [
        {
            "segment_id": place,
            "start_exchange_number": start + first,
            "end_exchange_number": end + first + beyond,
            "num_exchanges": end - start + 1,
        }
        for place, (start, end) in enumerate(talk.segments)
    ]


def changed(rows: Rows, place: int, **values: Any) -> Rows:
    return [row | values if number == place % len(rows) else row for number, row in enumerate(rows)]


def segment_replies(talk: Talk) -> Iterator[tuple[str, Written]]:
    rows = segment_rows(talk)
    example = [{"segment_id": 0, "start_exchange_number": 0, "end_exchange_number": 2, "num_exchanges": 3}]
    tag, last = "segmentation", len(talk.turns) - 1
    pairs = [(row["start_exchange_number"], row["end_exchange_number"]) for row in rows]
    yield from forms(tag, rows, example)
    yield "short names", lines([{"start": start, "end": end} for start, end in pairs])
    yield "other names", lines([{"id": n, "first_turn": a, "last_turn": b} for n, (a, b) in enumerate(pairs, 1)])
    yield "misspelled names", lines(renamed(rows, {"start_exchange_number": "strat_exchange_number"}))
    yield "numbers as strings", tagged(tag, lines([{key: str(value) for key, value in row.items()} for row in rows]))
    yield "numbers as floats", tagged(tag, lines([{key: float(value) for key, value in row.items()} for row in rows]))
    yield "exchanges by name", lines([{"start": f"Exchange {a}", "end": f"Exchange {b}"} for a, b in pairs])
    yield "counted from 1", tagged(tag, lines(segment_rows(talk, first=1)))
    yield "half-open", tagged(tag, lines(segment_rows(talk, beyond=1)))
    yield "one shared edge", tagged(tag, lines(changed(rows, 0, end_exchange_number=pairs[1][0])))
    yield "the last end one too far", tagged(tag, lines(changed(rows, -1, end_exchange_number=last + 1)))
    yield "wrong counts", tagged(tag, lines([row | {"num_exchanges": 2 * row["num_exchanges"] + 3} for row in rows]))
    yield "counts in words", tagged(tag, lines([row | {"num_exchanges": "a few"} for row in rows]))
    yield "starts alone", lines([{"segment": n, "start_exchange": a} for n, (a, _) in enumerate(pairs)])
    yield "ends alone", lines([{"segment": n, "end_exchange": b} for n, (_, b) in enumerate(pairs)])
    yield (
        "ranges in words",
        json.dumps([{"topic": f"subject {n}", "range": f"{a}-{b}"} for n, (a, b) in enumerate(pairs)]),
    )
    yield "lists of exchanges", json.dumps({"segments": [{"exchanges": [*range(a, b + 1)]} for a, b in pairs]})
    yield "plain lines", "\n".join(f"Segment {n}: exchanges {a}-{b}" for n, (a, b) in enumerate(pairs, 1))
    yield "a table", "\n".join(f"| {n} | {a} | {b} | {b - a + 1} |" for n, (a, b) in enumerate(pairs))
    yield (
        "bullets with titles",
        "\n".join(f"- **Subject {n}** (Exchanges {a}–{b})" for n, (a, b) in enumerate(pairs, 1)),
    )
    yield "named by subject", json.dumps({f"subject {'abcdef'[n]}": [a, b] for n, (a, b) in enumerate(pairs)})
    yield (
        "segments behind the end",
        tagged(
            tag,
            lines([*rows, *({"start_exchange_number": last + n, "end_exchange_number": last + n} for n in (1, 2, 3))]),
        ),
    )
    yield "an overlap of two", tagged(tag, lines(changed(rows, 0, end_exchange_number=pairs[1][0] + 1)))
    yield "a draft before it", f"{lines([{'start': 0, 'end': last}])}\nToo coarse, better:\n{lines(rows)}"
    yield "backwards", tagged(tag, lines(rows[::-1]))
    yield "one exchange in no segment", tagged(tag, lines(changed(rows, -1, start_exchange_number=pairs[-1][0] + 1)))
    yield "the last segment missing", tagged(tag, lines(rows[:-1]))
    yield "a refusal", "I'm sorry, but I can't help with dividing this conversation."


# -- events and topics -------------------------------------------------------------------------------------------------


def record_replies(
    talk: Talk, tag: str, text: str, numbers: str, other: tuple[str, str]
) -> Iterator[tuple[str, Written]]:
    rows = [{text: said, numbers: list(resting)} for said, resting in talk.facts]
    example = [{text: "Ann repairs old clocks.", numbers: [0]}]
    yield from forms(tag, rows, example)
    yield "other names", lines(renamed(rows, {text: other[0], numbers: other[1]}))
    yield "numbers as strings", lines([row | {numbers: [str(each) for each in row[numbers]]} for row in rows])
    yield "numbers in one string", lines([row | {numbers: ", ".join(map(str, row[numbers]))} for row in rows])
    yield "exchanges by name", lines([row | {numbers: [f"Exchange {each}" for each in row[numbers]]} for row in rows])
    yield (
        "counted from 1",
        lines([row | {numbers: [each + 1 for each in row[numbers]]} for row in talk_to_end(talk, rows, numbers)]),
    )
    yield (
        "a number where a list was asked for",
        lines([row | {numbers: row[numbers][0]} for row in single(rows, numbers)]),
    )
    yield "a quotation mark in a text", tagged(tag, lines(rows).replace(" the ", ' "the" ', 1))
    yield (
        "bullets in words",
        "Here they are:\n"
        + "\n".join(f"- {row[text]} (exchanges {', '.join(map(str, row[numbers]))})" for row in rows),
    )
    yield (
        "a table",
        "| text | exchanges |\n|---|---|\n"
        + "\n".join(f"| {row[text]} | {', '.join(map(str, row[numbers]))} |" for row in rows),
    )
    yield "named by their texts", json.dumps({row[text]: row[numbers] for row in rows})
    yield (
        "two lists side by side",
        json.dumps({text: [row[text] for row in rows], numbers: [row[numbers] for row in rows]}),
    )
    yield "one without numbers", tagged(tag, lines([*rows, {text: "They had a good time."}]))
    yield "one about an exchange that is not there", tagged(tag, lines([*rows, {text: "They left.", numbers: [99]}]))
    yield "one that is broken", tagged(tag, lines(rows[:1]) + '\n{"' + text + '": broken", [}\n' + lines(rows[1:]))
    yield "one that is a list of names", tagged(tag, lines([*rows, {text: ["Ann", "Bob"], numbers: [0]}]))
    yield "a refusal", "I'm sorry, but I can't help with that."


def talk_to_end(talk: Talk, rows: Rows, numbers: str) -> Rows:
    """The rows, the last of which rests on the last exchange too, so that counting from 1 shows."""
    return changed(rows, -1, **{numbers: sorted({*rows[-1][numbers], len(talk.turns) - 1})})


def single(rows: Rows, numbers: str) -> Rows:
    return [row for row in rows if len(row[numbers]) == 1]


# -- the other prompts -------------------------------------------------------------------------------------------------


def update_replies(number: int, text: str) -> Iterator[tuple[str, Written]]:
    merge = f"Merge({number}, {text})"
    yield "as asked", merge
    yield "a code fence", f"```\n{merge}\n```"
    yield "thoughts before", f"<think>Add()? Both are about the same.</think>\n{merge}"
    yield "prose around", f"Both are about the same side of life.\n\n{merge}\n\nThe other notes stay."
    yield "quoted", f'Merge({number}, "{text}")'
    yield "named arguments", f'merge(index={number}, merged_summary="{text}")'
    yield "a bullet", f"- {merge}"
    yield "JSON", json.dumps({"action": "Merge", "number": number, "text": text})
    yield "a list of JSON", json.dumps({"actions": [{"action": "merge", "index": number, "summary": text}]})
    yield "one more that is not there", f"{merge}\nMerge(9, Something else altogether)"
    yield "cut off in a second one", (f"{merge}\nMerge({number}, And then there was", True)
    yield "a refusal", "They have little in common."


def relation_replies(name: str) -> Iterator[tuple[str, Written]]:
    why = "Explanation: the first is what the second came from."
    yield "as asked", f"{why}\nRelation: {name}"
    yield "bold", f"**Explanation:** so it is.\n**Relation:** **{name}**"
    yield "JSON on one line", json.dumps({"explanation": "So it is.", "relation": name})
    yield (
        "JSON in a fence",
        "```json\n" + json.dumps({"explanation": "So it is.", "relation": name}, indent=2) + "\n```",
    )
    yield "in a sentence", f"The relation between A and B is {name}."
    yield "by itself at the end", f"{why}\n\n{name}"
    yield "lower case", f"{why}\nrelation: {name.lower()}"
    yield "thoughts before", f"<think>Relation: None?</think>\n{why}\nRelation: {name}"
    yield "a reason behind it", f"{why}\nRelation: {name} (since it follows)"
    yield "cut off behind it", (f"{why}\nRelation: {name}\nThis is because", True)
    yield "cut off before it", ("Explanation: the first event tells of a plan which", True)


def joining_replies(joins: bool) -> Iterator[tuple[str, Written]]:
    word = "yes" if joins else "no"
    yield "as asked", word
    yield "a sentence", f"{word.title()}, the new exchange {'goes on with' if joins else 'leaves'} the topic."
    yield "bold", f"**{word.title()}**"
    yield "JSON", json.dumps({"answer": word})
    yield "at the end", f"The answer is {word}."
    yield "thoughts before", f"<think>yes or no? no, yes</think>{word}"
    yield "cut off behind it", (f"{word.title()}, as the new exchange still speaks of no", True)


def refinement_replies(text: str) -> Iterator[tuple[str, Written]]:
    yield "as asked", tagged("notes", text)
    yield "no tags", text
    yield "announced", f"Here is the paragraph:\n\n{text}"
    yield "a code fence", f"```text\n{text}\n```"
    yield "JSON", json.dumps({"notes": text}, ensure_ascii=False)
    yield "thoughts before", f"<think>What matters?</think>\n{tagged('notes', text)}"
    yield "cut off in the last sentence", (f"<notes>\n{text} After that she", True)
    yield "cut off behind it", (f"{tagged('notes', text)}\nI hope that", True)


def reflection_replies(rule: str) -> Iterator[tuple[str, Written]]:
    told = (
        f"<reflection>\nIt cut too often.\n</reflection>\n<rubric>\n- {rule}\n</rubric>\n<example>\nConversation 1: it"
    )
    yield "as asked", f"{told} shows it.\n</example>"
    yield (
        "headings",
        f"## Reflection\nIt cut too often.\n\n## Rubric\n- {rule}\n\n## Example\nConversation 1: it shows it.",
    )
    yield "JSON", json.dumps({"reflection": "It cut too often.", "rubric": rule, "example": "Conversation 1"})
    yield "JSON with a list", json.dumps({"reflection": "It cut too often.", "rubric": [rule]})
    yield "a code fence", f"```xml\n{told} shows it.\n</example>\n```"
    yield "cut off behind it", (told, True)
    yield "cut off in the rule", (told[: told.index(rule) + 20], True)


def question_replies(question: str) -> Iterator[tuple[str, Written]]:
    yield "as asked", tagged("question", question)
    yield "no tags", question
    yield "a label", f"Standalone question: {question}"
    yield "a label and a reason", f"Question: {question}\n\nThe name was said before."
    yield "JSON", json.dumps({"question": question})
    yield "a code fence", f"```\n<question>{question}</question>\n```"
    yield "cut off behind it", (f"<question>{question}</question>\nThis names", True)
    yield "cut off in it", (f"<question>{question[:-12]}", True)


def summary_replies(sentences: Sequence[str]) -> Iterator[tuple[str, Written]]:
    body = "\n".join(sentences)
    yield "as asked", tagged("memory", body)
    yield "bullets", tagged("memory", "\n".join(f"- {each}" for each in sentences))
    yield "numbers", tagged("memory", "\n".join(f"{n}. {each}" for n, each in enumerate(sentences, 1)))
    yield "thoughts before", f"<think>What is new?</think>\n{tagged('memory', body)}"
    yield "a code fence around", f"```\n{tagged('memory', body)}\n```"
    yield "the old memory first", f"{tagged('memory', 'none')}\n{tagged('memory', body)}"
    yield "no closing tag", f"<memory>\n{body}"
    yield "other tags", tagged("updated_memory", body)


# -- the corpus --------------------------------------------------------------------------------------------------------


def replies_to(talk: Talk) -> Iterator[tuple[str, str, Written, Any]]:
    """Prompt, kind of damage, reply and right answer, of one talk."""
    facts = [[text, list(numbers)] for text, numbers in talk.facts]
    for kind, written in segment_replies(talk):
        yield "segment", kind, written, [list(each) for each in talk.segments]
    for prompt, names in (
        ("events", ("events", "event", "exchanges")),
        ("topics", ("extracted_memories", "summary", "reference")),
    ):
        other = ("fact", "sources") if prompt == "events" else ("memory", "turnIds")
        for kind, written in record_replies(talk, *names, other):
            yield prompt, kind, written, _facts_of(talk, facts, kind)
    others: list[tuple[str, Iterator[tuple[str, Written]], Any]] = [
        ("topic-update", update_replies(1, talk.merged), {"1": talk.merged}),
        ("relation", relation_replies(talk.relation), talk.relation),
        ("join", joining_replies(talk.joins), talk.joins),
        ("refine", refinement_replies(talk.notes), talk.notes),
        ("reflect", reflection_replies(talk.rule), talk.rule),
        ("rewrite", question_replies(talk.question), talk.question),
        ("summary", summary_replies(talk.memory), list(talk.memory)),
    ]
    for prompt, replies, right in others:
        for kind, written in replies:
            yield prompt, kind, written, right


def _facts_of(talk: Talk, facts: list[list[Any]], kind: str) -> list[list[Any]]:
    """What a reply says, where its kind of damage changes the records themselves."""
    if kind == "counted from 1":
        text, numbers = facts[-1]
        return [*facts[:-1], [text, sorted({*numbers, len(talk.turns) - 1})]]
    if kind == "a number where a list was asked for":
        return [fact for fact in facts if len(fact[1]) == 1]
    if kind == "a quotation mark in a text":
        first = next(place for place, (text, _) in enumerate(facts) if " the " in text)
        quoted = [facts[first][0].replace(" the ", ' "the" ', 1), facts[first][1]]
        return [*facts[:first], quoted, *facts[first + 1 :]]
    return facts


def corpus() -> Iterator[dict[str, Any]]:
    """Every kind of damage once a prompt, and for two talks each, in turn, so that all talks take part."""
    seen: dict[tuple[str, str], int] = {}
    kinds: dict[tuple[str, str], int] = {}
    for place, talk in enumerate(TALKS):
        for prompt, kind, written, right in replies_to(talk):
            number = kinds.setdefault((prompt, kind), len(kinds))
            if (number + place) % len(TALKS) >= 2 or seen.get((prompt, kind), 0) == 2:
                continue
            seen[prompt, kind] = seen.get((prompt, kind), 0) + 1
            reply, cut_off = written if isinstance(written, tuple) else (written, False)
            entry = {"prompt": prompt, "kind": kind, "talk": talk.name, "reply": reply, "right": right}
            yield entry | ({"cut_off": True} if cut_off else {})


def main() -> None:
    sys.stdout.writelines(json.dumps(entry, ensure_ascii=False) + "\n" for entry in corpus())


if __name__ == "__main__":
    main()
