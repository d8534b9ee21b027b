"""Text into terms, in many scripts."""

from __future__ import annotations

import pytest
import Stemmer
from hypothesis import given
from hypothesis import strategies as st

from secom_core.bank import MemoryBank
from secom_core.text import terms as analysis
from secom_core.text.han import one_way
from secom_core.text.terms import count_tokens, is_stopword, latin_language_of, term_variants, terms, word_spans


def words(text: str) -> list[str]:
    return [text[start:stop] for start, stop in word_spans(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The dogs were running to John’s café!", ["dog", "run", "john", "cafe"]),
        ("don't won't I'll", []),
        ("e-mail me at 7:30pm, 2,000 times", ["e", "mail", "7", "30pm", "2", "000", "time"]),
        ("ＦＵＬＬ width ①", ["full", "width", "1"]),
        ("soft\u00adhyphen", ["softhyphen"]),
        ("东京塔", ["东", "京", "塔", "东京", "京塔"]),
        ("我 love 猫", ["我", "love", "猫"]),
        ("안녕", ["안", "녕", "안녕"]),
        ("ｶﾞｽ", ["ガ", "ス", "ガス"]),
        ("トム・クルーズ", ["ト", "ム", "トム", "ク", "ル", "ー", "ズ", "クル", "ルー", "ーズ"]),
        ("", []),
        ("?! … 🙂 \ud800 \0", []),
    ],
)
def test_terms(text: str, expected: list[str]) -> None:
    assert terms(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("useDebouncedSearch(term)", ["usedebouncedsearch", "term", "use", "debounc", "search"]),
        ("An HTTPServerError?", ["httpservererror", "http", "server", "error"]),
        (
            "func FrameChecksum, `StockCache`",
            ["func", "framechecksum", "stockcach", "frame", "checksum", "stock", "cach"],
        ),
        ("“userId”, userId, userName", ["userid", "userid", "usernam", "user", "id", "name"]),
        ("McDonald, iPhone, (YouTube), WhatsApp: LaTeX", ["mcdonald", "iphon", "youtub", "whatsapp", "latex"]),
        ("My MacBook. LeBron's EpiPen, PDFs, kWh, toBe", ["macbook", "lebron", "epipen", "pdfs", "kwh", "tobe"]),
        ("eyJhbGciOiJIUzI1NiJ9", ["eyjhbgcioijiuzi1nij9"]),
        (f"use{'Long' * 12}", [f"use{'long' * 12}"]),
    ],
)
def test_terms_in_parts_have_the_words_that_names_of_code_are_of(text: str, expected: list[str]) -> None:
    assert terms(text, language="english", in_parts=True) == expected


@given(st.text("aA1_`( ", max_size=40))
def test_the_words_of_names_of_code_come_after_the_terms_of_the_text(text: str) -> None:
    plain, more = (terms(text, language="english", in_parts=parts) for parts in (False, True))
    assert more[: len(plain)] == plain


def test_a_long_run_of_capitals_is_no_name_and_takes_no_time() -> None:
    assert terms(f"aB `{'A' * 5000}x1", in_parts=True) == ["ab", f"{'a' * 5000}x1"]


def test_a_language_is_told_by_a_count_of_votes_or_without() -> None:
    assert latin_language_of("So war die Frau in dem Haus, a an on") == "german"
    assert latin_language_of("So in an on") == "english"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Nous avons mangé l'ail dans la maison", "Je ne veux pas de l’Ail"),
        ("L'acqua è fredda e non è buona", "Ho bevuto dell'acqua con il pane"),
        ("ещё книги", "еще книга"),
        ("της θάλασσας", "η ΘΆΛΑΣΣΑ"),
        ("İzmir'de çok güzel bir gün ve sen", "İZMİR çok güzel ve bir şey"),
        ("हिन्दी की किताब", "हिन्दी में लिखा"),
        ("كِتَاب", "كتاب"),
        ("\u06a9\u062a\u0627\u0628", "كتاب"),
        ("عل\u06cc", "علي"),
        ("القطة", "قطة"),
        ("düğünümüz", "düğün"),
        ("fotoğrafçımızın", "fotoğrafçı"),
        ("قطتنا", "قطة"),
        ("سيارتي", "سيارة"),
        ("سيارات", "سيارة"),
        ("اجتماعاتنا", "اجتماع"),
        ("والسيارة", "السيارة"),
        ("وبالمدرسة", "مدرسة"),
        ("والدتي", "والدة"),
        ("حياتي", "حياة"),
        ("שָׁלוֹם", "שלום"),
        ("naïve", "naive"),
    ],
)
def test_two_spellings_share_a_term(one: str, other: str) -> None:
    assert set(terms(one)) & set(terms(other))


