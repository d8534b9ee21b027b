"""A language model learns from its own mistakes, and is seen to segment better; nothing is paid for twice."""

from __future__ import annotations

import asyncio
import json
import math
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import rubric_talk as talk

from benchmarks.evaluation.segmentation import SegmentationScore, evaluate
from secom_core.conversation import as_turns
from secom_core.errors import DegradedWarning, InvalidInput, SchemaTooNew
from secom_core.llm.flow import Cost, Prompt, run
from secom_core.memory import Segment, boundaries_of
from secom_core.models import OpenAIModel
from secom_core.presets import secom
from secom_core.protocols import ChatModel
from secom_core.segmenters import LexicalSegmenter, Rubric, RubricLearner, WholeSession, ZeroShotSegmenter
from secom_core.testing import Answer, Fault, ScriptedModel, ScriptedRequest, ScriptedServer

ANNOTATED = talk.sessions(0, 16)
HELD_OUT = talk.sessions(100, 30)
LEARNED = {"return", "greeting", "date", "permission", "addition"}
FIVE = {"items": 5, "top_k": 12}


def learn_sync(learner: RubricLearner, sessions: Sequence[talk.Session], **options: object) -> Rubric:
    return learner.learn(sessions, **options)


def learn_async(learner: RubricLearner, sessions: Sequence[talk.Session], **options: object) -> Rubric:
    return asyncio.run(learner.alearn(sessions, **options))


both = pytest.mark.parametrize("learn", [learn_sync, learn_async])


def measured(model: ChatModel, rubric: Rubric) -> SegmentationScore:
    segmenter = ZeroShotSegmenter(model, fallback=WholeSession(), guidance=rubric.guidance, examples=rubric.examples)
    found = [boundaries_of(segmenter.segment(turns)) for turns, _ in HELD_OUT]
    return evaluate([boundaries_of(segments) for _, segments in HELD_OUT], found)


def cues_in(rubric: Rubric) -> set[str]:
    return {cue for cue in talk.CUES if cue in (rubric.guidance or "")}


def asked_to_reflect(requests: Sequence[ScriptedRequest]) -> list[ScriptedRequest]:
    return [request for request in requests if "<reflection>" in request.text]


# -- it learns


@pytest.mark.slow
@both
def test_over_http_held_out_sessions_are_segmented_better_with_what_was_learned(learn, tmp_path):
    pytest.importorskip("openai", reason="needs the openai extra")
    with ScriptedServer(talk.model) as server:
        model = OpenAIModel("tiny", base_url=server.base_url, timeout=30, max_retries=0)
        rubric = learn(RubricLearner(model, **FIVE, state=tmp_path / "state.jsonl"), ANNOTATED)
        assert len(server.requests) == rubric.cost.calls == 16 + 5
        before = measured(model, Rubric())
        rubric.save(tmp_path / "rubric.md")
        after = measured(model, Rubric.load(tmp_path / "rubric.md"))
    print(f"held out, zero-shot: WD {before.window_diff:.3f}, Score {before.score:.3f}; {rubric.cost}")
    print(f"held out, with {len(rubric.items)} rules: WD {after.window_diff:.3f}, Score {after.score:.3f}")
    assert cues_in(rubric) == LEARNED
    assert before.window_diff > 0.5
    assert before.score < 0.4
    assert after.window_diff < 0.05
    assert after.score > 0.95


def test_each_rule_helps():
    model = ScriptedModel(talk.model)
    rubric = RubricLearner(model, **FIVE).learn(ANNOTATED)
    errors = [measured(model, Rubric(rubric.items[:count])).window_diff for count in range(6)]
    assert errors == sorted(errors, reverse=True)
    assert len(set(errors)) == 6


def test_rules_the_model_did_not_need_help_nothing():
    model = ScriptedModel(talk.model)
    assert measured(model, Rubric(("Take your time.",))) == measured(model, Rubric())


# -- as in the paper


