"""What operations take stands in what they give, is summed on the bank, and goes to OpenTelemetry without a word."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from typing import Any

import pytest

from secom_core import MemoryBank
from secom_core.telemetry import Operations, Work, count_model_call, staged
from secom_core.testing import ScriptedModel

SCOPE = ("acme", "alice")
TALK = [("user", "My rent in Ghent is 900 euros."), ("assistant", "That is a fair rent for Ghent.")]

_SPANS = """
import json, sys
from opentelemetry import metrics, trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from secom_core import MemoryBank
from secom_core.errors import InvalidInput

spans, reader = InMemorySpanExporter(), InMemoryMetricReader()
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(spans))
trace.set_tracer_provider(provider)
metrics.set_meter_provider(MeterProvider([reader]))

with MemoryBank.open() as bank:
    bank.remember(("acme", "alice"), [("user", "My rent in Ghent is 900 euros.")], session="s1")
    bank.recall(("acme", "alice"), "What is my rent?", token_budget=200)
    try:
        bank.recall(("acme", "alice"), 7)
    except InvalidInput:
        pass
shown = [json.loads(each.to_json()) for each in spans.get_finished_spans()]
print(json.dumps({"spans": shown, "metrics": json.loads(reader.get_metrics_data().to_json())}))
"""


def _traced(script: str = _SPANS, **environment: str) -> dict[str, Any]:
    env = {name: value for name, value in os.environ.items() if not name.startswith("OTEL_")} | environment
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, env=env)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_a_recall_says_how_long_each_stage_took() -> None:
    with MemoryBank.open() as bank:
        remembered = bank.remember(SCOPE, TALK, session="s1")
        recall = bank.recall(SCOPE, "What is my rent?")

        assert remembered.work.stages.keys() >= {"write", "derive", "other"}
        assert recall.work.stages.keys() >= {"read", "search", "pack", "other"}
        assert all(each >= 0 for each in recall.work.stages.values())
        assert recall.work.stages.keys().isdisjoint({"vector store", "layers", "model"}), "nothing of the kind is there"
        assert recall.work.calls == 0

        bank.recall(SCOPE, "What is my rent?")
        sums = bank.health().work
        assert (sums["recall"].operations, sums["remember"].operations) == (2, 1)
        assert sums["recall"].milliseconds > recall.work.milliseconds


def test_two_recalls_of_the_same_are_equal_whatever_they_took() -> None:
    with MemoryBank.open() as bank:
        bank.remember(SCOPE, TALK, session="s1")

        assert bank.recall(SCOPE, "What is my rent?") == bank.recall(SCOPE, "What is my rent?")


def test_calls_of_models_count_for_the_operation_that_makes_them() -> None:
    model = ScriptedModel(lambda prompt: "<memory>\nUser: The rent is 900 euros.\n</memory>")
    with MemoryBank.open(model=model, summaries=True) as bank:
        open_session = bank.remember(SCOPE, TALK, session="s1")
        closed = bank.remember(SCOPE, [("user", "Thanks, bye.")], session="s1", close=True)

        assert open_session.work.calls == 0
        assert closed.work.calls == bank.health().cost.calls > 0
        assert closed.work.tokens_in == bank.health().cost.tokens_in
        assert closed.work.stages["model"] > 0


def test_a_stage_within_a_stage_counts_for_itself_alone() -> None:
    operations = Operations()
    inner = staged("inner")(lambda: count_model_call(3, 4))
    outer = staged("outer")(lambda: [inner(), inner()])
    inner()

    with operations.measured("whole") as (measured, _):
        outer()
        work = measured.work
    with pytest.raises(ZeroDivisionError), operations.measured("whole"):
        staged("outer")(lambda: 1 / 0)()

    assert (work.operations, work.calls, work.tokens_in, work.tokens_out) == (1, 2, 6, 8)
    assert list(work.stages) == ["other", "outer", "inner"]
    assert operations.sums["whole"].operations == 2
    assert operations.sums["whole"].calls == 2


def test_works_add_up() -> None:
    one = Work(1, 2, 3, 4, {"read": 1.0}, rerank_calls=1, rerank_texts=30, rerank_tokens=500)
    other = Work(1, 1, 1, 1, {"read": 2.0, "search": 5.0}, rerank_calls=2, rerank_texts=3, rerank_tokens=4)

    assert one + other == Work(2, 3, 4, 5, {"read": 3.0, "search": 5.0}, 3, 33, 504)
    assert (one + other).milliseconds == 8.0


with_the_sdk = pytest.mark.skipif(not find_spec("opentelemetry.sdk"), reason="needs the package opentelemetry-sdk")


@with_the_sdk
@pytest.mark.slow
def test_spans_and_metrics_hold_no_words() -> None:
    found = _traced()

    names = [each["name"] for each in found["spans"]]
    [recall] = [
        each for each in found["spans"] if each["name"] == "secom recall" and "secom.hits" in each["attributes"]
    ]
    [search] = [each for each in found["spans"] if each["name"] == "secom recall search"]
    [failed] = [each for each in found["spans"] if each["status"]["status_code"] == "ERROR"]
    assert {"secom remember", "secom remember write", "secom remember derive"} <= set(names)
    assert search["parent_id"] == recall["context"]["span_id"]
    assert recall["attributes"]["secom.hits"] == 1
    assert failed["status"]["description"] == "InvalidInput"
    assert {"Ghent", "rent", "alice", "acme"}.isdisjoint(json.dumps(found).replace('"', " ").replace(".", " ").split())
    metrics = [each["name"] for each in found["metrics"]["resource_metrics"][0]["scope_metrics"][0]["metrics"]]
    assert metrics == ["secom.operation.duration"]


@with_the_sdk
@pytest.mark.slow
def test_what_a_reranker_costs_is_in_spans_and_metrics() -> None:
    judged = "MemoryBank.open(reranker=lambda query, texts: [1.0] * len(texts))"
    said = '("user", "My rent in Ghent is 900 euros."), ("user", "The rent rises.")'
    script = _SPANS.replace("MemoryBank.open()", judged).replace('("user", "My rent in Ghent is 900 euros.")', said)
    found = _traced(script)

    [recall] = [each for each in found["spans"] if "secom.hits" in each["attributes"]]
    [rerank] = [each for each in found["spans"] if each["name"] == "secom recall rerank"]
    counted = {name: recall["attributes"][f"secom.rerank_{name}"] for name in ("calls", "texts", "tokens")}
    metrics = found["metrics"]["resource_metrics"][0]["scope_metrics"][0]["metrics"]
    summed = {each["name"]: each["data"]["data_points"][0].get("value") for each in metrics}
    assert rerank["parent_id"] == recall["context"]["span_id"]
    assert (counted["calls"], counted["texts"]) == (1, 2)
    assert counted["tokens"] > 4
    assert {f"secom.rerank.{name}": count for name, count in counted.items()}.items() <= summed.items()
    assert "Ghent" not in json.dumps(found)


@with_the_sdk
@pytest.mark.slow
def test_spans_hold_words_where_the_application_says_so() -> None:
    found = _traced(OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT="true")

    [recall] = [each for each in found["spans"] if "secom.query" in each["attributes"]]
    assert recall["attributes"]["secom.query"] == "What is my rent?"
    assert "900 euros" in recall["attributes"]["secom.block"]


_FAILING = """
import json, warnings
from opentelemetry import trace
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from secom_core import MemoryBank
from secom_core.errors import DegradedWarning

class Failing(SpanProcessor):
    def {method}(self, *_, **__):
        raise RuntimeError("no collector")

provider = TracerProvider()
provider.add_span_processor(Failing())
trace.set_tracer_provider(provider)
with warnings.catch_warnings(record=True) as caught, MemoryBank.open() as bank:
    warnings.simplefilter("always")
    new = bank.remember(("acme", "alice"), [("user", "My rent in Ghent is 900 euros.")], session="s1").new
    text = bank.recall(("acme", "alice"), "What is my rent?", token_budget=200).text
print(json.dumps({{"new": new, "text": text, "kinds": sorted({{each.category.__name__ for each in caught}})}}))
"""


@with_the_sdk
@pytest.mark.slow
@pytest.mark.parametrize("method", ["on_start", "on_end"])
def test_what_follows_spans_may_fail_and_nothing_is_lost(method: str) -> None:
    found = _traced(_FAILING.format(method=method))
    assert found["new"] == 1
    assert "900 euros" in found["text"]
    assert found["kinds"] == ["DegradedWarning"]
