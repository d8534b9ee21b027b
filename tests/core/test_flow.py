"""Procedures driven sync and async give the same, whatever the model does."""

from __future__ import annotations

import asyncio
import threading
import time
from contextvars import ContextVar

import pytest

from secom_core.errors import BadReply, InvalidInput, ModelError, ModelUnavailable
from secom_core.llm.flow import Cost, Metered, Procedure, Prompt, arun, run
from secom_core.testing import Answer, Fault, ScriptedModel


def capital(country: str) -> Procedure[str]:
    """Asks, and gives the error's name where there is no answer."""
    try:
        return (yield Prompt(country))
    except ModelError as error:
        return type(error).__name__


def capitals(*countries: str) -> Procedure[list[str]]:
    found = []
    for country in countries:
        found.append((yield from capital(country)))  # noqa: PERF401 (a comprehension cannot yield)
    return found


def together(*texts: str) -> Procedure[list[str | ModelError]]:
    replies = yield [Prompt(text) for text in texts]
    return replies


def drive_sync(procedure, model):
    return run(procedure, model)


def drive_async(procedure, model):
    return asyncio.run(arun(procedure, model))


both = pytest.mark.parametrize("drive", [drive_sync, drive_async])


@both
def test_replies_reach_the_yield_in_order(drive):
    assert drive(capitals("France", "Chad"), ScriptedModel(["Paris", "N'Djamena"])) == ["Paris", "N'Djamena"]


@both
def test_an_error_on_one_prompt_is_raised_at_the_yield(drive):
    model = ScriptedModel([Fault(status=500), "Rome", Answer(None)])
    assert drive(capitals("a", "b", "c"), model) == ["ModelUnavailable", "Rome", "BadReply"]


@both
def test_in_a_list_the_failed_place_holds_the_error(drive):
    model = ScriptedModel({"one": "1", "two": Fault(), "three": Answer(" "), "four": "4"})
    one, two, three, four = drive(together("one", "two", "three", "four"), model)
    assert (one, four) == ("1", "4")
    assert isinstance(two, ModelUnavailable)
    assert isinstance(three, BadReply)


@both
def test_work_is_done_and_its_result_comes_back(drive):
    def adds() -> Procedure[int]:
        first = yield lambda: 40
        (second,) = yield [Prompt("two")]
        return first + int(second)

    assert drive(adds(), ScriptedModel("2")) == 42


@both
def test_work_that_fails_closes_the_procedure(drive):
    closed = []

    def fails() -> Procedure[None]:
        try:
            yield {}.popitem
        finally:
            closed.append(True)

    with pytest.raises(KeyError):
        drive(fails(), ScriptedModel([]))
    assert closed == [True]


async def test_work_leaves_the_event_loop_free_and_sees_the_context():
    asking: ContextVar[str] = ContextVar("asking")
    asking.set("ann")
    thread, seen = await arun(_looks(asking), ScriptedModel([]))
    assert (thread == threading.get_ident(), seen) == (False, "ann")
    assert run(_looks(asking), ScriptedModel([])) == (threading.get_ident(), "ann")


def _looks(variable: ContextVar[str]) -> Procedure[tuple[int, str]]:
    return (yield lambda: (threading.get_ident(), variable.get()))


@both
def test_an_empty_list_asks_nothing(drive):
    model = ScriptedModel([])
    assert drive(together(), model) == []
    assert model.requests == ()


@both
def test_a_procedure_may_ask_nothing(drive):
    def silent() -> Procedure[int]:
        return 7
        yield

    assert drive(silent(), ScriptedModel([])) == 7


@both
def test_an_uncaught_model_error_reaches_the_caller(drive):
    def careless() -> Procedure[str]:
        return (yield Prompt("x"))

    with pytest.raises(ModelUnavailable, match="429"):
        drive(careless(), ScriptedModel(Fault(status=429)))


@both
def test_procedures_can_be_nested(drive):
    def outer() -> Procedure[list[str]]:
        first = yield from capitals("a", "b")
        second = yield from together("c")
        return [*first, *second]

    assert drive(outer(), ScriptedModel(lambda request: request.text.upper())) == ["A", "B", "C"]


class Broken:
    """A model with a bug."""

    def __init__(self, error: BaseException) -> None:
        self.error = error

    def complete(self, prompt: Prompt) -> str:
        raise self.error

    async def acomplete(self, prompt: Prompt) -> str:
        raise self.error


@both
@pytest.mark.parametrize("error", [KeyError("bug"), InvalidInput("bug")])
@pytest.mark.parametrize("procedure", [capitals, together])
def test_any_other_error_closes_the_procedure_and_is_raised(drive, error, procedure):
    closed = []

    def watched() -> Procedure[None]:
        try:
            yield from procedure("a")
        finally:
            closed.append(True)

    with pytest.raises(type(error), match="bug"):
        drive(watched(), Broken(error))
    assert closed == [True]


def test_a_stop_iteration_in_a_model_is_not_taken_for_the_end():
    with pytest.raises(StopIteration):
        run(capitals("a"), Broken(StopIteration("bug")))