def test_the_hardest_sessions_are_dealt_hardest_first_and_one_rule_comes_from_each_mini_batch():
    model = ScriptedModel(talk.model)
    rubric = RubricLearner(model, items=3, top_k=6).learn(ANNOTATED)
    zero_shot = ZeroShotSegmenter(ScriptedModel(talk.model), fallback=WholeSession())
    errors = {}
    for turns, segments in ANNOTATED:
        score = evaluate([boundaries_of(segments)], [boundaries_of(zero_shot.segment(turns))])
        errors["\n".join(turn.text for turn in turns)] = score.window_diff
    reflections = asked_to_reflect(model.requests)
    shown = [
        "\n".join(talk.exchanges(body))
        for request in reflections
        for body in re.findall(r"<conversation number=.*?</conversation>", request.text, re.DOTALL)
    ]
    found = [errors[text] for text in shown]
    assert found == sorted(errors.values(), reverse=True)[:6]
    assert [request.text.count("<conversation number=") for request in reflections] == [2, 2, 2]
    assert len(rubric.items) == len(rubric.examples) == 3


def test_later_mini_batches_are_shown_the_rules_so_far():
    model = ScriptedModel(talk.model)
    rubric = RubricLearner(model, **FIVE).learn(ANNOTATED)
    for place, request in enumerate(asked_to_reflect(model.requests)):
        assert [item in request.text for item in rubric.items] == [rank < place for rank in range(5)]


def test_the_prediction_stays_zero_shot_and_all_sessions_are_segmented_once():
    model = ScriptedModel(talk.model)
    RubricLearner(model, **FIVE).learn(ANNOTATED)
    segmenting = [request for request in model.requests if request.purpose == "segment"]
    assert len(segmenting) == len(ANNOTATED)
    assert not [request for request in segmenting if "<rubric>" in request.text]
    assert model.requests[: len(segmenting)] == tuple(segmenting)


def test_an_example_has_the_prediction_the_truth_and_the_reflection():
    model = ScriptedModel(talk.model)
    rubric = RubricLearner(model, items=1, top_k=1).learn(ANNOTATED)
    (example,) = rubric.examples
    (request,) = asked_to_reflect(model.requests)
    predicted = re.search(r"Conversation 1 as the model divided it: (.*)", request.text)
    assert f"Wrong at first: {predicted[1]}." in example
    assert "it shows the cue." in example
    turns, segments = next(each for each in ANNOTATED if [turn.text for turn in each[0]] == talk.exchanges(example))
    assert json.loads(example.splitlines()[-2])["end_exchange_number"] == len(turns) - 1
    assert len(re.findall("segment_id", example)) == len(segments)


def test_sessions_without_error_teach_nothing():
    plain = [(as_turns(["By the way, one", "two", "By the way, three"]), [Segment(0, 2), Segment(2, 3)])]
    model = ScriptedModel(talk.model)
    rubric = RubricLearner(model).learn(plain)
    assert (rubric.items, rubric.guidance, len(model.requests)) == ((), None, 1)


def test_a_batch_is_drawn_by_its_seed():
    def asked(seed: int) -> set[str]:
        model = ScriptedModel(talk.model)
        RubricLearner(model, items=1, batch=4, seed=seed).learn(ANNOTATED)
        return {request.text for request in model.requests if request.purpose == "segment"}

    assert len(asked(1)) == 4
    assert asked(1) == asked(1) != asked(2)


def test_it_goes_on_from_a_rubric():
    start = Rubric((talk.rule("greeting"), "A hand-written rule."))
    model = ScriptedModel(talk.model)
    rubric = RubricLearner(model, items=6, top_k=12, start=start).learn(ANNOTATED)
    assert rubric.items[:2] == start.items
    assert cues_in(rubric) == LEARNED
    assert "A hand-written rule." in model.requests[0].text


