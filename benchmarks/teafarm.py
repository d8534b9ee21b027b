"""Is an agent fooled by questions that assume what never was? TeaFarm (Theanine section 5) over any memory.

    python -m benchmarks.teafarm --data DIR --model NAME --base-url URL --memory theanine --out teafarm/

Writes ``teabag.jsonl`` into the folder: an episode a conversation, with the summaries of its sessions, two
counterfactual questions with their answers, and for each a follow-up session that leads to it. Then the agent under
test, a model with the chosen memory, answers each question; ``verdicts-<memory>.jsonl`` has what it said and whether
the judge (``--judge``, else the model itself) found it right. Several memories are tested on the same episodes.

A small model farms badly. ``--episodes FILE`` takes episodes that were farmed or written before in place of that:
``benchmarks/teabag`` has two, of ten and six questions, written by us about the conversations of ``examples/data``.

Run it again, and it goes on where it stopped. What the model failed on has no line and is tried again.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tqdm import tqdm

from benchmarks.answering import (
    Memory,
    append,
    chats_in,
    endpoint,
    file_name,
    open_memory,
    read_lines,
    shared_arguments,
    spent,
)
from benchmarks.chats import Chat
from benchmarks.evaluation.teafarm import Agent, Episode, FollowUp, Verdict, farmed, questioned, success_rate
from benchmarks.retrieval import weights_for
from benchmarks.segmentation import choose_embedder
from secom_core.errors import BadReply, InvalidInput, ModelError
from secom_core.llm.flow import Metered, run
from secom_core.timelines import response_prompt


def farm(conversations: Sequence[Chat], model: Metered, options: argparse.Namespace) -> list[Episode]:
    """The episodes, made or read from an earlier run."""
    out, settings = options.out / "teabag.jsonl", {"model": options.model}
    found = {line["name"]: Episode.from_json(line) for line in read_lines(out, settings)}
    left = [each for each in conversations if each.name not in found]
    for conversation in tqdm(left, desc="farming", unit="conversation", disable=options.quiet):
        before = model.cost
        try:
            episode = run(farmed(conversation.name, conversation.sessions), model, limit=options.limit)
        except (ModelError, InvalidInput) as error:
            print(f"{conversation.name}: no episode: {error}")
            continue
        append(out, {**episode.as_json(), "sessions": written(conversation), "cost": spent(model.cost, before)})
        found[episode.name] = episode
    return list(found.values())


def given(file: Path, conversations: Sequence[Chat]) -> list[Episode]:
    """The episodes of a file, of these conversations.

    Raises:
        SystemExit: where none is of them, or the file has something else in it.
    """
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
        found = [Episode.from_json(json.loads(line)) for line in lines if '"settings"' not in line[:12]]
    except (OSError, ValueError, InvalidInput) as error:
        raise SystemExit(f"--episodes {file}: it has no episodes, a JSON object a line ({error})") from error
    names = {each.name for each in conversations}
    if not (kept := [each for each in found if each.name in names]):
        raise SystemExit(
            f"{file} has episodes of {', '.join(each.name for each in found) or 'nothing'}, and --data has none of "
            "these conversations; give both of the same"
        )
    return kept


def written(conversation: Chat) -> list[list[dict[str, str]]]:
    """The sessions as TeaBag has them: who says what."""
    return [
        [{"speaker": message.label, "text": message.text} for message in session.messages]
        for session in conversation.sessions
    ]


def agent_with(memory: Memory, model: Metered, speakers: tuple[str, str]) -> Agent:
    """A model that answers from its memory and the session so far, by Theanine's prompt whatever the memory is."""

    def agent(asked: FollowUp) -> str:
        speaker = next(name for name in speakers if name != asked.speaker)
        # The last few utterances tell what the question is about.
        query = "\n".join(said for _, said in asked.dialogue[-3:])
        return model.complete(response_prompt(asked.text, memory.context(query), speaker=speaker)).strip()

    return agent


