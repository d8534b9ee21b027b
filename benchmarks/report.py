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
    return grid(["evidence recall inside tokens", *BUDGETS], rows)


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
    rows: list[list[object]] = []
    for table in result("papers")["tables"]:
        vectors = {"none": "no vectors", "static": "static vectors"}[table["settings"]["embedder"]]
        for label, row in table["rows"].items():
            figures = {name: each for name, each in row["figures"].items() if not name.endswith("±")}
            asked = next(int(figures.pop(name)) for name in ("questions", "dialogues") if name in figures)
            halves = {name: row["figures"].get(f"{name} ±") for name in figures}
            shown = ", ".join(
                f"{name} {value:.3f}" + (f" ± {halves[name]:.3f}" if halves[name] is not None else "")
                for name, value in figures.items()
            )
            rows.append([f"`{table['table']}`, {table['data']}, {vectors}", label, shown, asked])
    return grid(["table", "row", "figures", "questions or dialogues"], rows)


def chats() -> str:
    rows: list[list[object]] = []
    for title, name in (("BEAM, ten chats", "beam"), ("ours, nine chats", "own")):
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
    return grid(["evidence inside tokens", "reranker", *BUDGETS, "texts judged", "their tokens"], rows)


def calibration() -> str:
    rows: list[list[object]] = []
    for kind, label in (("none", "no embedder"), ("static", "static")):
        found = result(f"calibration_{kind}")
        errors = [found["calibration_error"][shape][which] for shape in ("talk", "chats") for which in ("all", "first")]
        rows.append([label, *errors, *found["confidence_area"]["confidence"].values()])
    areas = result("calibration_none")["confidence_area"]["confidence"]
    return grid(["", "talk", "its best hits", "chats", "their best hits", *(f"area, {name}" for name in areas)], rows)


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
    return grid(["Score with so many labelled dialogues", "10", "20", "50", "100", "300"], rows)


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
    return grid(["", "turns a processor second", *(f"ms a new turn at {size}" for size in sizes)], rows)


def latency() -> str:
    rows = [
        [f"{size} turns", name, row["p50"], row["p95"]]
        for size, table in result("latency")["milliseconds"].items()
        for name, row in table.items()
    ]
    return grid(["", "", "p50 ms", "p95 ms"], rows)


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
        grid(["turns remembered", "memory", *heads, "cached", "tokens", "recall and write, times ours"], rows)
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
    heads = ["preset", "", "calls", "of them waited for", "tokens in", "tokens out", "made in the end"]
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
        "remember": "all of `remember`, synced to disk",
        "catch_up": "seen by the next recall",
        "rank_bm25": "rank_bm25",
        "langchain_bm25": "LangChain BM25Retriever",
    }
    rows = [[size, *(row[name] for name in columns)] for size, row in result("adding")["milliseconds"].items()]
    return grid(["ms a turn at", *columns.values()], rows)


def denoising_speed() -> str:
    found = result("denoising_speed")
    rows = [[name, seconds, seconds / found["seconds"]["ours"]] for name, seconds in found["seconds"].items()]
    size = f"{found['units']} segments, XLM-RoBERTa {found['size']}, random weights, {found['device']}"
    return grid([size, "seconds", "times ours"], rows)


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
        ["", "turns in a scope", *HEADS, "turns a second, filling", "first recall, s", "bytes a turn on disk"],
        [[str(cell) for cell in row] for row in rows],
    )


def _filling(row: Mapping[str, Any]) -> list[object]:
    return [row.get(name, "") for name in ("filled_per_second", "first_recall_s", "stored_bytes_a_turn")]


def clients() -> str:
    rows = [
        [
            row["store"],
            str(row["clients"]),
            f"{row['turns_per_second']:.0f}",
            _both(row["remember"]),
            _both(row["recall"]),
        ]
        for row in result("growth")["clients"]
    ]
    return grid(["", "clients", "turns a second", *HEADS], rows)