def test_an_earlier_rule_may_be_put_in_other_words():
    def revises(request: ScriptedRequest) -> str:
        reply = talk.model(request)
        return f"{reply}\n<revision>1: An addition is no opening.</revision>" if "<rules>" in request.text else reply

    rubric = RubricLearner(ScriptedModel(revises), items=2, top_k=4).learn(ANNOTATED)
    assert rubric.items[0] == "An addition is no opening."
    assert len(rubric.items) == 2


def test_a_long_session_is_segmented_in_windows():
    texts = [turn.text for turns, _ in ANNOTATED for turn in turns]
    stops = [len(turns) for turns, _ in ANNOTATED]
    edges = [sum(stops[:place]) for place in range(len(stops) + 1)]
    segments = [
        Segment(base + segment.start, base + segment.stop)
        for base, (_, own) in zip(edges, ANNOTATED, strict=False)
        for segment in own
    ]
    model = ScriptedModel(talk.model)
    rubric = RubricLearner(model, items=1, window_turns=40).learn([(as_turns(texts), segments)])
    assert len(model.requests) > 4
    assert len(rubric.items) == 1


# -- held out


def misleading(request: ScriptedRequest) -> str:
    """The second rule that it gives is a wrong one: permission is not asked for, it is only an addition."""
    if "<reflection>" in request.text and talk.rule("addition") in request.text:
        return talk.written("A greeting, a date, nothing else: go by each addition at once.")
    if "at once" in talk.between(request.text, "<rubric>", "</rubric>"):
        count = len(talk.exchanges(request.text[request.text.rindex("<conversation>") :]))
        body = "\n".join(json.dumps({"start_exchange_number": n, "end_exchange_number": n}) for n in range(count))
        return f"<segmentation>\n{body}\n</segmentation>"
    return talk.model(request)


@pytest.mark.slow
@both
def test_where_asked_for_a_rule_that_does_harm_is_dropped(learn):
    def learned(**options: object) -> tuple[str, ...]:
        return learn(RubricLearner(ScriptedModel(misleading), items=2, top_k=4), ANNOTATED, **options).items

    assert [len(learned()), len(learned(held_out=HELD_OUT[:6]))] == [2, 1]
    note = learn(RubricLearner(ScriptedModel(misleading), items=2, top_k=4), ANNOTATED, held_out=HELD_OUT[:6]).note
    assert "1 rules made held-out sessions worse" in note


# -- faults


@pytest.mark.slow
@both
@pytest.mark.parametrize(
    "bad",
    ["I would rather not.", Answer(""), talk.written(""), talk.written(talk.rule("addition")), "<rubric></rubric>"],
    ids=["prose", "empty", "no rule", "a rule again", "empty tags"],
)
def test_a_bad_reflection_is_asked_for_once_more_then_its_mini_batch_is_left_out(learn, bad):
    def spoils_the_second(request: ScriptedRequest) -> str | Answer:
        second = "<reflection>" in request.text and talk.rule("addition") in request.text
        return bad if second and "permission" not in request.text.split("<conversation")[0] else talk.model(request)

    def once(request: ScriptedRequest) -> str | Answer:
        return talk.model(request) if "could not be used" in request.text else spoils_the_second(request)

    model = ScriptedModel(once)
    assert len(learn(RubricLearner(model, items=2, top_k=4), ANNOTATED).items) == 2
    assert len(asked_to_reflect(model.requests)) == 3 or not isinstance(bad, str)
    with pytest.warns(DegradedWarning, match="no rule for mini-batch 2, which is left out: "):
        rubric = learn(RubricLearner(ScriptedModel(spoils_the_second), items=2, top_k=4), ANNOTATED)
    assert rubric.items == (talk.rule("addition"),)