def test_an_error_in_the_procedure_itself_is_raised():
    def wrong() -> Procedure[None]:
        yield Prompt("x")
        raise ZeroDivisionError

    for drive in (drive_sync, drive_async):
        with pytest.raises(ZeroDivisionError):
            drive(wrong(), ScriptedModel("y"))


class Counting:
    """Says how many prompts were in flight at once; later ones answer sooner."""

    def __init__(self) -> None:
        self.flying = self.most = self.cancelled = 0

    async def acomplete(self, prompt: Prompt) -> str:
        self.flying += 1
        self.most = max(self.most, self.flying)
        try:
            await asyncio.sleep(0.05 - int(prompt.text) * 0.002)
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        finally:
            self.flying -= 1
        return prompt.text


@pytest.mark.slow
@pytest.mark.parametrize(("limit", "most"), [(1, 1), (3, 3), (8, 8), (50, 10)])
async def test_a_list_is_asked_together_within_the_limit_and_answered_in_order(limit, most):
    model = Counting()
    asked = [str(number) for number in range(10)]
    assert await arun(together(*asked), model, limit=limit) == asked
    assert model.most == most


async def test_a_limit_below_one_is_refused():
    with pytest.raises(InvalidInput, match=r"limit is how many prompts .* got 0"):
        await arun(together("a"), Counting(), limit=0)


async def test_cancelling_ends_the_prompts_in_flight_and_closes_the_procedure():
    model, closed = Counting(), []

    def watched() -> Procedure[None]:
        try:
            yield [Prompt("1"), Prompt("2"), Prompt("3")]
        finally:
            closed.append(True)

    task = asyncio.ensure_future(arun(watched(), model, limit=2))
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (model.flying, model.cancelled, closed) == (0, 2, [True])


async def test_one_bug_in_a_list_leaves_no_other_prompt_running():
    class Mixed(Counting):
        async def acomplete(self, prompt: Prompt) -> str:
            if prompt.text == "0":
                await asyncio.sleep(0.005)
                raise KeyError(prompt.text)
            return await super().acomplete(prompt)

    model = Mixed()
    with pytest.raises(KeyError):
        await arun(together("0", "1", "2"), model)
    assert (model.flying, model.cancelled) == (0, 2)


# -- a list over threads ----------------------------------------------------------------------------------------------

CALLER: ContextVar[str] = ContextVar("caller")


class Threaded:
    """Says how many prompts were in flight at once and who asked; later ones answer sooner."""

    def __init__(self, fails: str = "") -> None:
        self.flying = self.most = 0
        self.asked: list[str] = []
        self._lock = threading.Lock()
        self._fails = fails

    def complete(self, prompt: Prompt) -> str:
        with self._lock:
            self.flying += 1
            self.most = max(self.most, self.flying)
            self.asked.append(CALLER.get("nobody"))
        time.sleep(0.05 - int(prompt.text) * 0.002)
        with self._lock:
            self.flying -= 1
        if prompt.text == self._fails:
            raise ModelUnavailable(prompt.text)
        return prompt.text


@pytest.mark.slow
@pytest.mark.parametrize(("limit", "most"), [(1, 1), (3, 3), (50, 10)])
def test_threads_ask_a_list_together_within_the_limit_and_in_order(limit, most):
    model = Threaded()
    CALLER.set("ann")
    asked = [str(number) for number in range(10)]
    assert run(together(*asked), model, limit=limit) == asked
    assert model.most == most
    assert model.asked == ["ann"] * 10


def test_threads_keep_the_failed_place():
    one, two, three = run(together("1", "2", "3"), Threaded(fails="2"), limit=3)
    assert (one, three) == ("1", "3")
    assert isinstance(two, ModelUnavailable)


def test_a_bug_in_a_thread_closes_the_procedure_and_starts_nothing_more():
    closed = []

    class Buggy(Threaded):
        def complete(self, prompt: Prompt) -> str:
            if prompt.text == "0":
                raise KeyError("bug")
            return super().complete(prompt)

    def watched() -> Procedure[None]:
        try:
            yield [Prompt(str(number)) for number in range(20)]
        finally:
            closed.append(True)

    model = Buggy()
    with pytest.raises(KeyError):
        run(watched(), model, limit=2)
    assert closed == [True]
    assert model.flying == 0
    assert len(model.asked) < 19


def test_threads_need_a_limit_of_one_or_more():
    with pytest.raises(InvalidInput, match=r"limit is how many prompts .* got 0"):
        run(together("a"), Threaded(), limit=0)


def test_a_metered_model_counts_calls_and_tokens_also_of_failures():
    model = Metered(ScriptedModel([Fault(status=500), "four words of it"]), counter=lambda text: len(text.split()))
    assert run(capitals("one two", "one"), model) == ["ModelUnavailable", "four words of it"]
    assert model.cost == Cost(2, 3, 4)
    assert model.cost - Cost(1, 2, 0) + Cost(1, 0, 0) == Cost(2, 1, 4)