def scopes() -> str:
    names = ("scopes", "turns", "filled_per_second", "memory_limit_mib", "resident_mib", "stored_bytes_a_turn")
    rows = [
        [row["store"], *(f"{row[name]:,}" for name in names), _both(row["recall_drawn"]), _both(row["recall_again"])]
        for row in result("growth_scopes")["scopes"]
    ]
    heads = [name.replace("_", " ").replace("mib", "MiB") for name in names]
    times = ["recall from one drawn: p50, p95 ms", "from one in memory: p50, p95 ms"]
    return grid(["", *heads, *times], rows)


HEADS = ("remember: p50, p95 ms", "recall: p50, p95 ms")


def _both(row: Mapping[str, float]) -> str:
    return f"{row['p50']:,.1f}, {row['p95']:,.1f}"


def kills() -> str:
    counts = ("runs", "promises", "lost", "doubled", "undead", "amiss")
    rows = [
        [each["suite"], each["store"], *(str(each[name]) for name in counts), str(len(each["errors"])), _crowd(each)]
        for each in result("reliability")["ours"]
    ]
    return grid(["", "", *counts, "errors", "write; recall: p50, p95, longest, ms"], rows)


def _crowd(each: Mapping[str, Any]) -> str:
    return "; ".join(", ".join(f"{ms:,.0f}" for ms in row.values()) for row in each["milliseconds"].values())


def servers() -> str:
    names = ("workers", "processes", "requests", "lost", "doubled", "unfound")
    rows = [
        [each["shape"], each["store"], *(str(each[name]) for name in names), str(len(each["errors"]))]
        for each in result("processes")["outcomes"]
    ]
    return grid(["", "", *names, "errors"], rows)


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
        "",
        "first recall, ms",
        "slowest",
        "the one after it",
        "without the index",
        "forget, recall",
        "MiB",
        "index, MiB",
    )
    return grid(head, rows)


def soak() -> str:
    curves = result("soak")["curves"]
    rows = []
    for name in (each for each in curves if each != "seconds"):
        third, last = growth(curves[name])
        rows.append([name, round(curves[name][0], 1), round(max(curves[name]), 1), round(third, 1), round(last, 1)])
    return grid(["", "first", "most", "third quarter", "last quarter"], rows) + "\n\n![curves](results/soak.svg)"


def summaries() -> str:
    found = result("summaries")["results"]
    rows = [
        [kind, *(f"{each['kept']} of {each['facts']}" for each in pair), *(_others(each) for each in pair)]
        for kind, *pair in ((kind, found["before"][kind], found["after"][kind]) for kind in found["after"])
    ]
    return grid(["", "kept before", "kept", "stale, unowned; calls before", "stale, unowned; calls"], rows)


def _others(row: Mapping[str, int]) -> str:
    return f"{row['stale']}, {row['without an owner']}; {row['calls']}"


def garbage() -> str:
    names = ("tries", "refused", "raises", "lost", "leaks", "unlike", "unmended")
    tables: dict[str, list[int]] = {}
    for column, each in result("garbage")["outcomes"].items():
        sums = tables.setdefault(column.partition(".")[0], [0] * (len(names) + 1))
        sums[:] = [sums[0] + 1, *(old + each[name] for old, name in zip(sums[1:], names, strict=True))]
    tables["all"] = [sum(column) for column in zip(*tables.values(), strict=True)]
    return grid(["", "columns", *names], ([name, *map(str, row)] for name, row in tables.items()))


def event_loop() -> str:
    names = ("seconds", "lag_p50", "lag_p99", "lag_max", "threads", "cancelled", "answered", "lost", "doubled", "amiss")
    rows = []
    for name, row in result("event_loop")["rows"].items():
        rows.append([name, *(f"{row[key]:.4g}" if key in row else "" for key in names)])
    return grid(["", *names], rows)


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
    names = ("questions", "last shown", "all shown", "marked")
    beam = [[name, *("" if each[key] is None else each[key] for key in names)] for name, each in found["beam"].items()]
    return f"{table}\n\n{grid(['BEAM, ten chats', *names], beam)}"


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
    head = ["own set", "changes", "found", "of the right kind", "wrong", "near-misses joined", *counts[5:]]
    tables = [
        grid(head, own),
        *([grid(["LoCoMo, first sessions", "links", "after which something holds no more"], locomo)] if talk else []),
        *([grid(["BEAM", *names], beam)] if beam else []),
        grid(["what was asked", *(each.replace("_", " ") for each in costs), "warnings"], spent),
    ]
    return "\n\n".join(tables)