@both
def test_a_session_that_is_not_segmented_is_left_out(learn):
    lost = ANNOTATED[3][0][0].text

    def prose_for_one(request: ScriptedRequest) -> str:
        return (
            "No."
            if request.text.rpartition("<conversation>")[2].startswith(f"\n[Exchange 0]: {lost}")
            else (talk.model(request))
        )

    alike = sum(turns[0].text == lost for turns, _ in ANNOTATED)
    with pytest.warns(DegradedWarning, match=f"did not segment {alike} of 16 sessions, which are left out: there is"):
        rubric = learn(RubricLearner(ScriptedModel(prose_for_one), **FIVE), ANNOTATED)
    assert cues_in(rubric) == LEARNED
    assert f"12 hardest of {16 - alike} sessions" in rubric.note


@both
def test_a_model_that_stays_away_is_not_waited_for_again_and_again(learn):
    model = ScriptedModel(Fault(status=503))
    with pytest.warns(DegradedWarning) as caught:
        rubric = learn(RubricLearner(model, limit=1), ANNOTATED)
    assert rubric.items == ()
    assert (len(model.requests), rubric.cost.calls) == (3, 3)
    assert any("no answer 3 times in a row: scripted HTTP status 503" in str(each.message) for each in caught)


@pytest.mark.slow
def test_a_time_out_over_http_leaves_one_session_out_and_is_asked_again_by_the_next_run(tmp_path):
    pytest.importorskip("openai", reason="needs the openai extra")
    hung: list[str] = []

    def hangs_once(request: ScriptedRequest) -> str | Fault:
        if len(hung) == 0 and "<reflection>" not in request.text:
            hung.append(request.text)
            return Fault(delay=math.inf)
        return talk.model(request)

    state = str(tmp_path / "state.jsonl")
    with ScriptedServer(hangs_once) as server:
        impatient = OpenAIModel("tiny", base_url=server.base_url, timeout=0.3, max_retries=0)
        with pytest.warns(DegradedWarning, match="did not segment 1 of 16 .*gave no answer: .*timed out"):
            rubric = RubricLearner(impatient, **FIVE, state=state).learn(ANNOTATED)
        assert cues_in(rubric) == LEARNED
        patient = talk.learn(server.base_url, state, ANNOTATED)
        assert "of 16 sessions" in patient.note
    times = Counter(request.text for request in server.requests)
    assert [text for text, count in times.items() if count > 1] == hung


def test_another_error_is_not_hidden(tmp_path):
    def broken(request: ScriptedRequest) -> str:
        raise KeyError("bug")

    with pytest.raises(KeyError, match="bug"):
        RubricLearner(ScriptedModel(broken), state=tmp_path / "state").learn(ANNOTATED)


# -- going on


@pytest.mark.slow
def test_killed_in_the_middle_it_goes_on_without_asking_anything_twice(tmp_path):
    pytest.importorskip("openai", reason="needs the openai extra")
    hang_at = 18  # the 16 sessions and one mini-batch are answered
    state = str(tmp_path / "state.jsonl")

    def hangs(request: ScriptedRequest) -> str | Fault:
        return Fault(delay=math.inf) if len(server.requests) == hang_at else talk.model(request)

    with ScriptedServer(hangs) as server:
        path = str(Path(__file__).parents[2])
        command = [sys.executable, str(Path(talk.__file__)), server.base_url, state]
        child = subprocess.Popen(command, cwd=path, env={"PYTHONPATH": path, "PATH": ""})
        deadline = time.monotonic() + 60
        while len(server.requests) < hang_at and time.monotonic() < deadline and child.poll() is None:
            time.sleep(0.02)
        child.kill()
        assert child.wait(10) == -9
        assert len(Path(state).read_text("utf-8").splitlines()) == hang_at  # a header, and 17 replies
        rubric = talk.learn(server.base_url, state, ANNOTATED)
    times = Counter(request.prompt for request in server.requests)
    hung = server.requests[hang_at - 1].prompt
    assert {prompt: count for prompt, count in times.items() if count > 1} == {hung: 2}
    assert len(server.requests) == 21 + 1
    whole = RubricLearner(ScriptedModel(talk.model, name="tiny"), **FIVE).learn(ANNOTATED)
    assert rubric == whole


