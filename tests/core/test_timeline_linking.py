"""Phase I: events from a session, and what each is linked to (Theanine section 2.1, Algorithm 1)."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Sequence
from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from secom_core.bank import MemoryBank
from secom_core.conversation import Message, Turn, as_turns, group_messages
from secom_core.drafts.extraction import segment_drafts
from secom_core.drafts.grounding import counted_from_0, joins, resting_on
from secom_core.errors import ContextTooLong, DegradedWarning
from secom_core.llm.flow import Prompt, run
from secom_core.llm.limits import room
from secom_core.memory import Memory
from secom_core.testing import Answer, Fault, ScriptedModel, ScriptedRequest
from secom_core.text.terms import count_tokens
from secom_core.timelines import Event, Link, Relation, Timeline
from secom_core.timelines.events import events_prompt, extract_events
from secom_core.timelines.graph import MemoryGraph
from secom_core.timelines.linking import Associate, SameTopicRule, link_by_model, link_by_rule, links_of
from secom_core.timelines.refinement import refine

DAY = datetime(2025, 1, 1, tzinfo=timezone.utc)


def event(number: int, day: int | None = None) -> Event:
    return Event(number, f"event {number}", DAY + timedelta(days=number if day is None else day), "s", ("t",))


def associates(graph: MemoryGraph, *ids: int, similarity: float = 0.9) -> list[Associate]:
    return [Associate(graph.event(each), similarity, graph.component_of(each)) for each in ids]


# -- the paper's Figure 3 ---------------------------------------------------------------------------------------------


def figure_3() -> MemoryGraph:
    """Two components: 0 - 1 - 2 and 3 - 4, and an event by itself, 5."""
    graph = MemoryGraph()
    for number, before in ((0, None), (1, 0), (2, 1), (3, None), (4, 3), (5, None)):
        graph.add(event(number), [] if before is None else [Link(before, number, Relation.CAUSE)])
    return graph


def test_figure_3_the_new_memory_is_linked_to_the_most_recent_related_one_of_each_component():
    graph = figure_3()
    # (a) associative memories 0, 1 and 3; (b) all with a relation, in two components; (c) 1 and 3 are linked.
    new = event(9)
    model = ScriptedModel({"<A>event 0": "Relation: Cause", "<A>event 1": "Relation: Changed", "": "Relation: Want"})
    links = run(
        link_by_model([(new, associates(graph, 0, 1, 3))], dialogue=lambda each, _: each.text, rule=SameTopicRule()),
        model,
    ).links
    assert links == [Link(1, 9, Relation.CHANGED), Link(3, 9, Relation.WANT)]
    graph.add(new, links)
    assert [event.id for event in graph.components()[0]] == [0, 1, 2, 3, 4, 9]
    assert graph.steps_on(2) == [], "nothing that was there is taken away or moved"


def test_none_is_no_link():
    graph = figure_3()
    pairs = [(event(9), associates(graph, 2, 4, 5))]
    model = ScriptedModel({"<A>event 4": "Relation: SameTopic", "": "Relation: None"})
    links = run(link_by_model(pairs, dialogue=lambda each, _: each.text, rule=SameTopicRule()), model).links
    assert links == [Link(4, 9, Relation.SAME_TOPIC)]


def test_an_event_from_before_the_graphs_is_asked_about_and_linked_the_right_way_round():
    graph = figure_3()
    asked = ScriptedModel("Relation: Cause")
    early = event(9, day=-3)
    [link] = run(
        link_by_model(
            [(early, associates(graph, 5))], dialogue=lambda each, _: f"talk {each.id}", rule=SameTopicRule()
        ),
        asked,
    ).links
    assert link == Link(9, 5, Relation.CAUSE)
    text = asked.requests[0].text
    assert "<A>event 9</A>\n<B>event 5</B>" in text
    assert text.index("talk 9") < text.index("talk 5")


def test_all_questions_of_a_session_are_asked_together():
    graph = figure_3()
    new = [(event(9), associates(graph, 0, 3)), (event(10), associates(graph, 4)), (event(11), [])]
    asked = link_by_model(new, dialogue=lambda each, _: each.text, rule=SameTopicRule())
    assert len(next(asked)) == 3
    with pytest.raises(StopIteration) as done:
        asked.send(["Relation: Cause", "Relation: None", "Relation: Reason"])
    assert done.value.value.links == [Link(0, 9, Relation.CAUSE), Link(4, 10, Relation.REASON)]


def test_a_bad_reply_is_asked_for_once_more_with_the_reason():
    graph = figure_3()
    model = ScriptedModel(["I could not say.", "Relation: Cause", "Relation: Reason"])
    new = [(event(9), associates(graph, 0, 3))]
    links = run(link_by_model(new, dialogue=lambda each, _: each.text, rule=SameTopicRule()), model).links
    assert {link.relation for link in links} == {Relation.CAUSE, Relation.REASON}
    assert "names no relation of the list" in model.requests[2].text


class Small:
    """A model of a small context, which remembers how long the questions were."""

    def __init__(self, most: int, reply: str) -> None:
        self.most, self.reply, self.sizes = most, reply, list[int]()

    def complete(self, prompt: Prompt) -> str:
        self.sizes.append(count_tokens(prompt.text))
        if self.sizes[-1] > self.most:
            raise ContextTooLong("the prompt is too long")
        return self.reply


def test_what_is_too_long_for_the_model_is_asked_with_half_of_the_conversations():
    graph, model = figure_3(), Small(700, "Relation: Cause")
    asked = link_by_model(
        [(event(9), associates(graph, 0, 3))],
        dialogue=lambda each, tokens: f"{each.text} " + "talk " * (tokens - 10),
        rule=SameTopicRule(),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        links = run(asked, model).links
    assert {link.relation for link in links} == {Relation.CAUSE}
    assert [size <= 700 for size in model.sizes] == [False] * 4 + [True] * 2
    with pytest.warns(DegradedWarning, match="too long"):
        run(
            link_by_model([(event(9), associates(graph, 0))], dialogue=lambda *_: "", rule=SameTopicRule()),
            Small(9, ""),
        )


def test_a_long_timeline_is_rewritten_by_what_is_around_the_event_that_was_found():
    events = tuple(Event(n, f"Ann tells of boat number {n}.", DAY + timedelta(days=n), "s", ("t",)) for n in range(200))
    timeline = Timeline(events, (Relation.CHANGED,) * 199, hits=(120,))
    model = Small(800, "<notes>Ann tells of boats.</notes>")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        [told] = run(refine([timeline], "Which boat?", tokens=2_000), model)
    assert (told.text, told.events) == ("Ann tells of boats.", events)
    assert model.sizes[0] < 2_300
    assert model.sizes[0] > model.sizes[1] > model.sizes[-1]
    with pytest.warns(DegradedWarning, match="too long"):
        assert run(refine([timeline], "Which boat?"), Small(9, "")) == [timeline]


@pytest.mark.parametrize("fault", ["prose", " ", Fault(status=500), "Relation: Friendship"])
def test_where_no_answer_comes_similarity_and_time_decide_and_a_warning_says_so(fault):
    graph = figure_3()
    rule = SameTopicRule(least=0.5, within=timedelta(days=6))
    new = [(event(9), [*associates(graph, 2, 4), *associates(graph, 5, similarity=0.1)])]
    with pytest.warns(DegradedWarning, match="no relation for 3 of 3 pairs"):
        links = run(link_by_model(new, dialogue=lambda each, _: each.text, rule=rule), ScriptedModel(fault)).links
    # 2 is too old, 5 too different.
    assert links == [Link(4, 9, Relation.SAME_TOPIC)]


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(st.data())
def test_links_are_those_of_algorithm_1_by_brute_force(data):
    size = data.draw(st.integers(1, 8))
    graph, edges = MemoryGraph(), set()
    for number in range(size):
        before = data.draw(st.sets(st.integers(0, number - 1), max_size=2)) if number else set()
        graph.add(event(number, data.draw(st.integers(0, 3))), [Link(b, number, Relation.CAUSE) for b in before])
        edges |= {(b, number) for b in before}
    related = data.draw(st.sets(st.integers(0, size - 1)))
    new = event(99, 50)

    def component(member: int) -> frozenset[int]:
        found = {member}
        while more := {b for e in edges for a, b in (e, e[::-1]) if a in found} - found:
            found |= more
        return frozenset(found)

    expected = {
        max(related & each, key=lambda number: graph.event(number).order) for each in {component(r) for r in related}
    }
    links = links_of(new, [(each, Relation.WANT) for each in associates(graph, *sorted(related))])
    assert {link.earlier for link in links} == expected
    assert len(links) == len(expected)


def test_what_algorithm_1_links_has_one_path_at_most_between_two_events():
    # docs/timelines.md says so: each new event has one predecessor a component at most.
    graph = MemoryGraph()
    for number in range(60):
        near = associates(graph, *{number * 7 % 11, number * 5 % 13, number // 2} & set(range(number)))
        graph.add(event(number), link_by_rule([(event(number), near)], SameTopicRule()))
    assert all(graph.paths_to(number) == 1 for number in range(60))
    assert len(graph.links()) > 30


# -- events -----------------------------------------------------------------------------------------------------------


def talk(*texts: str) -> tuple[Turn, ...]:
    said = [Message(text, "", "Ann", f"t{n}", DAY + timedelta(minutes=n)) for n, text in enumerate(texts)]
    return group_messages(said, "s")


TALK = talk(
    "The kiln needs a new thermocouple, so I ordered one.",
    "Good.",
    "Did you hear the accordion?",
    "My cousin Ilse practises the accordion every evening in the garage.",
)
SEGMENTS = [Memory("s#0-2", "kiln", TALK[:2]), Memory("s#2-4", "accordion", TALK[2:])]


def drafts_of(replies: object, turns: Sequence[Turn] = TALK, **options: int) -> list[tuple[str, tuple[str, ...]]]:
    found = run(extract_events(turns, SEGMENTS, **options), ScriptedModel(replies))
    return [(draft.text, tuple(turn.id for turn in draft.turns)) for draft in found.drafts]


def test_events_name_their_turns_and_stand_in_their_order():
    reply = '<events>{"event": "Ilse plays.", "exchanges": [3, 2]}{"event": "A kiln.", "exchanges": [0]}</events>'
    assert drafts_of(reply) == [("A kiln.", ("t0",)), ("Ilse plays.", ("t2", "t3"))]


def test_a_long_session_is_asked_about_in_windows_all_together():
    asked = extract_events(TALK, SEGMENTS, max_tokens=25)
    prompts = next(asked)
    assert len(prompts) > 1
    assert all("[Exchange 0]" in prompt.text for prompt in prompts)
    first = [re.findall(r"\[Exchange 0\]:\s*(.*)", prompt.text)[-1] for prompt in prompts]
    replies = [f'{{"event": "{said}", "exchanges": [0]}}' for said in first]
    with pytest.raises(StopIteration) as done:
        asked.send(replies)
    drafts = done.value.value.drafts
    assert [draft.text for draft in drafts] == first
    assert drafts[-1].turns[0].index > 0


@pytest.mark.parametrize("fault", ["They talked.", '{"event": "x", "exchanges": [4]}', Fault(status=503), " "])
def test_where_a_model_finds_no_events_the_segments_are_the_events(fault):
    with pytest.warns(DegradedWarning, match="no events in 4 turns"):
        found = drafts_of(fault)
    assert [turn_ids for _, turn_ids in found] == [("t0", "t1"), ("t2", "t3")]


TRIP = group_messages(
    [
        Message("I go to Porto with Hanna.", "user"),
        Message("Nice! I sing.", "assistant"),
        Message("我住在成都。", "user"),
    ],
    "s",
)


@pytest.mark.parametrize(
    ("written", "event"),
    [
        ("Ines goes to Porto with Hanna.", "user goes to Porto with Hanna."),
        ("Ines和Hanna去Porto。", "user和Hanna去Porto。"),
        ("I go to Porto with Hanna.", "user: I go to Porto with Hanna."),
        ("I sing", "assistant: I sing"),
        ("My sister Hanna goes to Porto.", "user: My sister Hanna goes to Porto."),
        ("Inesita goes to Porto.", "Inesita goes to Porto."),
        ("Ida goes to Porto.", "Ida goes to Porto."),
    ],
)
def test_an_event_says_whose_it_is_and_is_not_of_the_examples_speaker(written, event):
    # A model of 1.5 billion parameters took the name in the example for that of a user who has none.
    reply = json.dumps({"event": written, "exchanges": [0]}, ensure_ascii=False)
    assert [text for text, _ in drafts_of(f"<events>{reply}</events>", TRIP)] == [event]


def test_an_event_keeps_a_name_that_somebody_has():
    talk = group_messages([Message("Ines goes to Porto.", "user")], "s")
    assert (
        drafts_of('<events>{"event": "Ines goes to Porto.", "exchanges": [0]}</events>', talk)[0][0] == talk[0].content
    )


def test_a_refusal_is_no_event():
    refusal = '{"event": "I cannot assist with extracting personal information about Ilse.", "exchanges": [3]}'
    good = '{"event": "A kiln.", "exchanges": [0]}'
    assert drafts_of([f"<events>{refusal}\n{good}</events>", f"<events>{good}</events>"]) == [("A kiln.", ("t0",))]


def test_a_reference_outside_the_session_is_refused_and_asked_for_again():
    good = '{"event": "A kiln.", "exchanges": [0]}'
    model = ScriptedModel([good.replace("0", "4"), good])
    assert run(extract_events(TALK, SEGMENTS), model).drafts[0].text == "A kiln."
    assert "no exchange 4" in model.requests[1].text


def events_by_word(request: ScriptedRequest) -> str:
    """A model that finds an event in each exchange."""
    shown = re.findall(r"\[Exchange (\d+)\]: Ann: (.*)", request.text)
    return "\n".join(f'{{"event": "Ann: {said}", "exchanges": [{number}]}}' for number, said in shown)


def test_a_reply_that_was_cut_off_is_asked_for_in_halves():
    def cut_off(request: ScriptedRequest) -> Answer | str:
        reply = events_by_word(request)
        return reply if reply.count("event") < 4 else Answer(reply[: len(reply) // 2], finish_reason="length")

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = drafts_of(cut_off)
    assert found == [(f"Ann: {turn.content}", (turn.id,)) for turn in TALK]


def test_of_a_reply_about_one_turn_that_was_cut_off_what_is_whole_is_kept():
    reply = Answer('{"event": "A kiln.", "exchanges": [0]}\n{"event": "It is ol', finish_reason="length")
    with pytest.warns(DegradedWarning, match="used as far as it is whole"):
        assert drafts_of(reply, TALK[:1]) == [("A kiln.", ("t0",))]


def test_a_conversation_that_is_too_long_for_the_model_is_asked_about_in_halves_and_the_size_is_remembered():
    class Small:
        def complete(self, prompt: Prompt) -> str:
            if prompt.text.partition("<conversation>")[2].count("[Exchange ") > 3:
                raise ContextTooLong("maximum context length")
            return events_by_word(ScriptedRequest({"messages": [{"role": "user", "content": prompt.text}]}))

    model = Small()
    found = run(extract_events(TALK, SEGMENTS), model)
    assert [draft.text for draft in found.drafts] == [f"Ann: {turn.content}" for turn in TALK]
    assert room(model, 8000) < 8000


def test_the_good_events_of_two_replies_with_a_bad_one_are_kept():
    reply = '{"event": "A kiln.", "exchanges": [0]}\n{"event": "A boat."}\n{"event": "An accordion.", "exchanges": [3]}'
    with pytest.warns(DegradedWarning, match="used as far as it could be read"):
        assert [text for text, _ in drafts_of(reply)] == ["A kiln.", "An accordion."]


@pytest.mark.parametrize(
    ("text", "named", "kept"),
    [
        ("Ann has found a flat near the harbour.", [0, 2], None),  # the prompt's own example, as a small model sent it
        ("Ann bought a thermocouple.", [3], (0,)),  # miscounted
        ("Her cousin plays music.", [3], (3,)),
        ("Annas Vetter übt jeden Abend, und das ist nicht leise.", [3], (3,)),  # in other words than the conversation's
        ("Ann has a sister in Porto.", [1], None),
    ],
)
def test_an_event_rests_on_a_turn_that_has_a_word_of_it(text, named, kept):
    assert resting_on(text, named, TALK, events_prompt([""]).text) == (kept or ())


KILN = [
    "I ordered a blue kiln from Porto for the workshop.",
    "The kiln weighs ninety kilos, it comes by lorry.",
    "Otto wants to learn the cello, he is nine.",
    "Thank you!",
]
KILN_SAID = [Message(text, "", "Ann", id=str(place)) for place, text in enumerate(KILN)]


@pytest.mark.parametrize(
    ("texts", "places"),
    [
        # counted from 1
        ({"Ann ordered a blue kiln from Porto.": 1, "The kiln weighs ninety kilos.": 2}, [0, 1]),
        ({"Ann ordered a kiln from Porto.": 1, "It weighs ninety kilos.": 2, "The oven is big.": 3}, [0, 1, 2]),
        # one text tells nothing, nor do as many that are right
        ({"Ann ordered a blue kiln from Porto.": 1}, [1]),
        ({"Ann ordered a kiln from Porto.": 1, "It weighs ninety kilos.": 2, "Otto is nine.": 2}, [1, 2, 2]),
        # in words of its own, or in those of both
        ({"Ann's new oven comes to the workshop.": 1, "Otto wants to learn the cello.": 2}, [1, 2]),
        ({"The kiln for the workshop comes by lorry.": 1, "Kilos of kiln come by lorry to Otto.": 2}, [1, 2]),
    ],
)
def test_a_model_that_counts_from_1_is_read_so(texts, places):
    said = [(text, (named,)) for text, named in texts.items()]
    assert counted_from_0(said, as_turns(KILN)) == [(text, (place,)) for text, place in zip(texts, places, strict=True)]


def test_events_of_a_model_that_counts_from_1_rest_on_the_turns_that_say_so():
    events = [("Ann ordered a blue kiln from Porto.", 1), ("The kiln weighs ninety kilos.", 2)]
    reply = "\n".join(json.dumps({"event": text, "exchanges": [named]}) for text, named in events)
    with MemoryBank.open(model=ScriptedModel(f"<events>\n{reply}\n</events>"), timelines=True) as bank:
        bank.remember(("ann",), KILN_SAID, session="s", close=True)
        assert [each.turn_ids for each in bank.timelines.events(("ann",))] == [("0",), ("1",)]


def test_what_the_conversation_does_not_say_is_asked_about_again_and_then_left_out():
    copied = '{"event": "Ann has found a flat near the harbour.", "exchanges": [0, 2]}'
    good = '{"event": "The kiln needs a thermocouple.", "exchanges": [0]}'
    model = ScriptedModel([f"{copied}\n{good}", good])
    assert [each.text for each in run(extract_events(TALK, SEGMENTS), model).drafts] == [
        "The kiln needs a thermocouple."
    ]
    assert "does not say: Ann has found a flat" in model.requests[1].text
    with pytest.warns(DegradedWarning, match="does not say"):
        assert [text for text, _ in drafts_of(f"{copied}\n{good}")] == ["The kiln needs a thermocouple."]
    with pytest.warns(DegradedWarning, match="segments are taken instead"):
        assert len(drafts_of(copied)) == 2


def test_a_model_that_gives_up_when_it_is_asked_again_takes_nothing_back():
    copied = '{"event": "Ann has found a flat near the harbour.", "exchanges": [0, 2]}'
    good = '{"event": "The kiln needs a thermocouple.", "exchanges": [0]}'
    with pytest.warns(DegradedWarning, match="used as far as it could be read"):
        found = run(extract_events(TALK, SEGMENTS), ScriptedModel([f"{copied}\n{good}", "<events></events>"]))
    assert [each.text for each in found.drafts] == ["The kiln needs a thermocouple."]
    with pytest.warns(DegradedWarning, match="segments are taken instead"):
        found = run(extract_events(TALK, SEGMENTS), ScriptedModel([copied, "<events>"]))
    assert len(found.drafts) == 2
    assert run(extract_events(TALK, SEGMENTS), ScriptedModel(["Nothing new.", "<events></events>"])).drafts == ()


def test_an_example_of_the_prompt_is_no_event_where_the_talk_has_half_of_its_words():
    # A model of 1.5 billion parameters put the speaker's name into the example, beside an exchange on something else.
    lines = ("The kiln is cold.", "My nephew will sell fish from May on.")
    talk = group_messages([Message(line, speaker="Mara") for line in lines], "s")
    prompt = events_prompt([turn.text for turn in talk]).text
    eel = "Mara will sell smoked eel at the fish market from May on."
    assert eel.partition(" ")[2] in prompt
    assert resting_on(eel, [0], talk, prompt) == resting_on(eel, [1], talk, prompt) == ()
    [said] = group_messages([Message("I will sell smoked eel at the fish market from May on.")], "s")
    assert resting_on(eel, [0], [*talk, said], events_prompt([turn.text for turn in [*talk, said]]).text) == (2,)


def test_a_merged_note_has_words_of_both():
    known, new = "Ann bakes rye bread.", "Ann sells her bread on Mondays."
    assert joins("Ann bakes rye bread and sells it on Mondays.", [known, new])
    assert not joins("Ines runs a bakery in Faro", ["Ann rows.", "Ann has a flat tyre."])
    assert not joins("Ann sells on Mondays.", ["Rye is baked.", "Ann sells her bread on Mondays."])
    assert joins("Ann verkauft ihr Brot am Montag und bäckt.", ["Das Brot ist gebacken.", "She sells on Mondays."])


def test_a_merged_note_keeps_more_of_both_than_whose_they_are():
    moved = "user moved from Lyon to Ghent in March because of their new job at the port."
    flour = "user needs bread flour for a baguette."
    assert not joins(flour, [moved, flour], names=["user"])
    assert not joins("Ann needs flour in March.", [moved.replace("user", "Ann"), flour], names=["Ann"])
    assert joins("user moved to Ghent in March for a job at the port, and needs flour.", [moved, flour], names=["user"])


def test_a_segments_event_is_what_says_most_as_it_was_said():
    assert [draft.text for draft in segment_drafts(SEGMENTS)] == [
        "Ann: The kiln needs a new thermocouple, so I ordered one.",
        "Ann: My cousin Ilse practises the accordion every evening in the garage.",
    ]
    assert segment_drafts([]) == []
    [empty] = talk("  ")
    assert segment_drafts([Memory("s#0-1", "", (empty,))]) == []


ADVICE = "Shoes matter. On Mondays most museums of Porto are closed, and the Serralves garden alone takes two hours."


@pytest.mark.parametrize(
    ("said", "assistant", "text"),
    [
        ("I go to Porto with my sister Hanna in May.", None, "user: I go to Porto with my sister Hanna in May."),
        ("Thanks!", None, f"assistant: {ADVICE}"),
        ("I go to Porto with Hanna.", "Bert", f"Bert: {ADVICE}"),
    ],
    ids=[
        "what the user tells",
        "what the answer tells, to a user who says next to nothing",
        "what another person says",
    ],
)
def test_a_segments_event_is_what_the_user_tells_rather_than_an_answer(said, assistant, text):
    turns = group_messages([Message(said, "user"), Message(ADVICE, "assistant", assistant)], "s")
    assert [draft.text for draft in segment_drafts([Memory("s#0-1", "", turns)])] == [text]


def test_a_long_utterance_gives_its_best_sentence():
    [turn] = talk("Well. " * 40 + "The ferry to Gotland sails at nine on Saturday. " + "So so. " * 40)
    [draft] = segment_drafts([Memory("s#0-1", "", (turn,))])
    assert draft.text == "Ann: The ferry to Gotland sails at nine on Saturday."