def replies() -> str:
    rows = [
        [name, str(each["replies"]), f"{each['before']:.3f}", f"{each['after']:.3f}"]
        for name, each in result("replies")["kept"].items()
    ]
    return grid(["kept, from 0 to 1", "replies", "before", "after"], rows)


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
        [f"{dialogues}, {way}", *(each.get(name, "") for name in names)]
        for part in ("segmentation", "rubric")
        for dialogues in ("DialSeg711", "TIAGE")
        for way, each in found.get(part, {}).get(dialogues, {}).items()
    ]
    return grid(["", *names], rows)


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
    head = ["points over the weights that ship", "who cites", "at 5", "500 tokens", "1000 tokens", "worst order, 500"]
    return "\n\n".join([grid(head, rows), _reranker(), "![by quarters](results/learning.svg)"])


def _reranker() -> str:
    rows: list[list[object]] = []
    along: list[list[object]] = []
    for name, found in result("learning")["embedders"].items():
        if "reranker" in found:
            rows += [[f"{name}: reranker", citer, *_gains(row)] for citer, row in found["reranker"]["gains"].items()]
            along += [[f"{name}: {way}", *row] for way, row in found["reranker"]["recall@5 along the stream"].items()]
    head = ["points over the order by vector", "who cites", "at 5", "500 tokens", "1000 tokens", "worst order, 500"]
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
    return grid(["", "opened again", "turns lost to kills", "two processes, 60 turns each", *odd], rows)


