"""Function words of Japanese and Korean questions, which are written together with what they are about.

"どの靴を勧めてくれましたか" asks about 靴 and 勧め; what is left of it stands in every other message.
"""

from __future__ import annotations

from typing import Final

from .patterns import regex

_HIRAGANA: Final = regex("[\u3041-\u309f]")
_HANGUL: Final = regex("[\uac00-\ud7a3]")
_JAPANESE: Final = regex(
    r"(?:教え)?[てで](?:くれ|もら[いっ]?|いただ[きけい]?|ほし|欲し)(?:まし|ませ)?[るたてんすい]?か?"
    r"|(?:ましょう|でしょう|ました|でした|だった|ません|ます|です)(?:か|ね|よ|っけ|ら)?|だっけ|っけ"
    r"|教えて(?=$|[くも下])|ください|下さい|について|という|のこと|を"
    r"|どんな|どの|どれ|どうやって|どう(?!ぶつ|ろ)|なに|いつ(?![もか])|何|誰|だれ|って(?=$|何|なに)"
    r"|(?:私|僕|俺|わたし)(?![立学鉄物有])[はがのにもを]?"
)
_KOREAN: Final = frozenset(
    """
    나 나는 난 내 내가 저 저는 전 제 제가 너 너는 넌 네가 니가 우리 우리가 우리는
    뭐 뭘 뭔 뭐가 뭐를 뭐야 뭐지 뭐죠 뭐예요 뭐였지 뭐였죠 뭐였어 뭐였더라 무엇 무엇을 무슨 어떤 어느 어떻게 왜
    언제 언제야 언제지 언제죠 어디 어디에 어디서 어디에서 누구 누가 몇
    했지 했어 했죠 했나요 했더라 줬지 줬어 줬죠 줘 줘요 주세요 줄래 준 해 해줘 있어 있지 있죠 있나요
    거 것 게 좀 다시 혹시
    """.split()
)


def is_letter(gram: str) -> bool:
    """Whether it is one letter of hiragana, which says nothing alone."""
    return len(gram) == 1 and _HIRAGANA.match(gram) is not None


def content_of(run: str) -> list[str]:
    """The pieces of a run of Japanese, or a word of Korean, in a question that are no function words.

    Args:
        run: characters without a space, in small letters; of other scripts it is given back whole.
    """
    if _HANGUL.match(run):
        return [] if run in _KOREAN else [run]
    return [piece for piece in _JAPANESE.split(run) if piece] if _HIRAGANA.search(run) else [run]