def put_to_the_test(
    episodes: Sequence[Episode],
    agent_for: Callable[[Episode], Agent],
    judge: Metered,
    out: Path,
    settings: Mapping[str, Any],
) -> tuple[list[Verdict], int]:
    """Each question to its agent and each answer to the judge; the verdicts, and on how many a model failed.

    A judgement that cannot be read twice is kept as such, and does not count.
    """
    lines = read_lines(out, settings)
    done = {(line["episode"], line["number"]): verdict_of(line) for line in lines}
    failed = 0
    for episode in episodes:
        left = [n for n in range(len(episode.follow_ups)) if (episode.name, n) not in done]
        agent = agent_for(episode) if left else None
        for number in left:
            follow_up, response = episode.follow_ups[number], ""
            try:
                response = agent(follow_up)  # type: ignore[misc]
                verdict = run(questioned(follow_up, response), judge)
            except BadReply as error:
                print(f"{episode.name}, question {number}: the judgement cannot be read: {error}")
                verdict = Verdict(follow_up.question, follow_up.answer, response, None)
            except ModelError as error:
                failed += 1
                print(f"{episode.name}, question {number}: no verdict: {error}")
                continue
            done[episode.name, number] = verdict
            append(out, {"episode": episode.name, "number": number, **vars_of(verdict)})
    asked = ((each.name, number) for each in episodes for number in range(len(each.follow_ups)))
    return [done[key] for key in asked if key in done], failed


def vars_of(verdict: Verdict) -> dict[str, Any]:
    return {name: getattr(verdict, name) for name in ("question", "reference", "response", "correct")}


def verdict_of(line: Mapping[str, Any]) -> Verdict:
    return Verdict(line["question"], line["reference"], line["response"], line["correct"])


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    shared_arguments(parser)
    parser.add_argument("--judge", help="the model that judges; the model itself unless given")
    parser.add_argument("--out", type=Path, required=True, help="a folder")
    parser.add_argument("--conversations", type=int, help="only the first so many")
    parser.add_argument("--episodes", type=Path, help="a file of episodes; farmed from the data unless given")
    parser.add_argument("--questions", type=int, help="only the first so many of each conversation")
    parser.add_argument("--limit", type=int, default=8, help="how many sessions are summarised at once")
    options = parser.parse_args(arguments)
    model, judge = endpoint(options, options.model), endpoint(options, options.judge or options.model)
    embedder = choose_embedder(options.embedder)
    conversations = {each.name: each for each in chats_in(options.data)[: options.conversations]}
    chats = list(conversations.values())
    episodes = given(options.episodes, chats) if options.episodes else farm(chats, model, options)

    def agent_for(episode: Episode) -> Agent:
        banks = options.out / f"banks-{options.memory}"
        banks.mkdir(parents=True, exist_ok=True)
        memory = open_memory(
            options.memory,
            conversations[episode.name].sessions,
            path=banks / file_name(episode.name),
            model=model,
            embedder=embedder,
            budget=options.budget,
            window=options.window,
            weights=weights_for(options.weights, episode.name),
        )
        memory.remember()
        return agent_with(memory, model, episode.speakers)

    settings = {name: getattr(options, name) for name in ("memory", "model", "judge", "embedder", "budget", "window")}
    settings["weights"] = str(options.weights or "as shipped")
    tested = [
        replace(episode, follow_ups=episode.follow_ups[: options.questions])
        for episode in episodes
        if episode.name in conversations
    ]
    verdicts, failed = put_to_the_test(
        tested, agent_for, judge, options.out / f"verdicts-{options.memory}.jsonl", settings
    )
    if judged := [each for each in verdicts if each.correct is not None]:
        print(f"{options.memory}: success rate {success_rate(judged):.3f} of {len(judged)} questions")
        print(json.dumps({"model": vars_cost(model), "judge": vars_cost(judge)}))
    if failed or (len(tested) < len(conversations) and not options.episodes):
        raise SystemExit("something is missing; run the command again to go on with it")


def vars_cost(model: Metered) -> dict[str, int]:
    return {name: getattr(model.cost, name) for name in ("calls", "tokens_in", "tokens_out")}


if __name__ == "__main__":
    main()