def test_words_keep_their_vowel_signs() -> None:
    assert words("हिन्दी की किताब") == ["हिन्दी", "की", "किताब"]
    assert words("தமிழ் மொழி") == ["தமிழ்", "மொழி"]


def test_a_persian_word_is_found_with_an_ending_and_without() -> None:
    with MemoryBank.open() as bank:
        for number, said in enumerate(("اسم گربه\u200cام یاسمن است", "پارسال به شیراز رفتم", "کتاب\u200cها را خواندم")):
            bank.remember(("me",), [{"role": "user", "content": said}], session=str(number), close=True)
        asked = {"گربه کجاست؟": "یاسمن", "کدام کتاب؟": "خواندم"}
        found = {question: bank.recall(("me",), question, only_relevant=True).text for question in asked}
    assert all(word in found[question] for question, word in asked.items()), found


@pytest.mark.skipif("polish" not in Stemmer.algorithms(), reason="this PyStemmer has no Polish")
def test_a_polish_word_is_found_with_another_ending() -> None:
    with MemoryBank.open() as bank:
        said = ("Naszą budowę prowadzi pan Kotarski", "W szachy gram tylko z bratem", "Moje koty śpią na dachu")
        for number, text in enumerate(said):
            bank.remember(("me",), [{"role": "user", "content": text}], session=str(number), close=True)
        asked = {"Kto kieruje budową?": "Kotarski", "O kim mówiłem przy szachach?": "bratem", "Co z kotem?": "dachu"}
        found = {question: bank.recall(("me",), question, only_relevant=True).text for question in asked}
    assert all(word in found[question] for question, word in asked.items()), found


def test_words_are_as_written() -> None:
    assert words("Ann’s 2nd trip: 东京塔, OK?") == ["Ann’s", "2nd", "trip", "东京塔", "OK"]


def test_stopwords_can_stay() -> None:
    assert terms("to be", keep_stopwords=True) == ["to", "be"]
    assert terms("to be") == []


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("I think that it was there", "english"),
        ("Ich weiß nicht, was das ist", "german"),
        ("Je ne sais pas ce que c'est", "french"),
        ("No sé qué es lo que tengo", "spanish"),
        ("Fotoğrafçıyla 45 bin liraya anlaştık", "turkish"),  # "bin" is German too
        ("Wałęsa was the first", "english"),
        ("Marmots", "english"),
        ("", "english"),
        ("你好", "english"),
    ],
)
def test_the_language_shows_in_function_words(text: str, language: str) -> None:
    assert latin_language_of(text) == language


def test_latin_words_in_other_scripts_are_stemmed_all_the_same() -> None:
    text = "Я не знаю, что такое LangChain models"
    assert latin_language_of(text) == "english"
    assert {"langchain", "model"} <= set(terms(text))
    assert "не" not in terms(text)


def test_stopwords_of_a_script_need_no_language() -> None:
    assert is_stopword("The")
    assert is_stopword("isn’t")
    assert is_stopword("Не")
    assert is_stopword("της")
    assert not is_stopword("nicht")
    assert is_stopword("nicht", "german")
    assert not is_stopword("")


def test_variants_of_a_word_in_several_languages() -> None:
    assert term_variants("running Katzen dog", ["english", "german"]) == [
        ("run", "running"),
        ("katzen", "katz"),
        ("dog",),
    ]
    # "die" and "was" are function words in one language each: they stay for the other alone.
    assert term_variants("die", ["english", "german"]) == [("die",)]
    assert term_variants("the", ["english"]) == []
    assert term_variants("猫猫", ["english", "german"]) == [("猫",), ("猫",), ("猫猫",)]
    # A rare language adds its variants of a word, and no word.
    assert term_variants("the Katzen", ["english"], rare=["german"]) == [("katzen", "katz")]


@pytest.mark.parametrize(
    ("question", "searched"),
    [
        ("どの靴を勧めてくれましたか？", "靴 勧 勧め"),
        ("ルーターについて何と言いましたか？", "ル ー タ ー ルー ータ ター 言 と言 言い"),
        ("私の妹", "妹"),
        ("私立", "私 立 私立"),
        ("いつもの店", "店 いつ つも もの の店"),
        ("くるみ", "くる るみ"),
        ("내가 무슨 신발을 샀지", "신 발 을 신발 발을 샀 지 샀지"),
        ("東京塔", "東 京 塔 東京 京塔"),
        ("何ですか？", "何 で す か 何で です すか"),
    ],
)
def test_function_words_of_questions_in_japanese_and_korean_are_not_searched_for(question: str, searched: str) -> None:
    assert term_variants(question, ["english"]) == [(one_way(term),) for term in searched.split()]