@both
def test_what_is_done_costs_nothing_again(learn, tmp_path):
    model = ScriptedModel(talk.model)
    learner = RubricLearner(model, **FIVE, state=tmp_path / "state.jsonl")
    first = learn(learner, ANNOTATED)
    asked = len(model.requests)
    assert learn(learner, ANNOTATED) == first
    assert len(model.requests) == asked == first.cost.calls


def test_more_sessions_later_ask_only_about_those(tmp_path):
    model = ScriptedModel(talk.model)
    learner = RubricLearner(model, items=1, top_k=1, state=tmp_path / "state.jsonl")
    learner.learn(ANNOTATED[:10])
    before = len(model.requests)
    learner.learn(ANNOTATED)
    later = [request for request in model.requests[before:] if request.purpose == "segment"]
    assert len(later) == 6


def state_after_a_run(tmp_path: Path) -> Path:
    path = tmp_path / "state.jsonl"
    RubricLearner(ScriptedModel(talk.model), **FIVE, state=path).learn(ANNOTATED)
    return path


def torn(lines: list[str]) -> list[str]:
    return [*lines[:-1], lines[-1][:50]]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("damage", "error", "reason"),
    [
        (torn, InvalidInput, r"line 22 of .*state\.jsonl is damaged; .*'\{\"purpose\": \"reflect\""),
        (lambda lines: [*lines[:4], "scribble", *lines[5:]], InvalidInput, "line 5 .* 'scribble'"),
        (lambda lines: [*lines[:4], '{"prompt": "a", "reply": 3}', *lines[5:]], InvalidInput, "line 5 .*3"),
        (lambda lines: [*lines[:4], "[" * 100_000, *lines[5:]], InvalidInput, r"line 5 .*\[\[\[…"),
        (lambda lines: lines[1:], InvalidInput, "no state of a rubric's learning, its first line is '"),
        (lambda lines: ["Dear diary"], InvalidInput, "no state of a rubric's learning, its first line is 'Dear diary'"),
        (lambda lines: [lines[0].replace("scripted", "gpt-4"), *lines[1:]], InvalidInput, "'gpt-4', got 'scripted'"),
        (lambda lines: [lines[0].replace(": 1", ": 2"), *lines[1:]], SchemaTooNew, "version 2.* up to 1"),
        (lambda lines: [lines[0].replace(": 1", ": null"), *lines[1:]], InvalidInput, '"version": null'),
    ],
)
def test_a_state_that_cannot_be_read_says_where_and_stays_as_it_is(tmp_path, damage, error, reason):
    path = state_after_a_run(tmp_path)
    path.write_text("\n".join(damage(path.read_text("utf-8").splitlines())), "utf-8")
    before = path.read_bytes()
    model = ScriptedModel(talk.model)
    with pytest.raises(error, match=reason):
        RubricLearner(model, **FIVE, state=path).learn(ANNOTATED)
    assert path.read_bytes() == before
    assert model.requests == ()


def test_without_its_damaged_line_a_state_asks_only_for_what_was_lost(tmp_path):
    path = state_after_a_run(tmp_path)
    lines = path.read_text("utf-8").splitlines()
    path.write_text("\n".join(lines[:-1]), "utf-8")  # by hand, without a line break at the end
    model = ScriptedModel(talk.model)
    RubricLearner(model, **FIVE, state=path).learn(ANNOTATED)
    assert len(model.requests) == 1
    assert path.read_text("utf-8").splitlines() == lines


def test_bytes_that_are_no_text_are_no_state(tmp_path):
    (tmp_path / "state").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InvalidInput, match=r"no state of a rubric's learning, its first line is .*xff"):
        RubricLearner(ScriptedModel("x"), state=tmp_path / "state").learn(ANNOTATED)


