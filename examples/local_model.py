"""A model on your own machine, behind an OpenAI-compatible endpoint. Needs the extra "openai".

Ollama, llama.cpp, vLLM and LM Studio have such endpoints, such as "http://localhost:11434/v1". Here a scripted server
takes their place, over real HTTP. In the examples of the frameworks, use the framework's chat model for the endpoint.
"""

from secom_core import Companion, MemoryBank
from secom_core.models import OpenAIModel
from secom_core.testing import ScriptedRequest, ScriptedServer

ALICE = ("alice",)


def replies(request: ScriptedRequest) -> str:
    """Stands for the model: it writes the summary where it is asked to, and otherwise answers."""
    if "<memory>" in request.prompt:
        return "<memory>\nAlice takes the green bicycle.\nShe fetches it on Saturday.\n</memory>"
    return "The green one, on Saturday [1]." if "and when?" in request.text else "A fine choice."


with ScriptedServer(replies) as server:
    model = OpenAIModel("qwen3:8b", base_url=server.base_url)  # needs no key, and OPENAI_API_KEY is not sent to it
    bank = MemoryBank.open(model=model, summaries=True)
    monday = Companion(bank, ALICE, model, session="monday")
    for said in ("I will take the green bicycle, the blue one is too tall.", "I come on Saturday instead of Friday."):
        print(f"User: {said}\nAI: {monday.reply(said).text}\n")
    monday.close()  # the model writes the summary

    friday = Companion(
        bank, ALICE, model, session="friday", layers=["summaries"], instructions="You rent out bicycles."
    )
    print("User: Which bicycle do I fetch, and when?\nAI: ", end="")
    for piece in friday.stream("Which bicycle do I fetch, and when?"):
        print(piece, end="", flush=True)
    print(f"\n\n--- the last of {len(server.requests)} requests that the server got")
    print(*(f"[{role}] {text}" for role, text in server.requests[-1].messages), sep="\n")
    bank.close()