SECTIONS = {
    "How much of the evidence is found inside a token budget?": (
        retrieval,
        "`benchmarks.retrieval` on five LoCoMo conversations, 760 questions of categories 1 to 4; each conversation "
        "with weights fitted without it and a fifth of the chats (`benchmarks.fit_weights`). The budget is that of the "
        "whole block.",
    ),
    "And what do others find?": (
        peers,
        "`benchmarks.peers`, one run, one token counter. Ours with the weights that ship, which were fitted on these "
        "conversations: the table above has the held-out figures.",
    ),
    "And the memories that the papers compare with?": (
        memories,
        "`benchmarks.memories`, every memory that needs no language model, in one run: five conversations of LoCoMo, "
        "and five chats of BEAM of 100,000 tokens, twenty questions of each at most, evenly spread, 95 and 90 in all; "
        "vectors by the static table. *ours* has weights "
        "fitted without the conversation. *turn*, *segment* and *session* are whole units, ranked by their own text. "
        "*memorybank-turns* is MemoryBank without its summaries: asked a day after the last session, nearly all of the "
        "talk has sunk below its forgetting curve; *-kept* forgets nothing. *ld-agent-turns* is LD-Agent's score over "
        "turns. *full* and the buffer of LangChain show all, whatever the budget. A unit that does not fit is passed "
        "over. *Recall* and *DCG* are of the evidence's turns, of memories that show turns; *precision* is the share "
        "of the block's words in sentences of the evidence, *drift* that of its neighbouring words which nobody said "
        "(dates and marks count). Read no order from differences below a tenth. mem0 and LlamaIndex's "
        "fusion were not installed.",
    ),
    "And the papers' tables that need no model?": (
        papers,
        "`benchmarks.papers`. `secom-4`: DialSeg711's half and TIAGE's development part; the priors of *lexical* and "
        "*embedding* were fitted on every second dialogue of that half (the odd rows are above), and *adaptive* has "
        "seen the dialogues without their labels. `secom-f2`: whole units, ranked by their own text, of 4,000 tokens "
        "together. `secom-f3`: whole segments, by rate of denoised keys. By BM25 the rates from 0.6 to 0.9 differ in "
        "function words alone, which BM25 does not count. Over raw keys no rate gains more than three hundredths of "
        "recall. `theanine-3`: the turns that the shown events rest on, in 1,000 tokens, without a model: six events "
        "alone rank the evidence higher than three with their timelines, and find no less of it.",
    ),
    "And of chats with an assistant, whose replies are long?": (
        chats,
        "`benchmarks.chats`: how many of the telling words of the evidence a block shows. Ours with the weights that "
        "ship, for whose fitting BEAM's chats were used and our own nine (English, German, Chinese; 162 questions) "
        "were not; with *folds*, each chat with weights fitted without it. Peers rank for the question alone; BM25 of "
        "the peers splits at white space.",
    ),
    "What does a reranker bring?": (
        reranking,
        "`benchmarks.reranking`: a bank without an embedder, and in the place between search and packing the cosine of "
        "all-MiniLM-L6-v2, as no weights of a cross-encoder were to be had: a poorer judge than one that reads the "
        "query with the text. Each conversation with weights fitted without it; the settings were tried on two other "
        "conversations and three other chats. It helps short utterances in tight "
        "budgets; of long chats, what it brings at a weight of 0.25 it takes away at 0.5. So none is on unless it is "
        "given. *Their tokens*: each text with the query, a recall.",
    ),
    "What is found of facts that change?": (
        changes,
        "`benchmarks.changes`, no embedder, no language model. The set of our own was written before the rules, which "
        "were developed on the other half of its chats; a wrong link belongs to no kind. *Last shown*: at least half "
        "of the telling words of the last evidence message; *marked*: it is shown as what took the place of an older "
        "one. Most updates of BEAM are told without a word that says so. On LoCoMo no link is made in 2,760 turns, so "
        "there was none to read.",
    ),
    "What does a language model add to that?": (
        changes_model,
        "`benchmarks.changes_model`: Qwen2.5-Coder-1.5B-Instruct in four bits on llama.cpp, two cores that other jobs "
        "used, at temperature 0; a chat of each language of the set's test half, drawn with a seed, one question a "
        "session. A coder's model, and a small sample: read that what it makes up is left out, and what it costs. "
        "Its replies about LoCoMo name changes that do not stand in the words, or none: no link was made in four "
        "sessions of 76 turns. BEAM was not asked, for time. "
        "The replies are in `results/changes_qwen2.5-coder-1.5b.jsonl`, but for those that copy other data.",
    ),
    "Are relevance and confidence to be trusted?": (
        calibration,
        "`benchmarks.calibration`, as shipped, 2,000 tokens: the expected calibration error of `Hit.relevance`, of all "
        "hits and of the best one of each recall; and how well `Recall.confidence` tells answered questions from "
        "others, as the area under the ROC curve. The constants were fitted on these sets.",
    ),
    "What do passages cost?": (
        before_after,
        "`benchmarks.before_after` against the checkout before messages and passages were searched apart. Of a chat "
        "with long replies that one searched whole exchanges, and showed next to nothing of them.",
    ),
    "Do denoised keys pay?": (
        denoising,
        "`benchmarks.denoising`. `Informativeness` does for whole segments by vector (one to two points); "
        "elsewhere no denoiser does, beyond chance. So keys are the words themselves unless a denoiser is given. "
        "LLMLingua-2-shaped is our `LLMLingua2` with a classifier made on the spot: its published weights were not to "
        "be had.",
    ),
    "What is there to learn from citations?": (
        learning,
        "`benchmarks.learning`: each conversation of LoCoMo as the questions of one user, answered before they teach; "
        "citations are the evidence labels among what a block of 2,000 tokens shows. Points of evidence recall, means "
        "of three orders of 760 questions, ± standard errors over questions. The base are the weights that "
        "`benchmarks.fit_weights` fits without the conversation. Neither moving these weights nor telling a turn that "
        "was cited before pays, so the bank does neither. The reranker is RMM's, taught by the other conversations "
        "over three passes; by quarters, what it shows while it learns from one stream of all questions. "
        "Regenerate with `python -m benchmarks.learning --data DIR --embedder none static --json "
        "benchmarks/results/learning.json --picture benchmarks/results/learning.svg`, then "
        "`python -m benchmarks.report`.",
    ),
    "How well are segments cut?": (
        segmentation,
        "`benchmarks.segmentation`. `adaptive` has seen the dialogues' unlabelled turns, `adaptive-cold` nothing. The "
        "priors of `lexical` and `embedding` were fitted with labels on DialSeg711's even rows and TIAGE train. The "
        "Chinese calls are development figures: their even rows were looked at. Half of their segments are exactly "
        "eight turns long, which is why chunks of eight do best there.",
    ),
    "What are a few labels worth?": (labels, "`benchmarks.label_curve`, five draws."),
    "How fast are segments cut?": (
        segmentation_speed,
        "`benchmarks.segmentation_speed`, unseen text, one embedder, one thread; new turns with vectors cached.",
    ),
    "How long does a recall of 4,000 tokens take?": (latency, "`benchmarks.latency`, vectors cached."),
    "What does memory add to a turn of an agent?": (
        agents,
        "`benchmarks.agents`, one run against a scripted server. *Recall* is the time inside memory before the model "
        "is called, *write* that of taking in what was said, *added* the whole difference to the same agent without "
        "memory, asked just before. Ours is in a file, synced; the frameworks' own are in memory. *Background*: the "
        "user pauses until the writer is done; *no pause*: never, so that recall does what the writer had no time for. "
        "The last column is to `ours, background`. `VectorMemoryBlock` searches a seventh as many texts, each of seven "
        "messages, as it makes them; `Memory, no block` remembers the window only. All with vectors of hashed words, "
        f"but where it says so. Two processors that others used too: load {_load()}.",
    ),
    "What does memory ask of a model?": (
        live_cost,
        "`benchmarks.live_cost`: a turn, in four conversations of six turns one after the other, with a scripted model "
        "and tokens estimated; the agent's own answers are not counted. *Before*: the checkout in which no session "
        "ended by itself and a segmenter was asked yes or no with every turn. The last conversation is open at the "
        "end. The companion has no background writer here, so that who begins a conversation waits for the end of the "
        "one before; with one it is as the agents.",
    ),
    "What is lost when processes are killed or crowd together?": (
        kills,
        "`benchmarks.reliability`. A promise is a turn of which `remember` had returned, or one that `forget` had. "
        "*Amiss*: searches that find otherwise than in a new bank that takes in the export. *Errors*: what reached "
        "a caller.",
    ),
    "What is lost in servers of several processes?": (
        servers,
        "`benchmarks.processes`: `gunicorn --preload`, uvicorn, Celery's prefork pool. Each request takes a turn in "
        "and recalls. *Processes* answered; *unfound*: turns that the process which took them in did not recall; "
        "*errors*: requests that failed.",
    ),
    "How long does a process that has just started take to its first recall?": (
        cold,
        "`benchmarks.cold`: from the opening of the bank to a block of 1,000 tokens, medians of five new processes; "
        "exchanges of about 50 words. *Without the index*: where nothing of it is kept with the bank.",
    ),
    "What does a long run leave behind?": (
        soak,
        "`benchmarks.soak`, thirty minutes: 2,000 scopes that remember, recall, learn and forget, indexes of 64 MiB at "
        "most, the bank opened again every minute. The file grows until every scope has its four sessions.",
    ),
    "What does an event loop wait for a thousand calls at once?": (
        event_loop,
        "`benchmarks.event_loop`: half remember, half recall, all at once, over 50 scopes of 100 turns in one file. "
        "*Lag* in milliseconds is how much later than it should a task wakes that runs beside them. In the second row "
        "calls are cancelled at moments drawn by a seed.",
    ),
    "How long does a call of the server take among 64 clients, and what does its end lose?": (
        serving,
        "`benchmarks.serving`: 64 clients for a minute, each with a scope of 100 turns, that remember an exchange and "
        "recall with 500 tokens in turn, without a pause, on two cores that other jobs used; the clients share a "
        "process. Milliseconds. The server is ended in the middle of their calls, and after a new start again, five "
        "seconds later. *Acknowledged*: messages that were answered with 200; *lost*: those that are not in the file.",
    ),
    "What does rubbish in derived rows do?": (
        garbage,
        "`benchmarks.garbage`: every kind of rubbish in every column that is derived, in one row or in all. *Raises*: "
        "calls that raise; *lost*: recalls without what they ask for; *leaks*: of other scopes, or of what was "
        "forgotten; *unlike*: other recalls after a rebuild; *unmended*: what `check` still finds after a repair.",
    ),
    "What is kept of damaged replies of a language model?": (
        replies,
        "`benchmarks.replies`: replies made by stated kinds of damage (`benchmarks.damaged_replies`), by prompt. Of "
        "segments, SeCom's segment score; of events, topics and summaries, the share of records; else whether the "
        "answer was read. Refusals are among them, and answers cut off before they say anything. The damage and the "
        "reading have one author: what models really send is told by `--record`.",
    ),
    "What does a language model of 1.5 billion parameters make of it?": (
        local_model,
        "`benchmarks.local_model`: Qwen2.5-Coder-1.5B-Instruct in four bits on llama.cpp, at temperature 0, one "
        "thread of a machine that other jobs used, so the seconds are upper bounds. The replies are in "
        "`results/recorded_qwen2.5-coder-1.5b.jsonl`, from which the tables are made again without the model; but "
        "for the summaries, which copy the data and are left out. A coder's model, and small samples: read shapes "
        "and costs, and no quality of others. *Segmentation*: in words it repeats the numbers of the prompt's "
        "example, held to the schema it makes one segment, or names an end that does not exist and then repeats "
        "the example too; live, as sessions of a bank end, it is asked as in words, and says the same. The learned "
        "rubric is one rule of two, and on two dialogues only, where the prompt without it had a Score of 0.239. "
        "*Citations*: against the turns that hold a question's evidence (LoCoMo 26); *by chance*: of one number drawn "
        "from those shown. With the instruction as it was, 24 of 25 answers were a number and nothing else. "
        "*Answers*: 500 tokens of memory, vectors by the static table. *Summaries*: it copies the session word for "
        "word, and then the old memory; a fact counts as said where half of the words that tell "
        "it are there; the last nine of nineteen sessions are left out, for time. *Tokens read*: without those that "
        "the server knew as the beginning of an earlier prompt.",
    ),
    "What does a running summary hold after twelve sessions with an odd or lying model?": (
        summaries,
        "`benchmarks.summaries`: facts of which a line of the last summary has the words and the owner, of 17 said by "
        "two speakers, with scripted models that misbehave in one way each. *Stale*: the one statement that was "
        "overtaken; *unowned*: facts without a word of whose they are. *Before*: the checkout before what an update "
        "drops was asked about.",
    ),
    "And elsewhere?": (
        kills_beside,
        "`benchmarks.reliability --peers`, one run, the same vectors; each is saved after every turn, and killed "
        "during adds to what it holds.",
    ),
    "How does time grow with the turns in a scope?": (
        growth_in_turns,
        "`benchmarks.growth`, recalls of 1,000 tokens. *First recall* loads the scope; the other recalls follow. The "
        "exponent is that of the medians: 0 is constant, 1 linear. The peers and ours beside them are filled turn by "
        "turn, with the same vectors of hashed words. Two processors that other jobs used too, most while the peers "
        "and ours beside them were timed: read no growth from those few rows.",
    ),
    "What do many clients get?": (
        clients,
        "The same run: threads of one process, each in a scope of its own of a thousand turns, writing a turn and "
        "recalling it. One process computes on one processor; more processes share the work.",
    ),
    "What do many scopes take?": (
        scopes,
        "`benchmarks.growth --turns --clients`. A hundred turns in most scopes, a thousand in one of a hundred, five "
        "thousand in one of a thousand; every one was recalled from before the memory was measured.",
    ),
    "What does one more turn cost?": (adding, "`benchmarks.adding`, medians."),
    "How fast are LLMLingua-2 keys made?": (
        denoising_speed,
        "`benchmarks.denoising_speed`; the same words kept as by the package's own loop.",
    ),
    "Do timelines find more?": (
        timelines,
        "`benchmarks.timelines`, linked by likeness and date: they do not, so they are off unless asked for.",
    ),
}


def page() -> str:
    parts = [
        "# Benchmarks\n\nMade by `python -m benchmarks.report` from `results/`, where each run is kept with its seed "
        "and versions. The data are not part of this repository; the modules say what they need.\n"
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