def test_a_japanese_question_is_answered_by_what_it_is_about_and_not_by_how_it_is_put() -> None:
    things = ("電子レンジ", "望遠鏡", "将棋", "潜水艦", "酵母", "太陽系", "株式", "堆肥")
    chat = [("user", f"{thing}の仕組みを教えてくれましたよね？その続きを知りたいです。") for thing in things]
    chat.insert(4, ("user", "走ると膝が痛くなる。靴は何がいい？"))
    with MemoryBank.open() as bank:
        for number, said in enumerate(chat):
            bank.remember(("acme", "ann"), [said, ("assistant", "はい。")], session=str(number), close=True)
        found = bank.recall(("acme", "ann"), "どの靴を教えてくれましたか？", k=1)
        assert "膝" in found.hits[0].turns[0].messages[0].text


@pytest.mark.parametrize("text", ["The dogs were running", "东京塔 and me", "Ich weiß nicht, was das ist"])
def test_variants_in_one_language_are_the_terms(text: str) -> None:
    language = latin_language_of(text)
    assert [term for term, *_ in term_variants(text, [language])] == terms(text)


@pytest.mark.parametrize(
    ("language", "question", "searched"),
    [
        ("german", "Welchen Roman hast du mir empfohlen?", "roman empfohl"),
        ("german", "Wo hätten wir denn wohnen können?", "wohn"),
        ("french", "Combien de fois suis-je allée chez le dentiste ?", "fois alle dentist"),
        ("french", "Quelles chaussures ai-je achetées, et pourquoi celles-là ?", "chaussur achet"),
        ("spanish", "¿Cuántas veces fui al dentista? ¿Y cómo?", "vec dentist"),
        ("italian", "Quanti libri abbiamo già letto?", "libr lett"),
        ("portuguese", "Quantos livros tenho?", "livr"),
    ],
)
def test_what_asks_or_helps_a_verb_is_not_searched_for(language: str, question: str, searched: str) -> None:
    assert [term for term, *_ in term_variants(question, [language])] == searched.split()
    # Of a text, and where nothing else is asked for, they are words as others are.
    assert len(terms(question, language=language)) > len(searched.split())


def test_a_question_in_german_finds_the_verb_in_another_tense() -> None:
    assert {"wohn", "wohnt"} < set(term_variants("Wo habe ich früher gewohnt?", ["german"])[-1])
    assert "gearbeit" in term_variants("Wo arbeite ich?", ["german"])[0]
    assert "les" in term_variants("Was habe ich ausgelesen?", ["german"])[-1]
    # A short word with a "t" at its end is another one, and so is a word of another language.
    assert "gas" not in term_variants("Wer war der Gast?", ["german"])[0]
    assert term_variants("Where did we start?", ["english", "german"])[-1] == ("start",)


@pytest.mark.parametrize(
    ("language", "woman", "man", "women", "both"),
    [
        ("spanish", "hermana", "hermano", "hermanas", "hermanos"),
        ("spanish", "tía", "tío", "tías", "tíos"),
        ("italian", "nonna", "nonno", "nonne", "nonni"),
        ("portuguese", "filha", "filho", "filhas", "filhos"),
    ],
)
def test_a_word_of_a_woman_is_none_of_a_man(language: str, woman: str, man: str, women: str, both: str) -> None:
    [[her], [him], [they]] = (term_variants(word, [language]) for word in (woman, man, women))
    assert her == they
    assert not set(her) & set(him)
    [all_of_them] = term_variants(both, [language])
    assert {*her, *him} == {*all_of_them}
    assert terms(both, language=language) == list(him)


def test_a_sister_is_found_and_no_brother() -> None:
    chat = ["Mi hermano Jonás vive en Lisboa.", "Mi hermana Mara tiene un piso en Gante y pinta barcos de madera."]
    with MemoryBank.open() as bank:
        for number, said in enumerate(chat):
            bank.remember(("acme", "ann"), [("user", said), ("assistant", "Bien.")], session=str(number), close=True)
        found = bank.recall(("acme", "ann"), "¿Cómo se llama mi hermana?", k=1)
        assert "Mara" in found.hits[0].turns[0].messages[0].text


def test_where_one_lived_is_found_where_one_said_that_one_lives() -> None:
    chat = ["Ich wohne in Bremen, im dritten Stock.", "Letzte Woche habe ich einen Stuhl gebaut."]
    chat += [f"Ich habe heute früher {done}." for done in ("gefrühstückt", "Schluss gemacht", "geduscht", "gegessen")]
    with MemoryBank.open() as bank:
        for number, said in enumerate(chat):
            bank.remember(("acme", "ann"), [("user", said), ("assistant", "Gut.")], session=str(number), close=True)
        found = bank.recall(("acme", "ann"), "Wo habe ich früher gewohnt?", k=1)
        assert "Bremen" in found.hits[0].turns[0].messages[0].text


