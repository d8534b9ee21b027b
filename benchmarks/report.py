"""Fills ``benchmarks/README.md`` from the results in ``benchmarks/results``: run it after a benchmark.

``python -m benchmarks.report [--check]``
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.agents import ratio
from benchmarks.soak import growth

HERE = Path(__file__).parent
README = HERE / "README.md"
BUDGETS = ("500", "1000", "2000", "4000")
CATEGORIES = {"1": "multi-hop", "2": "temporal", "3": "open-domain", "4": "single-hop"}
# From the papers' tables: SeCom, Table 4; Def-DTS is reported there with gpt-4o.
PAPERS = {
    "GPT-4 with a rubric learned by reflection (paper)": (0.936, 0.651),
    "GPT-4 zero-shot (paper)": (0.895, 0.607),
    "best without labels or language model (paper)": (0.660, 0.509),
}


def result(name: str) -> dict[str, Any]:
    read: dict[str, Any] = json.loads((HERE / "results" / f"{name}.json").read_text(encoding="utf-8"))
    return read


def grid(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(_cell(each) for each in line) + " |" for line in lines)


def _cell(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.3f}" if value < 10 else f"{value:,.0f}" if value >= 100 else f"{value:.1f}"
    return str(value)


def by_budget(table: Mapping[str, float]) -> list[float]:
    return [table[budget] for budget in BUDGETS]


def retrieval() -> str:
    rows: list[list[object]] = []
    for title, name in (
        ("no embedder", "retrieval_none_heldout"),
        ("static", "retrieval_static_heldout"),
        ("all-MiniLM-L6-v2", "retrieval_minilm_heldout"),
    ):
        found = result(name)
        rows.append([f"**{title}**", *by_budget(found["recall"])])
        rows.append(["all of the evidence (strict)", *by_budget(found["strict"])])
        rows.append(["DCG", *by_budget(found["dcg"])])
        rows += [[kind, *by_budget(values)] for kind, values in found["by_category"].items()]
    return grid(["evidence recall within a number of tokens", *BUDGETS], rows)


def peers() -> str:
    rows = [
        [
            name,
            *by_budget(row["recall"]),
            *(row["by_category"][category] for category in CATEGORIES),
        ]
        for name, row in result("peers")["results"].items()
    ]
    return grid(["", *BUDGETS, *(f"{kind} at 500" for kind in CATEGORIES.values())], rows)


def memories() -> str:
    found = result("memories")
    rows: list[list[object]] = []
    for title, results in found["results"].items():
        for name, row in results.items():
            budgets = list(row["coverage"])
            middle = budgets[len(budgets) // 2]
            whole = [row[field][middle] for field in ("recall", "dcg", "precision", "drift")]
            shown = ["" if each is None else each for each in whole]
            rows.append([title, name, *row["coverage"].values(), *shown, round(row["tokens"][middle])])
    measures = [f"{field} at {middle}" for field in ("recall", "DCG", "precision", "drift", "tokens")]
    return grid(["data", "memory", *(f"coverage at {budget}" for budget in budgets), *measures], rows)


def papers() -> str:
    return _paper_tables("papers")


def papers_model() -> str:
    return _paper_tables("papers_model")


def _paper_tables(name: str) -> str:
    rows: list[list[object]] = []
    for table in result(name)["tables"]:
        vectors = {"none": "no vectors", "static": "static vectors"}.get(
            table["settings"]["embedder"], table["settings"]["embedder"]
        )
        for label, row in table["rows"].items():
            known = {name: each for name, each in row["figures"].items() if each is not None}
            figures = {name: each for name, each in known.items() if not name.endswith("±")}
            asked = next(int(figures.pop(name)) for name in ("questions", "dialogues", "cases") if name in figures)
            halves = {name: row["figures"].get(f"{name} ±") for name in figures}
            shown = ", ".join(
                f"{name} {value:.3f}" + (f" ± {halves[name]:.3f}" if halves[name] is not None else "")
                for name, value in figures.items()
            )
            rows.append([f"`{table['table']}`, {table['data']}, {vectors}", label, shown, asked])
    return grid(["table", "row", "figures", "questions or dialogues"], rows)


def chats() -> str:
    rows: list[list[object]] = []
    sets = (("BEAM, ten chats", "beam"), ("ours, nine chats", "own"), ("asked of replies, four chats", "asked"))
    for title, name in sets:
        for kind, label in (("none", "no embedder"), ("static", "static"), ("minilm", "all-MiniLM-L6-v2")):
            for weights, file in (("", f"chats_{name}_{kind}"), (", folds", f"chats_{name}_{kind}_heldout")):
                if not (HERE / "results" / f"{file}.json").is_file():
                    continue
                for system, found in result(file)["results"].items():
                    shown = f"**{system}**{weights}" if system == "ours" else system
                    empty = sum(found["empty"].values())
                    rows.append([f"{title}, {label}", shown, *by_budget(found["coverage"]), empty])
    return grid(["chats", "", *BUDGETS, "empty blocks"], rows)


def reranking() -> str:
    rows = [
        [
            f"{'LoCoMo, two conversations' if title == 'LoCoMo' else 'BEAM, seven chats'}",
            name,
            *by_budget(found["evidence"]),
            round(found["rerank_texts"]),
            round(found["rerank_tokens"]),
        ]
        for title, measured in result("reranking")["results"].items()
        for name, found in measured["rerankers"].items()
    ]
    return grid(["evidence within a number of tokens", "reranker", *BUDGETS, "texts judged", "tokens judged"], rows)


def calibration() -> str:
    rows: list[list[object]] = []
    for kind, label in (("none", "no embedder"), ("static", "static")):
        found = result(f"calibration_{kind}")
        errors = [found["calibration_error"][shape][which] for shape in ("talk", "chats") for which in ("all", "first")]
        rows.append([label, *errors, *found["confidence_area"]["confidence"].values()])
    areas = result("calibration_none")["confidence_area"]["confidence"]
    return grid(["", "LoCoMo", "its best hits", "chats", "their best hits", *(f"area, {name}" for name in areas)], rows)


def before_after() -> str:
    found = result("before_after")["milliseconds"]
    return grid(
        ["milliseconds", "before", "after", "after / before"],
        [[name, each["before"], each["after"], f"{each['ratio']:.2f}"] for name, each in found.items()],
    )


def denoising() -> str:
    rows = []
    for name in ("denoising_none", "denoising_minilm"):
        for ranking, by_keys in result(name)["results"].items():
            label = f"{ranking}, {'no embedder' if name.endswith('none') else 'MiniLM'}"
            rows += [[label, keys, *by_budget(found["recall"])] for keys, found in by_keys.items()]
    return grid(["ranking", "keys", *BUDGETS], rows)


def segmentation() -> str:
    files = {
        "DialSeg711 dev": "dialseg711_dev",
        "its odd rows": "dialseg711_dev_odd",
        "TIAGE dev": "tiage_dev",
        "Chinese calls": "zys_zh_dev",
    }
    found = {
        (title, kind): result(f"segmentation_{name}_{kind}")["segmenters"]
        for title, name in files.items()
        for kind in ("none", "minilm")
    }
    rows: list[list[object]] = []
    for kind, label in (("none", "no embedder"), ("minilm", "MiniLM")):
        rows += [
            [f"`{name}`, {label}", *(found[title, kind][name]["Score"] for title in files)]
            for name in found["TIAGE dev", kind]
            if kind == "none" or name not in found["TIAGE dev", "none"] or name.startswith("adaptive")
        ]
    history = result("adaptive_tiage_dev_history_minilm")["Score"]
    rows.append(["`adaptive`, MiniLM, TIAGE train without labels as history too", "", "", history, ""])
    rows += [[name, dialseg, "", tiage, ""] for name, (dialseg, tiage) in PAPERS.items()]
    return grid(["Score", *files], rows)


def labels() -> str:
    rows = []
    for title, name in (("DialSeg711 dev, the rest", "dialseg711_dev"), ("TIAGE dev, from TIAGE train", "tiage_dev")):
        for kind, label in (("minilm", "MiniLM"), ("none", "no embedder")):
            curve = {each["labels"]: each for each in result(f"label_curve_{name}_{kind}")["curve"]}
            cells = [_deviating(curve[count]) if count in curve else "" for count in (10, 20, 50, 100, 300)]
            rows.append([f"{title}, {label}", *cells])
    return grid(["Score by the number of labelled dialogues", "10", "20", "50", "100", "300"], rows)


def _deviating(each: Mapping[str, float]) -> str:
    deviation = each["Score_deviation"]
    return f"{each['Score']:.3f} ± {deviation:.3f}" if deviation else f"{each['Score']:.3f}"


def segmentation_speed() -> str:
    found = result("segmentation_speed")
    sizes = list(found["milliseconds_for_one_new_turn"])
    rows = [
        [name, speed, *(found["milliseconds_for_one_new_turn"][size].get(name, "") for size in sizes)]
        for name, speed in found["turns_per_processor_second"].items()
    ]
    return grid(["", "turns per processor second", *(f"ms for a new turn at {size}" for size in sizes)], rows)


def latency() -> str:
    rows = [
        [f"{size} turns", name, row["p50"], row["p95"]]
        for size, table in result("latency")["milliseconds"].items()
        for name, row in table.items()
    ]
    return grid(["scope", "", "p50 ms", "p95 ms"], rows)


def agents() -> str:
    parts = ("turn", "added", "recall", "write")
    found = result("agents")
    rows = [
        [f"{framework}, {size}", name, *_parts(row, parts), *_prompt(row), _times(ratio(name, memories))]
        for size, frameworks in found["milliseconds"].items()
        for framework, memories in frameworks.items()
        for name, row in memories.items()
    ]
    heads = (f"{part}: p50, p95 ms" for part in parts)
    users = found["users"]
    at_once = [
        [framework, delay, *(f"{row[name]:.1f}" for name in ("no memory", "ours")), f"{row['times']:.1f}"]
        for framework, delays in users.items()
        if isinstance(delays, dict)
        for delay, row in delays.items()
    ]
    of_users = [f"{users['users']} users, {users['turns']} turns each", "the model takes, s", "no memory, s", "ours, s"]
    return (
        grid(["turns remembered", "memory", *heads, "cached", "tokens", "recall and write, relative to ours"], rows)
        + "\n\n"
        + grid([*of_users, "times"], at_once)
    )


def _prompt(row: Mapping[str, Any]) -> list[str]:
    return [f"{row['cached']:.0%}", f"{row['tokens']:,.0f}"] if "cached" in row else ["", ""]


def live_cost() -> str:
    found = result("live_cost")
    rows = []
    for name, after in found["after"].items():
        for when, row in (("before", found["before"][name]), ("after", after)):
            each = row["a turn"]
            made = ", ".join(f"{count} {kind}" for kind, count in row["made"].items())
            numbers = [f"{each[part]:,.2f}" for part in ("calls", "waited", "in", "out")]
            rows.append([*name.rsplit(", ", 1), when, *numbers, made])
    heads = ["preset", "", "calls", "calls that the user waits for", "tokens in", "tokens out", "result"]
    return grid(["agent", *heads], rows)


def _load() -> str:
    load = result("agents")["load"]
    return f"{load['before']:.1f} before, {load['after']:.1f} after"


def _times(times: float | None) -> str:
    return "" if times is None else f"{times:.2f}" if times < 10 else f"{times:.0f}"


def _parts(row: Mapping[str, Any], parts: Sequence[str]) -> list[str]:
    if "left_out" in row:
        return [f"left out: it {row['left_out']}", *[""] * (len(parts) - 1)]
    return [f"{row[part]['p50']:,.1f}, {row[part]['p95']:,.1f}" if part in row else "" for part in parts]


def adding() -> str:
    columns = {
        "index": "our BM25",
        "remember": "whole `remember`, synced to disk",
        "catch_up": "reading it at the next recall",
        "rank_bm25": "rank_bm25",
        "langchain_bm25": "LangChain BM25Retriever",
    }
    rows = [[size, *(row[name] for name in columns)] for size, row in result("adding")["milliseconds"].items()]
    return grid(["ms for one turn, at a number of turns", *columns.values()], rows)


def denoising_speed() -> str:
    found = result("denoising_speed")
    rows = [[name, seconds, seconds / found["seconds"]["ours"]] for name, seconds in found["seconds"].items()]
    size = f"{found['units']} segments, XLM-RoBERTa {found['size']}, random weights, {found['device']}"
    return grid([size, "seconds", "relative to ours"], rows)


def timelines() -> str:
    found = result("timelines_recall")
    rows = [
        [f"{kind}, timelines {state}", *by_budget(found[state][kind])]
        for kind in ("all", "multi-hop")
        for state in ("off", "on")
    ]
    return grid(["evidence recall", *BUDGETS], rows)


def growth_in_turns() -> str:
    found, long = result("growth"), result("growth_million")
    measured = [*found["turns"], *({**row, "store": f"{row['store']}, one session"} for row in long["turns"])]
    rows = [
        [row["store"], f"{row['turns']:,}", _both(row["remember"]), _both(row["recall"]), *_filling(row)]
        for row in [*measured, *found["peers"]]
    ]
    exponents = {**found["turns_exponents"], **found["peers_exponents"]}
    rows += [[store, "exponent", each["remember"], each["recall"], "", "", ""] for store, each in exponents.items()]
    return grid(
        ["", "turns in a scope", *HEADS, "turns per second while filling", "first recall, s", "bytes per turn on disk"],
        [[str(cell) for cell in row] for row in rows],
    )


def _filling(row: Mapping[str, Any]) -> list[object]:
    return [row.get(name, "") for name in ("filled_per_second", "first_recall_s", "stored_bytes_a_turn")]


def clients() -> str:
    rows = [
        [
            row["store"],
            str(row["clients"]),
            str(row["processes"]),
            f"{row['turns_per_second']:.0f}",
            _both(row["remember"]),
            _both(row["recall"]),
        ]
        for row in result("growth_clients")["clients"]
    ]
    return grid(["", "clients", "processes", "turns per second", *HEADS], rows)


def scopes() -> str:
    names = ("scopes", "turns", "filled_per_second", "memory_limit_mib", "resident_mib", "stored_bytes_a_turn")
    rows = [
        [row["store"], *(f"{row[name]:,}" for name in names), _both(row["recall_drawn"]), _both(row["recall_again"])]
        for row in result("growth_scopes")["scopes"]
    ]
    heads = [name.replace("_", " ").replace("mib", "MiB") for name in names]
    times = ["recall from a random scope: p50, p95 ms", "from a scope in memory: p50, p95 ms"]
    return grid(["", *heads, *times], rows)


HEADS = ("remember: p50, p95 ms", "recall: p50, p95 ms")


def _both(row: Mapping[str, float]) -> str:
    return f"{row['p50']:,.1f}, {row['p95']:,.1f}"


def kills() -> str:
    counts = {
        "runs": "runs",
        "promises": "acknowledged",
        "lost": "lost",
        "doubled": "stored twice",
        "undead": "came back",
        "amiss": "search differs",
    }
    rows = [
        [each["suite"], each["store"], *(str(each[name]) for name in counts), str(len(each["errors"])), _crowd(each)]
        for each in result("reliability")["ours"]
    ]
    return grid(["what happens", "store", *counts.values(), "errors", "write; recall: p50, p95, longest, ms"], rows)


def _crowd(each: Mapping[str, Any]) -> str:
    return "; ".join(", ".join(f"{ms:,.0f}" for ms in row.values()) for row in each["milliseconds"].values())


def servers() -> str:
    names = {
        "workers": "workers",
        "processes": "processes",
        "requests": "requests",
        "lost": "lost",
        "doubled": "stored twice",
        "unfound": "not found",
    }
    rows = [
        [each["shape"], each["store"], *(str(each[name]) for name in names), str(len(each["errors"]))]
        for each in result("processes")["outcomes"]
    ]
    return grid(["server", "store", *names.values(), "errors"], rows)


def cold() -> str:
    names = (
        "first_recall_ms",
        "slowest_ms",
        "second_recall_ms",
        "made_anew_ms",
        "forget_ms",
        "resident_mib",
        "of_that_index_mib",
    )
    rows = [
        [f"{each['turns']:,}{', vectors' if each['vectors'] else ''}", each["store"], *(each[name] for name in names)]
        for each in result("cold")["cold"]
    ]
    head = (
        "exchanges",
        "store",
        "first recall, ms",
        "slowest",
        "second recall",
        "without the index",
        "forget, recall",
        "process, MiB",
        "index, MiB",
    )
    return grid(head, rows)


def soak() -> str:
    curves = result("soak")["curves"]
    rows = []
    for name in (each for each in curves if each != "seconds"):
        third, last = growth(curves[name])
        rows.append([name, round(curves[name][0], 1), round(max(curves[name]), 1), round(third, 1), round(last, 1)])
    return (
        grid(["", "at the start", "maximum", "third quarter", "last quarter"], rows) + "\n\n![curves](results/soak.svg)"
    )


def summaries() -> str:
    found = result("summaries")["results"]
    rows = [
        [kind, *(f"{each['kept']} of {each['facts']}" for each in pair), *(_others(each) for each in pair)]
        for kind, *pair in ((kind, found["before"][kind], found["after"][kind]) for kind in found["after"])
    ]
    return grid(["model", "kept before", "kept", "stale, unowned; calls before", "stale, unowned; calls"], rows)


def _others(row: Mapping[str, int]) -> str:
    return f"{row['stale']}, {row['without an owner']}; {row['calls']}"


def garbage() -> str:
    names = {
        "tries": "cases",
        "refused": "refused",
        "raises": "raises",
        "lost": "lost",
        "leaks": "leaks",
        "unlike": "rebuild differs",
        "unmended": "not repaired",
    }
    tables: dict[str, list[int]] = {}
    for column, each in result("garbage")["outcomes"].items():
        sums = tables.setdefault(column.partition(".")[0], [0] * (len(names) + 1))
        sums[:] = [sums[0] + 1, *(old + each[name] for old, name in zip(sums[1:], names, strict=True))]
    tables["all"] = [sum(column) for column in zip(*tables.values(), strict=True)]
    return grid(["table", "columns", *names.values()], ([name, *map(str, row)] for name, row in tables.items()))


def event_loop() -> str:
    names = {
        "seconds": "seconds",
        "lag_p50": "lag, p50",
        "lag_p99": "lag, p99",
        "lag_max": "lag, maximum",
        "threads": "threads",
        "cancelled": "cancelled",
        "answered": "answered",
        "lost": "lost",
        "doubled": "stored twice",
        "amiss": "search differs",
    }
    rows = []
    for name, row in result("event_loop")["rows"].items():
        rows.append([name, *(f"{row[key]:.4g}" if key in row else "" for key in names)])
    return grid(["", *names.values()], rows)


def serving() -> str:
    rows = []
    for ended, row in result("serving")["rows"].items():
        for kind in ("remember", "recall"):
            took = [f"{row[kind][key]:,.0f}" for key in ("calls", "p50_ms", "p95_ms", "p99_ms")]
            rows.append([kind, *took, row["errors"], row["acknowledged"], ended, row["lost"]])
    return grid(["", "calls", "p50", "p95", "p99", "errors", "acknowledged", "ended by", "lost"], rows)


def changes() -> str:
    found = result("changes")
    own = [[name, each["wanted"], each["right"], each.get("wrong", "")] for name, each in found["own"].items()]
    table = grid(["own set, test half", "changes", "found", "wrong links"], own)
    indirect = result("changes_indirect")
    kinds = [[kind, each["wanted"], each["right"]] for kind, each in indirect["own"].items() if "wrong" not in each]
    told = grid(["told indirectly", "changes", "found"], kinds)
    names = ("questions", "last shown", "all shown", "marked")
    beam = [[name, *("" if each[key] is None else each[key] for key in names)] for name, each in found["beam"].items()]
    return f"{table}\n\n{told}\n\n{grid(['BEAM, ten chats', *names], beam)}"


def changes_model() -> str:
    found = result("changes_model")
    counts = ("wanted", "right", "kind", "wrong", "joined", "by the model", "precision", "recall")
    whose = ("rules", "with the model")
    own = [[name, *(str(found["own"][name].get(key, 0)) for key in counts)] for name in whose]
    names = ("questions", "last shown", "all shown", "marked")
    asked = [name for name in found.get("beam", {}).get("rules", {}) if name != "links"]
    beam = [
        [
            f"{name}, {who}",
            *("" if found["beam"][who][name][key] is None else found["beam"][who][name][key] for key in names),
        ]
        for name in asked
        for who in whose
    ]
    talk = found.get("locomo", {})
    locomo = [[who, talk[who]["links"], len(talk[who]["supersessions"])] for who in whose if talk]
    parts = [name for name in ("own", "locomo", "beam") if name in found]
    costs = ("calls", "tokens_in", "tokens_out", "cut_off", "seconds")
    spent = [[name, *(found[name]["cost"][key] for key in costs), found[name]["warnings"]] for name in parts]
    head = ["own set", "changes", "found", "of the right kind", "wrong", "unrelated pairs linked", *counts[5:]]
    tables = [
        grid(head, own),
        *([grid(["LoCoMo, one conversation", "links", "links that end an earlier statement"], locomo)] if talk else []),
        *([grid(["BEAM, ten chats", *names], beam)] if beam else []),
        grid(["data", *(each.replace("_", " ") for each in costs), "warnings"], spent),
    ]
    return "\n\n".join(tables)


def replies() -> str:
    found = result("replies")
    rows = [
        [name, str(each["replies"]), f"{each['before']:.3f}", f"{each['after']:.3f}"]
        for name, each in found["kept"].items()
    ]
    sent = [
        [name.partition(" (")[0], each["replies"], float(each["before"]), float(each["after"]), each.get("right", "")]
        for name, each in found["sent"].items()
    ]
    written = grid(["written by us; kept, from 0 to 1", "replies", "before", "after"], rows)
    return f"{written}\n\n" + grid(["sent by a model; kept", "replies", "before", "after", "right"], sent)


def local_model() -> str:
    found = result("local_model")
    parts = [
        ("Segmentation", _cuts(found)),
        ("Citations", _listed(found["citations"])),
        ("Answers", _columns({name: each for name, each in found["answering"].items() if name != "cost"})),
        ("Running summaries", _columns({name: each for name, each in found["summaries"].items() if name != "cost"})),
        *([("Timelines and topics of three sessions", _layers(found["layers"]))] if "layers" in found else []),
        ("What was asked", _asked(found)),
    ]
    return "\n\n".join(f"**{title}**\n\n{table}" for title, table in parts)


def _cuts(found: Mapping[str, Any]) -> str:
    names = ("dialogues", "Pk", "WindowDiff", "F1", "Score", "density", "asked again", "left to the local segmenter")
    rows = [
        [f"{dialogues}, {way}", *(_within(each, name) for name in names)]
        for part in ("segmentation", "rubric")
        for dialogues in ("DialSeg711", "TIAGE")
        for way, each in found.get(part, {}).get(dialogues, {}).items()
    ]
    return grid(["", *names], rows)


def _within(figures: Mapping[str, Any], name: str) -> object:
    half = figures.get(f"{name} ±")
    return figures.get(name, "") if half is None else f"{figures[name]:.3f} ± {half:.3f}"


def _listed(figures: Mapping[str, Any]) -> str:
    forms = ", ".join(f"`{form}` {count}" for form, count in figures["forms"].items())
    rows = [[name, each] for name, each in figures.items() if not isinstance(each, dict)]
    return grid(["", ""], [*rows, ["answers with a mark of the form", forms]])


def _columns(figures: Mapping[str, Mapping[str, Any]]) -> str:
    names = next(iter(figures.values()))
    return grid(["", *names], ([name, *each.values()] for name, each in figures.items()))


def _layers(figures: Mapping[str, Any]) -> str:
    counts = [[name, each] for name, each in figures.items() if not isinstance(each, dict)]
    asked = [[f"asked: {name}", each] for name, each in figures["asked"].items()]
    again = [[f"asked again: {reason}", each] for reason, each in figures["asked again"].items()]
    found = [
        [f"evidence recall in {budget} tokens, {name}", each]
        for budget, row in figures["recall"].items()
        for name, each in row.items()
    ]
    return grid(["", ""], [*counts, *asked, *again, *found])


def _asked(found: Mapping[str, Any]) -> str:
    costs = {name: each["cost"] for name, each in found.items() if isinstance(each, dict) and "cost" in each}
    return _columns(costs)


def learning() -> str:
    rows: list[list[object]] = []
    for name, found in result("learning")["embedders"].items():
        for kind, by_citer in found["signals"]["gains"].items():
            rows += [[f"{name}: {kind}", citer, *_gains(row)] for citer, row in by_citer.items()]
    head = [
        "points over the weights of the package",
        "citations",
        "at 5",
        "500 tokens",
        "1000 tokens",
        "worst order, 500",
    ]
    return "\n\n".join([grid(head, rows), _reranker(), "![by quarters](results/learning.svg)"])


def _reranker() -> str:
    rows: list[list[object]] = []
    along: list[list[object]] = []
    for name, found in result("learning")["embedders"].items():
        if "reranker" in found:
            rows += [[f"{name}: reranker", citer, *_gains(row)] for citer, row in found["reranker"]["gains"].items()]
            along += [[f"{name}: {way}", *row] for way, row in found["reranker"]["recall@5 along the stream"].items()]
    head = ["points over the order by vector", "citations", "at 5", "500 tokens", "1000 tokens", "worst order, 500"]
    quarters = ["recall@5 of what is shown, by quarters", "1", "2", "3", "4"]
    return f"{grid(head, rows)}\n\n{grid(quarters, along)}"


def _gains(row: Mapping[str, Any]) -> list[str]:
    cells = zip(row["gain"], row["standard_error"], strict=True)
    return [*(f"{100 * gain:+.2f} ± {100 * error:.2f}" for gain, error in cells), f"{100 * row['worst_seed'][1]:+.2f}"]


def kills_beside() -> str:
    rows = [
        [
            each["name"],
            f"{each['reopened']} of {each['kills']}",
            f"{each['lost']} of {each['promised']}",
            each["two_writers"],
            *each["odd_messages"].values(),
        ]
        for each in result("reliability_peers")["beside"]
    ]
    odd = result("reliability_peers")["beside"][0]["odd_messages"]
    return grid(["", "opened again", "turns lost by kills", "two processes, 60 turns each", *odd], rows)


SECTIONS = {
    "How much of the evidence is found inside a token budget?": (
        retrieval,
        "`benchmarks.retrieval` on five LoCoMo conversations with 760 questions of categories 1 to 4. The weights for "
        "each conversation were fitted without it and without a fifth of the chats (`benchmarks.fit_weights`). The "
        "budget is for the whole block, with its dates and numbers.",
    ),
    "How much do other projects find?": (
        peers,
        "`benchmarks.peers`, all rows in one run, with the same token counter. Our rows use the weights of the "
        "package, which were fitted on these conversations; the table above has the held-out figures.",
    ),
    "How much do the papers' baselines find?": (
        memories,
        "`benchmarks.memories`, in one run: every memory that needs no language model. The data are five LoCoMo "
        "conversations and five BEAM chats of 100,000 tokens, with up to twenty evenly spread questions for each (95 "
        "and 90 in all), and vectors of the static table.\n\n"
        "- *ours* has weights that were fitted without the conversation.\n"
        "- *turn*, *segment* and *session* are whole units, ranked by their own text.\n"
        "- *memorybank-turns* is MemoryBank without its summaries. The questions come a day after the last session; "
        "by then, its forgetting curve has dropped nearly everything. *-kept* forgets nothing.\n"
        "- *ld-agent-turns* ranks turns by LD-Agent's score.\n"
        "- *full* and LangChain's buffer show everything, whatever the budget.\n"
        "- A unit that does not fit is skipped.\n"
        "- *Recall* and *DCG* count the evidence turns, for memories that show turns. *Precision* is the share of the "
        "block's words that are in sentences of the evidence. *Drift* is the share of the block's pairs of "
        "neighbouring words that nobody said; dates and marks count.\n"
        "- *mem0* keeps what was said word for word, without a language model, and searches by words and vectors; "
        "*llamaindex-fusion* and *langchain-ensemble* are BM25 and vectors over chunks.\n\n"
        "With so few questions, differences below a tenth mean nothing.",
    ),
    "What do the papers' tables show without a language model?": (
        papers,
        "`benchmarks.papers`.\n\n"
        "- `secom-4`: half of DialSeg711 and the development part of TIAGE. The priors of *lexical* and *embedding* "
        "were fitted on every second dialogue of that half (the segmentation table has the rest), and *adaptive* has "
        "seen the dialogues without their labels.\n"
        "- `secom-f2`: whole units of 4,000 tokens together, ranked by their own text.\n"
        "- `secom-f3`: whole segments, with keys denoised at several rates. With BM25, the rates from 0.6 to 0.9 "
        "differ only in function words, which BM25 does not count, and no rate finds more than raw keys. With static "
        "vectors, the rates from 0.75 to 0.9 find about 0.01 more.\n"
        "- `theanine-3`: the turns on which the shown events rest, within 1,000 tokens and without a language model. "
        "Six events alone rank the evidence higher than three events with their timelines, and find no less of it.",
    ),
    "What do the papers' tables show with a language model of 1.5 billion parameters?": (
        papers_model,
        "`benchmarks.papers`, with Qwen2.5-Coder-1.5B-Instruct in four bits on llama.cpp and 500 tokens of memory. The "
        "model answers and judges. These are small samples of a small model: most intervals overlap, and the figures "
        "say nothing about other models.\n\n"
        "- `secom-6`: ten questions on each of two conversations of LoCoMo, cut to their first five sessions "
        "(`benchmarks.datasets.beginnings`). No session fits into 500 tokens, so *sessions* answers from nothing. More "
        "than half of the judgements could not be read.\n"
        "- `rsum-3`: four replies in the fifth session of one of them, in the form of MSC. The model wrote summaries "
        "of up to 47 sentences, so a part without it took over five times.\n"
        "- `theanine-4`: six counterfactual questions about a conversation of our own (`benchmarks/teabag/lin.jsonl`), "
        "with replies of at most 600 tokens. The model cannot farm episodes by itself: none of its follow-up sessions "
        "ended with the question.\n"
        "- `secom-f2`: whole units of 4,000 tokens together, ranked by all-mpnet-base-v2, which the paper's dense rows "
        "use, on two conversations of LoCoMo. No language model is asked.\n"
        "- `judges`: how far the model agrees with 56 cases that have one clear answer. For most judges it is no "
        "better than chance, so what it judges says nothing about a memory.",
    ),
    "How much is found in chats with an assistant?": (
        chats,
        "`benchmarks.chats`: the replies of an assistant are long, so the table shows the share of the evidence's "
        "informative words that a block contains. Our rows use the weights of the package. BEAM's chats were used to "
        "fit these weights; our own nine chats (English, German, Chinese; 162 questions) were not. In rows with "
        "*folds*, the weights for each chat were fitted without it. The other projects rank for the question alone, "
        "and their BM25 splits words at white space. *Asked of replies*: four chats in English, German and Spanish "
        "with 56 questions, 32 of them about what the assistant told, written without a look at the rules. The rules "
        "for such questions were begun after we had read which questions of our nine chats failed, and extended after "
        "we had read these, so both sets are too kind to them now.",
    ),
    "How much more does a reranker find?": (
        reranking,
        "`benchmarks.reranking`, in a bank without an embedder. No weights of a cross-encoder were available, so the "
        "reranker is the cosine of all-MiniLM-L6-v2. It judges worse than a model that reads the query together with "
        "the text. The weights for each conversation were fitted without it, and the settings were chosen on two "
        "other conversations and three other chats. The reranker helps with short utterances and small budgets. In "
        "long chats, a weight of 0.25 gains a little, and a weight of 0.5 loses it again. So there is no reranker by "
        "default. *Tokens judged* counts each text together with the query, for one recall.",
    ),
    "How many changed facts are detected?": (
        changes,
        "`benchmarks.changes`, without an embedder or a language model. Our own set was written before the rules, and "
        "the rules were developed on the other half of its chats. A wrong link has no kind, so these cells are empty. "
        "French was added later: its test chat was written without a look at the rules, and was not read while they "
        "were written. "
        "*Told indirectly*: eleven chats in six languages, written without a look at the rules, in which no wording is "
        "used twice: the rules miss nearly all of their changes, and few links are wrong. "
        "*Last shown*: at least half of the informative words of the last evidence message are in the block. *Marked*: "
        "the block says that this message replaces an older one. Most updates in BEAM are told without a word that "
        "signals a change, and are marked only if the question names the value. These ten chats were read while "
        "the rules were written, so their figures are too high for others: on two longer chats "
        "that nobody had read, 1 of 4 updates was marked. In the 2,760 turns of LoCoMo, no "
        "link was made, and none of its 999 questions got a mark.",
    ),
    "How many more changes does a language model detect?": (
        changes_model,
        "`benchmarks.changes_model`: Qwen2.5-Coder-1.5B-Instruct in four bits on llama.cpp at temperature 0, on one "
        "graphics processor. The data are all chats from the test half of the set but the French one, ten chats of "
        "BEAM and the sessions of one conversation of LoCoMo, with one call for each session. On short chats the model "
        "finds a few changes "
        "that the rules miss. On long chats with an assistant this small model for code adds nothing: it copies the "
        "example of the prompt, pairs lines in their order, and half of its replies are cut off; what the words do not "
        "bear out is rejected. The replies are in `results/changes_qwen2.5-coder-1.5b.jsonl`, except those that copy "
        "other data.",
    ),
    "Can relevance and confidence be trusted?": (
        calibration,
        "`benchmarks.calibration`, with the settings of the package and 2,000 tokens. The first four columns are the "
        "expected calibration error of `Hit.relevance`, for all hits and for the best hit of each recall. The others "
        "are the area under the ROC curve for `Recall.confidence`: how well it separates questions that the memory can "
        "answer from questions that it cannot. The constants were fitted on these sets.",
    ),
    "How much less do recalling and adding cost than before?": (
        before_after,
        "`benchmarks.before_after --turns 50000 --rounds 1`, both checkouts in one run: *before* is the last commit in "
        "which the search index was not kept with the bank (8c2137b).",
    ),
    "Do denoised keys find more?": (
        denoising,
        "`benchmarks.denoising`. `Informativeness` finds one or two points more for whole segments by vector. In all "
        "other rows, no denoiser improves the result beyond chance. So keys are the full text unless you choose a "
        "denoiser. LLMLingua-2-shaped is our `LLMLingua2` with a classifier that we trained in seconds to keep "
        "content words, because its published weights were not available.",
    ),
    "Does learning from citations find more?": (
        learning,
        "`benchmarks.learning`: each LoCoMo conversation is the stream of one user's questions. Each question is "
        "answered before anything is learned from it. The citations are the evidence labels among the turns in a "
        "block of 2,000 tokens. The cells are points of evidence recall: means of three orders of 760 questions, ± "
        "the standard error over questions. The baseline is the weights that `benchmarks.fit_weights` fits without "
        "the conversation.\n\n"
        "Changing these weights does not find more, and neither does a signal for turns that were cited before. So "
        "the bank does neither. The reranker is that of RMM, trained on the other conversations in three passes. The "
        "table by quarters shows its results while it learns from one stream of all questions.\n\n"
        "To make this section again: `python -m benchmarks.learning --data DIR --embedder none static --json "
        "benchmarks/results/learning.json --picture benchmarks/results/learning.svg`, then `python -m "
        "benchmarks.report`.",
    ),
    "How well are segments cut?": (
        segmentation,
        "`benchmarks.segmentation`. `adaptive` has seen the turns of the dialogues without labels, `adaptive-cold` "
        "has seen nothing. The priors of `lexical` and `embedding` were fitted with labels, on the even rows of "
        "DialSeg711 and on TIAGE train. The figures for the Chinese calls are development figures, because we looked "
        "at their even rows. Half of their segments are exactly eight turns long, so chunks of eight score best there.",
    ),
    "How much do a few labels improve segmentation?": (labels, "`benchmarks.label_curve`, means of five samples."),
    "How fast are segments cut?": (
        segmentation_speed,
        "`benchmarks.segmentation_speed`, with new text, the same embedder for all, and one thread. For a new turn, "
        "the vectors of earlier turns are cached.",
    ),
    "How long does a recall of 4,000 tokens take?": (latency, "`benchmarks.latency`, with cached vectors."),
    "How much time does memory add to a turn of an agent?": (
        agents,
        "`benchmarks.agents`, one run with a scripted server.\n\n"
        "- *Recall* is the time inside the memory before the model is called, and *write* the time to store the "
        "messages. *Added* is the whole difference to the same agent without memory, measured just before.\n"
        "- *Cached* is the share of the prompt that equals the beginning of the prompt before it, so that a prompt "
        "cache can serve it.\n"
        "- Our memory is in a file and synced to disk; the frameworks' own are in memory.\n"
        "- *Background*: the user pauses until the background writer is done. *No pause*: the user never pauses, so "
        "the recall does the work that the writer had no time for.\n"
        "- The last column compares with `ours, background`.\n"
        "- `VectorMemoryBlock` searches only a seventh as many texts, because it makes texts of seven messages. "
        "`Memory, no block` remembers only its window.\n\n"
        "Unless a row says otherwise, vectors are hashed words. Other jobs also used the two processors: the load was "
        f"{_load()}.",
    ),
    "How many model calls does memory make?": (
        live_cost,
        "`benchmarks.live_cost`: means for one turn, in four conversations of six turns each, with a scripted model "
        "and estimated tokens. The agent's own answers are not counted. *Before* is a checkout in which no session "
        "ended by itself, and a segmenter asked a yes-or-no question for every turn. The last conversation is still "
        "open at the end. The companion has no background writer here, so the first message of a conversation waits "
        "until the conversation before it is processed. With a background writer, its figures are those of the agents.",
    ),
    "What is lost when processes are killed or write together?": (
        kills,
        "`benchmarks.reliability`. *Acknowledged*: turns for which `remember` or `forget` had returned. *Came back*: "
        "forgotten turns that were found again. *Search differs*: searches with other results than in a new bank that "
        "imports the export. *Errors*: exceptions that reached a caller "
        "and are not clear errors of this package.",
    ),
    "What is lost in servers with several processes?": (
        servers,
        "`benchmarks.processes`: `gunicorn --preload` with threads and with gevent, uvicorn, and Celery's prefork "
        "pool. Each request remembers a turn and recalls it. *Processes*: how many of them answered. *Not found*: "
        "turns that were not recalled by the process that had stored them. *Errors*: requests that failed.",
    ),
    "How long does a new process take until its first recall?": (
        cold,
        "`benchmarks.cold`: the time from opening the bank to a block of 1,000 tokens, medians of five new processes, "
        "with exchanges of about 50 words. *Without the index*: no index is stored with the bank yet. *Forget, "
        "recall*: the time to forget one turn and recall again. The row of 100,000 with vectors was measured beside "
        "another job. A million without vectors, in 21 starts of a bank built the same way (`--turns 1000000`, which "
        "takes an hour): 303 to 832 ms, the middle 332.",
    ),
    "Does a long run leak memory or files?": (
        soak,
        "`benchmarks.soak`, thirty minutes: 2,000 scopes remember, recall, learn and forget, with at most 64 MiB for "
        "indexes, and the bank is opened again every minute. The file grows until every scope has four sessions.",
    ),
    "How long do a thousand calls at once delay an event loop?": (
        event_loop,
        "`benchmarks.event_loop`: half of the calls remember and half recall, all at once, in 50 scopes of 100 turns "
        "in one file. *Lag*, in milliseconds, is how much too late another task of the loop wakes. In the second row, "
        "calls are cancelled at random moments.",
    ),
    "How long do calls of the server take with 64 clients, and is anything lost when it is stopped?": (
        serving,
        "`benchmarks.serving`: times in milliseconds. For a minute, 64 clients remember an exchange and recall 500 "
        "tokens in turn, without a pause, each in its own scope of 100 turns. The clients share one process, and other "
        "jobs also used the two cores. The server is stopped while it answers them; then it is started again, and "
        "killed after five seconds. *Acknowledged*: messages that were answered with status 200. *Lost*: those of them "
        "that are not in the file.",
    ),
    "What happens if derived rows contain garbage?": (
        garbage,
        "`benchmarks.garbage` writes every kind of garbage into every derived column, in one row and in all rows. "
        "*Refused*: the database does not accept the value. *Raises*: calls that raise an error. *Lost*: recalls that "
        "do not find the turn that they ask for. *Leaks*: recalls that show text of another scope, or forgotten text. "
        "*Rebuild differs*: recalls whose result after a rebuild is not that of an untouched bank. *Not repaired*: "
        "errors that `check` still finds after a repair.",
    ),
    "How much of a damaged reply of a language model can be used?": (
        replies,
        "`benchmarks.replies`: replies with known kinds of damage (`benchmarks.damaged_replies`), by prompt. For "
        "segments, the figure is SeCom's segment score; for events, topics and summaries, the share of the records; "
        "for other prompts, the share of replies that were read correctly. The replies include refusals, and answers "
        "that were cut off before they say anything. The second table is of replies that Qwen2.5-Coder-1.5B-Instruct "
        "(four bits, llama.cpp) sent to the same prompts about four talks: at temperature 0 and at 0.8, held to a "
        "schema and not (`results/replies_qwen2_5_coder_1_5b_instruct.jsonl`). We read each and wrote down what it "
        "says, and a reply that says nothing, or copies the prompt's example, has to be refused. *Right*: how much of "
        "the right answer is kept, for which the model answers. *Before* is a checkout before replies were read in "
        "this way. Eleven of the replies were misread until we had read them, so *after* is no figure of what the "
        "reader makes of replies that nobody has seen. Since then, the prompts for events and topics have other "
        "examples: sixteen replies to them, at temperature 0, took the place of fourteen that copied the earlier ones. "
        "Two of them are a summary of seven sentences, which is refused because it is too long.",
    ),
    "How well does a language model of 1.5 billion parameters work?": (
        local_model,
        "`benchmarks.local_model`: Qwen2.5-Coder-1.5B-Instruct in four bits on llama.cpp at temperature 0, on one "
        "thread of a machine that other jobs also used, so the seconds are upper bounds. The replies are in "
        "`results/recorded_qwen2.5-coder-1.5b.jsonl`, and the tables can be made from them without the model. The "
        "replies for summaries are left out, because they copy the data. These are small samples with a model for "
        "code: they show the form of replies and the cost of calls, and say nothing about the quality of other "
        "models.\n\n"
        "- *Segmentation* (± is half of a 95 per cent interval): asked in words, the model repeats the numbers of the "
        "prompt's example. Held to the schema, "
        "it makes one segment, or names an end that does not exist and then also repeats the example. *Live* means as "
        "the sessions of a bank end; there the model is asked in words, and answers the same. The learned rubric has "
        "one rule of two on each set; both are about the views of the model and of people, and not about topics.\n"
        "- *Citations* are compared with the turns that contain a question's evidence (LoCoMo 26). *By chance*: the "
        "precision of a random number among those shown. With an earlier instruction, 24 of 25 answers were a number "
        "and nothing else.\n"
        "- *Answers*: with 500 tokens of memory and vectors of the static table.\n"
        "- *Summaries*: the model copies the session word for word, and then the old summary. A fact counts as said "
        "if half of its words are there. With retention, one question was asked in all nineteen sessions.\n"
        "- *Tokens read* leaves out tokens that the server had cached as the beginning of an earlier prompt.",
    ),
    "How much does a summary lose if the model misbehaves?": (
        summaries,
        "`benchmarks.summaries`: twelve sessions in which two speakers state 17 facts, with scripted models that each "
        "misbehave in one way. A fact is *kept* if a line of the last summary has its words and its speaker. *Stale*: "
        "the one outdated statement is still there. *Unowned*: facts without their speaker. *Before* is a checkout "
        "that did not yet ask the model about facts that an update drops.",
    ),
    "How much do other projects lose?": (
        kills_beside,
        "`benchmarks.reliability --peers`, one run with the same vectors. Each memory is saved after every turn, and "
        "killed while it adds turns.",
    ),
    "How does time grow with the turns in a scope?": (
        growth_in_turns,
        "`benchmarks.growth`, with recalls of 1,000 tokens. *First recall* loads the scope; the column *recall* is "
        "for the recalls after it. The exponents are those of the medians: 0 is constant, 1 is linear. The other "
        "projects, and our rows with the same vectors, are filled turn by turn with vectors of hashed words. Other "
        "jobs also used the two processors, mostly during these rows, so their growth means little.",
    ),
    "How fast is it with many clients?": (
        clients,
        "`benchmarks.growth --store sqlite postgres --turns --scopes 0 --clients 1 8 64 --processes 1 2`, on two "
        "cores: threads of one process, or of two, each in its own scope of a thousand turns, write a turn and recall "
        "it. One process uses one processor, and its threads take turns, those that recall first.",
    ),
    "How much memory do many scopes need?": (
        scopes,
        "`benchmarks.growth --turns --clients`. Most scopes have a hundred turns, one in a hundred has a thousand, and "
        "one in a thousand has five thousand. Every scope was recalled from before the memory was measured.",
    ),
    "How long does it take to add one turn?": (adding, "`benchmarks.adding`, medians."),
    "How fast are LLMLingua-2 keys made?": (
        denoising_speed,
        "`benchmarks.denoising_speed`. Both keep the same words.",
    ),
    "Do timelines find more?": (
        timelines,
        "`benchmarks.timelines`, with events linked by similarity and date. They do not, so timelines are off unless "
        "you ask for them.",
    ),
}


def page() -> str:
    parts = [
        "# Benchmarks\n\n"
        "`python -m benchmarks.report` writes this page from the files in `results/`. Each file has the results of "
        "one run, with its seed and versions. The data sets are not part of this repository; the docstring of each "
        "benchmark says what it needs.\n"
    ]
    for title, (table, note) in SECTIONS.items():
        parts.append(f"## {title}\n\n{table()}\n\n{note}\n")
    return "\n".join(parts)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="say whether the page is up to date, and write nothing")
    if parser.parse_args().check:
        return int(README.read_text(encoding="utf-8") != page())
    README.write_text(page(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
