"""A language model learns from annotated sessions how to segment. A scripted one stands for any other."""

from secom_core import MemoryBank, presets
from secom_core.conversation import as_turns
from secom_core.denoisers.informativeness import Informativeness
from secom_core.memory import segments_from, segments_of
from secom_core.segmenters import RubricLearner
from secom_core.segmenters.zero_shot_prompt import as_jsonl
from secom_core.testing import ScriptedModel


def model(request):
    """Takes every question for a new topic, until a rule about questions tells it better."""
    if "<reflection>" in request.text:
        rule = "A question about what was just said goes on with the topic; a date opens another."
        return f"<rubric>\n- {rule}\n</rubric>\n<example>\nConversation 1: I went by the question mark.\n</example>"
    said = request.text.rpartition("<conversation>")[2].partition("</conversation>")[0].strip().split("\n\n")
    told = "a date opens" in request.text
    starts = [place for place, text in enumerate(said) if (": On " in text if told else "?" in text)]
    segments = segments_from([place - 1 for place in starts], len(said))
    return f"<segmentation>\n{as_jsonl(segments)}\n</segmentation>"


ANNOTATED = [
    (["The pump leaks.", "Where?", "At the seal.", "On Monday we row.", "Who steers?"], [2]),
    (["Rye is dear.", "On Friday I bake.", "For whom?", "The choir."], [0]),
]
TALK = ["The goat is ill.", "Since when?", "Tuesday.", "On Sunday we sing in Ghent.", "At noon?", "At two."]

sessions = [(as_turns(texts), segments_from(ends, len(texts))) for texts, ends in ANNOTATED]
llm = ScriptedModel(model)  # or secom_core.models.OpenAIModel("gpt-4o-mini"), or your framework's
rubric = RubricLearner(llm, items=1, state="rubric.state.jsonl", max_calls=200).learn(sessions)
rubric.save("rubric.md")
print("\n".join(rubric.items), rubric.note, rubric.cost, sep="\n")

preset = presets.secom(llm, rubric=rubric, denoiser=Informativeness())
with MemoryBank.open(preset=preset) as bank:
    bank.remember(("farm",), [{"speaker": "Ann", "content": text} for text in TALK], session="s", close=True)
    print([(segment.start, segment.stop) for segment in segments_of(bank.memories(("farm",), "s"))])
    print(bank.recall(("farm",), "When do we sing?", k=1).text)