@pytest.mark.parametrize(
    ("text", "tokens"),
    [("", 0), ("Hi!", 2), ("东京塔", 3), ("memory", 1), ("memories", 2), ("a b\nc", 3), ("हिन्दी", 2)],
)
def test_the_token_estimate(text: str, tokens: int) -> None:
    assert count_tokens(text) == tokens


@pytest.mark.parametrize(
    "text",
    [
        "मेरा नाम प्रिया है, मैं इंदौर में रहती हूँ और बच्चों के अस्पताल में नर्स हूँ। मुझे मूँगफली से एलर्जी है।",
        "أدفع الآن إيجار الشقة، لكن صاحبة البيت سترفع الإيجار من أبريل. كيف أتكلم معها؟",
        "Şu anda kira olarak on beş bin lira ödüyorum ama ev sahibi nisandan itibaren kirayı yükseltiyor.",
        "Moja siostra Kasia mieszka w Gdańsku, jest nauczycielką i ma dwoje dzieci. Co jej kupić, żeby nie było drogo?",
        "Сейчас я плачу за квартиру двадцать тысяч, но хозяйка с апреля поднимает аренду. Как с ней поговорить?",
        "Mi hermana Carmen vive en Vigo, es profesora y tiene dos hijos. ¿Qué le puedo regalar que no sea caro?",
        "ตอนนี้จ่ายค่าเช่าห้องเดือนละหกพันบาท แต่เจ้าของบ้านจะขึ้นค่าเช่าตั้งแต่เดือนเมษายน",
    ],
)
def test_a_budget_holds_in_any_language(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    utils = pytest.importorskip("llama_index.core.utils", reason="the model's tokenizer comes with llama-index-core")
    # It is kept for all, whatever model it is of.
    monkeypatch.setattr("llama_index.core.global_tokenizer", None)
    assert count_tokens(text) >= 0.8 * len(utils.get_tokenizer("gpt-4o")(text))


READ_TWO_WAYS = [
    "It's 5 o'clock, isn't it? snake_case 3'4 a''b 'quoted' e-mail\tx\x1cy\x00z extraordinarily",
    "“Don’t”, said Zoë — naïve café… 10€",
    "नमस्ते दुनिया and e\u0301clair 我喜欢 tea ภาษาไทย rock ’n’ roll",
    "plain words, and then…\nZoë’s — naïve\n\u0301 café… 10€ 我喜欢\n…\r\n",
    "",
]


@pytest.mark.parametrize("text", READ_TWO_WAYS)
def test_the_patterns_for_fewer_characters_read_the_same(text: str) -> None:
    assert count_tokens(text) == len(analysis._TOKEN.findall(text))
    assert word_spans(text) == [found.span() for found in analysis._PIECE.finditer(text)]
    assert list(analysis._pieces(text)) == analysis._PIECE.findall(analysis._fold(text))


@pytest.mark.parametrize(
    "forms",
    ["ev evde evimiz", "kedi kedim kedilerimiz", "anne annemin", "köpek köpeğim", "kitap kitabım", "araba arabamızla"],
)
def test_a_turkish_word_has_one_term_with_any_ending(forms: str) -> None:
    assert len(set(terms(forms, language="turkish"))) == 1


def test_a_number_in_a_turkish_text_is_known_by_all_its_digits() -> None:
    first, second = terms("Siparişim için numara 1000234"), terms("Siparişim için numara 1000277")
    assert (first[-1], second[-1]) == ("1000234", "1000277")


@pytest.mark.parametrize("text", ["Kubernetes pod crashed", "Temu order arrived", "Nim compiler"])
def test_a_common_word_or_name_in_an_english_note_is_no_polish_function_word(text: str) -> None:
    assert latin_language_of(text) == "english"
    assert len(terms(text)) == len(text.split())


def test_one_name_does_not_tell_the_language() -> None:
    """A note in English about somebody with a Turkish or Polish name is searched as English."""
    assert latin_language_of("Çağla birthday presents") == "english"
    assert latin_language_of("Łukasz birthday presents") == "english"
    assert latin_language_of("Project meetings with Łukasz Wiśniewski") == "english"
    assert latin_language_of("Call Ayşegül Yıldırım about Doğan's contract") == "english"
    assert latin_language_of("Doğan Yıldırım kapıyı boyadı") == "turkish"
    assert terms("Çağla birthday")[1] == terms("The birthday of Çağla was fun.")[0]