def test_a_file_that_cannot_be_written_is_noticed_before_anything_is_paid(tmp_path):
    model = ScriptedModel(talk.model)
    with pytest.raises(OSError, match="nowhere"):
        RubricLearner(model, state=tmp_path / "nowhere" / "state").learn(ANNOTATED)
    assert model.requests == ()


def test_any_reply_can_be_written_down(tmp_path):
    odd = "你好 \ud800 \0 \u2028 <rubric>"
    path = tmp_path / "state.jsonl"
    session = (as_turns(["a", "b"]), [Segment(0, 2)])
    for _ in range(2):
        with pytest.warns(DegradedWarning, match="did not segment 1 of 1"):
            RubricLearner(ScriptedModel(odd), state=path).learn([session])
    assert [json.loads(line)["reply"] for line in path.read_text("utf-8").split("\n")[1:3]] == [odd, odd]
    assert "你好" in path.read_text("utf-8")


# -- what it costs


def test_the_cost_is_that_of_the_prompts_and_replies():
    model = ScriptedModel(talk.model)
    rubric = RubricLearner(model, **FIVE, token_counter=len).learn(ANNOTATED)
    asked = sum(len(text) for request in model.requests for _, text in request.messages)
    said = sum(len(talk.model(request)) for request in model.requests)
    assert rubric.cost == Cost(21, asked, said)


@both
def test_the_most_calls_are_kept_and_what_was_learned_is_given(learn, tmp_path):
    model = ScriptedModel(talk.model)
    state = tmp_path / "state.jsonl"
    with pytest.warns(DegradedWarning, match=r"cut short at 5 new rules: max_calls=19\. Learned .*same state"):
        rubric = learn(RubricLearner(model, items=5, top_k=12, max_calls=19, state=state, limit=1), ANNOTATED[:16])
    # Five of 19 are left to the rules, so 14 sessions are segmented.
    assert len(model.requests) == rubric.cost.calls == 19
    assert "12 hardest of 14 sessions" in rubric.note
    assert len(rubric.items) == 5


@both
def test_a_larger_limit_goes_on_where_the_smaller_one_stopped(learn, tmp_path):
    model = ScriptedModel(talk.model)
    state = tmp_path / "state.jsonl"
    options = {"items": 5, "top_k": 100, "state": state, "limit": 1}
    with pytest.warns(DegradedWarning, match="max_calls=10"):
        small = learn(RubricLearner(model, max_calls=10, **options), ANNOTATED)
    assert len(model.requests) == 10
    assert 3 <= len(small.items) <= 5
    assert "of 5 sessions" in small.note  # at least half of the calls may go into segmenting
    with pytest.warns(DegradedWarning, match="max_calls=10"):
        assert learn(RubricLearner(model, max_calls=10, **options), ANNOTATED) == small
    assert len(model.requests) == 10
    large = learn(RubricLearner(model, **options), ANNOTATED)
    assert "of 16 sessions" in large.note
    times = Counter(request.prompt for request in model.requests)
    assert set(times.values()) == {1}


@both
def test_the_most_tokens_are_kept_to_within_a_reply(learn):
    model = ScriptedModel(talk.model)
    with pytest.warns(DegradedWarning, match="max_tokens=9000"):
        rubric = learn(RubricLearner(model, **FIVE, max_tokens=9000, limit=1), ANNOTATED)
    assert 4000 < rubric.cost.tokens_in + rubric.cost.tokens_out <= 9000 + 300
    assert rubric.items


def test_threads_keep_the_most_calls_too():
    model = ScriptedModel(lambda request: Answer(talk.model(request), delay=0.01))
    with pytest.warns(DegradedWarning, match="max_calls=9"):
        RubricLearner(model, **FIVE, max_calls=9, limit=6).learn(ANNOTATED)
    assert len(model.requests) == 9


def test_threads_learn_the_same():
    one, many = (RubricLearner(ScriptedModel(talk.model), **FIVE, limit=limit).learn(ANNOTATED) for limit in (1, 8))
    assert one == many


def test_progress_is_shown_where_asked_for(capsys):
    RubricLearner(ScriptedModel(talk.model), **FIVE).learn(ANNOTATED)
    assert capsys.readouterr().err == ""
    RubricLearner(ScriptedModel(talk.model), **FIVE, progress=True).learn(ANNOTATED)
    assert "21/21" in capsys.readouterr().err


# -- what it takes


@pytest.mark.parametrize("name", ["items", "top_k", "batch", "max_calls", "max_tokens", "example_tokens", "limit"])
def test_numbers_are_one_or_more(name):
    with pytest.raises(InvalidInput, match=f"{name} is at least 1, got 0"):
        RubricLearner(ScriptedModel("x"), **{name: 0})


def test_other_things_that_cannot_be():
    with pytest.raises(InvalidInput, match="start has 1 rules, which leaves none to learn of 1"):
        RubricLearner(ScriptedModel("x"), items=1, start=Rubric(("One.",)))
    with pytest.raises(InvalidInput, match="max_turns=1"):
        RubricLearner(ScriptedModel("x"), window_turns=1)
    for sessions in ([], [(as_turns(["alone"]), [Segment(0, 1)])]):
        with pytest.raises(InvalidInput, match=f"two turns or more, got none in {len(sessions)}"):
            RubricLearner(ScriptedModel("x")).learn(sessions)
    with pytest.raises(InvalidInput, match="segments end at turn 1, the session has 2"):
        RubricLearner(ScriptedModel("x")).learn([(as_turns(["a", "b"]), [Segment(0, 1)])])


async def test_models_of_one_kind():
    class OnlySync:
        def complete(self, prompt: Prompt) -> str:
            return ScriptedModel(talk.model).complete(prompt)

    class OnlyAsync:
        async def acomplete(self, prompt: Prompt) -> str:
            return await ScriptedModel(talk.model).acomplete(prompt)

    sync, only_async = RubricLearner(OnlySync(), **FIVE), RubricLearner(OnlyAsync(), **FIVE)
    assert (await sync.alearn(ANNOTATED)).items == (await only_async.alearn(ANNOTATED)).items
    with pytest.raises(InvalidInput, match="OnlyAsync has no complete"):
        only_async.learn(ANNOTATED)


async def test_the_event_loop_stays_free(tmp_path):
    blockbuster = pytest.importorskip("blockbuster", reason="needs blockbuster")
    model = ScriptedModel(talk.model)
    learner = RubricLearner(model, **FIVE, state=tmp_path / "state.jsonl")
    with blockbuster.blockbuster_ctx(["secom_core"]):
        rubric = await learner.alearn(ANNOTATED)
        assert cues_in(await learner.alearn(ANNOTATED)) == cues_in(rubric) == LEARNED


def test_the_procedure_takes_any_model():
    learner = RubricLearner(ScriptedModel([]), **FIVE)
    assert cues_in(run(learner.procedure(ANNOTATED), ScriptedModel(talk.model))) == LEARNED


def test_the_preset_segments_with_what_was_learned():
    class Same:
        def denoise(self, texts: Sequence[str], statistics: object = None) -> list[str]:
            return list(texts)

    model = ScriptedModel(talk.model)
    rubric = RubricLearner(model, **FIVE).learn(ANNOTATED)
    turns, segments = HELD_OUT[0]
    assert secom(model, denoiser=Same(), rubric=rubric).segmenter.segment(turns) == segments
    assert secom(model, denoiser=Same()).segmenter.segment(turns) != segments
    assert rubric.examples[0] in model.requests[-2].text


def test_a_learned_rubric_reaches_the_local_segmenter_only_as_a_fallback():
    segmenter = ZeroShotSegmenter(ScriptedModel(Fault()), fallback=LexicalSegmenter(), guidance="- x")
    with pytest.warns(DegradedWarning, match="LexicalSegmenter"):
        segmenter.segment(HELD_OUT[0][0])
