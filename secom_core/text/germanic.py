"""What a user says that holds from then on, in English and German: how to answer, what he likes or must avoid.

The rules of `secom_core.text.speech` for these languages: of each kind, what stands in whatever is found, and what is.
"""

from __future__ import annotations

from typing import Final

from .wording import signs, wording

_REPLIES: Final = r"(?:answers|replies|responses|explanations)"
_IN_REPLIES: Final = rf"[^.?!:;\n]{{0,50}}\b(?:in (?:all )?your {_REPLIES}|in deinen antworten)\b"
_CLAUSE: Final = r"(?:^|[.!?;:,] |\n\s*)(?:(?:please|bitte),? )?"
"""Where an order begins."""
_ABSTAINED: Final = (
    r"(?:eating|drinking|smoking|alcohol|wine|beer|coffee|caffeine|sugar|sweets|meat|fish|dairy|gluten|bread"
    r"|cigarettes)"
)
_TODAY: Final = r"(?:anything|all|yet|much|properly|well|breakfast|lunch|dinner|there|here|at|out|so)\b"
"""What somebody has not eaten who is hungry and not abstinent."""
_FEARED: Final = (
    r"(?:flying|planes|heights|needles|injections|blood|dogs|spiders|snakes|the dark|(?:deep |open )?water|crowds|lifts"
    r"|elevators|tunnels|(?:small|tight|enclosed|closed) spaces|dentists?|thunder\w*|driving|boats|horses|bees|wasps)"
)
_ILL: Final = (
    r"(?:migraines?|headaches?|heartburn|hives|rash(?:es)?|cramps|nosebleeds?|sick|ill|dizzy|itchy|swollen(?: \w+)?"
    r"|bloated|nauseous)"
)

OWN_HOME: Final = "|".join(
    (
        r"(?:I|we)(?:'ve| have)? (?:(?:just|finally) )?(?:bought|signed (?:the lease )?(?:for|on)) (?:an?|the|our)"
        r" (?:[\w-]+ ){0,2}(?:flat|apartment|house|condo|studio|cottage)",
        r"(?:my|our) (?:(?:new|current|home) )?address(?:'s| is)",
    )
)
"""How somebody tells his home who does not say that he lives there; as `secom_core.text.wording.wording` reads it."""
ENGLISH_REPLIES: Final = (
    signs(
        """answers|replies|responses|explanations|briefly|concisely|emoji|metric|imperial|celsius
        |fahrenheit|24-hour|spelling|english"""
    ),
    wording(
        rf"""
        keep (?:(?:all|of|your|the) ){{0,3}}{_REPLIES} (?:\w+ ){{0,2}}(?:short|brief|concise|simple|under|below|to)\w*
        (?:shorter|short|briefer|brief|more concise|concise|simpler|more detailed|longer) {_REPLIES},? please
        please,? (?:give me |send me |write )?(?:shorter|briefer|more concise|simpler|longer) {_REPLIES}
        I(?:'d| would)? (?:(?:much|really) )?(?:like|prefer|love|want) (?:short|brief|concise|long)(?:er)? {_REPLIES}
        (?:answer|reply|respond) (?:briefly|concisely)(?!\s?:)
        (?:please|can you|could you),? use (?:only )?(?:the )?(?:metric|imperial|celsius|fahrenheit|24-hour)
        (?:please|can you|could you),? use (?:british|american|uk|us) (?:spelling|english)
        """,
        anywhere=rf"""
        {_CLAUSE}(?:skip|leave out|omit|drop|avoid|fewer|no|use|add|include|mention|do not|don't)\b{_IN_REPLIES}
        {_CLAUSE}(?:no|fewer|less|(?:do not|don't|stop) \w+)(?: (?:so many|any|the))? emojis?\b
        """,
    ),
)
"""How replies are to be, which is asked for once: "Keep your answers short"."""
ENGLISH_INSTRUCTION: Final = (
    signs(
        """always|never|from now on|future|going forward|whenever|when i ask|again|anymore|any more|call me
        |address me|n't|n’t|do not|stop|answer|reply|respond|write"""
    ),
    wording(
        r"""
        from now on|going forward|in (?:the )?future, [a-z]+
        whenever (?:I|we) (?:ask|say|mention|write|talk)|when I ask (?:about|for|you)
        (?:please|you (?:should|must|to)|(?:can|could|will|would) you|want you to) (?:always|never) [a-z]+
        (?:and|but|so|that) (?:always|never) (?:use|give|add|show|write|answer|reply|send|put|list|tell|call|make)
        (?:do not|don't|stop) (?:ever )?(?:call|address|use|give|tell)\w*\b.{0,60}\b(?:again|anymore|any more|me)
        (?:do not|don't|stop) (?:ever )?(?:send|add|answer)\w*\b.{0,60}\b(?:again|anymore|any more|me)
        (?:do not|don't|stop) (?:ever )?(?:suggest|recommend)\w*\b.{0,60}\b(?:again|anymore|any more|me)
        (?:call|address) me
        (?:answer|reply|respond|write) (?:to me )?(?:only |always )?in(?! (?:all )?your\b)
        """,
        anywhere=r"""
        (?:^|[.!?;:,] |\n\s*)(?:always|never) (?!(?:been|had|was|were|saw|here|there|good|happy|up|a|the)\b)[a-z]
        """,
    ),
)
GERMAN_REPLIES: Final = (
    signs("dich|sie sich|antwort|emoji|smiley"),
    wording(
        r"""
        (?:fasse?|halte?) dich (?:\w+ ){0,2}(?:kurz|kürzer)
        (?:fassen|halten) (?-i:Sie) sich (?:\w+ ){0,2}(?:kurz|kürzer)
        (?:antworte?|antworten (?-i:Sie))(?: mir)?(?: bitte)?(?: etwas| nur)? (?:kurz|kürzer|knapp|knapper)(?!\s?:)
        (?:antworte?|antworten (?-i:Sie))(?: mir)?(?: bitte)?(?: nur)? auf (?-i:[A-Z])\w+
        bitte (?:etwas |nur )?(?:kurze|kürzere|knappe|knappere|längere|einfachere) antworten
        (?:kurze|kürzere|knappe|knappere|längere|einfachere) antworten,? bitte
        (?:lass|verzichte?|verwende?|benutze?) (?:\w+ ){0,3}(?:emojis|smileys)
        """,
        anywhere=rf"""
        {_CLAUSE}(?:keine|weniger|ohne) (?:emojis?|smileys?)\b
        {_CLAUSE}(?:lass|keine|weniger|verwende?|benutze?|nutze?)\b{_IN_REPLIES}
        """,
    ),
)
GERMAN_INSTRUCTION: Final = (
    signs("immer|nie|stets|ab jetzt|ab sofort|von nun an|zukunft|künftig|nenn|mich"),
    wording(
        r"""
        ab (?:jetzt|sofort)|von nun an|in zukunft|künftig
        (?:antworte?|schreibe?|nenne?|gib|sag|sprich)\b.{0,40}\b(?:immer|nie|niemals|stets)
        (?:verwende?|benutze?|nutze?|rechne?|schlag|empfiehl)\b.{0,40}\b(?:immer|nie|niemals|stets)
        (?:immer|nie|niemals|stets)\b.{0,30}\b(?:antworten|angeben|schreiben|nennen|verwenden|benutzen)
        nenne? mich|sprich mich\b.{0,30}\ban
        """
    ),
)
ENGLISH_PREFERENCE: Final = (
    signs(
        """prefer|allerg|intoleran|vegan|vegetari|celiac|coeliac|diabet|lactose|love|hate|dislike|detest|avoid|adore
        |enjoy|n't stand|n't eat|n't drink|n't bear|n't have|n't like|n't want|n't use|n’t|cannot|do not|rather
        |favo|fan of|no longer|i never|we never|i always|we always|i usually|we usually|i generally|we generally
        |i mostly|we mostly|gave up|given up|quit |stopped|cut out|not eaten|n't sleep|n't conc|n't focus|n't relax
        |n't tol|n't dig|n't smoke|n't fly|afraid|scared|terrified|sick|get ill|migraine|headache|heartburn|hives|rash
        |cramps|nosebleed|dizzy|itchy|swollen|bloated|nauseous|not into|really into|that into|much into"""
    ),
    wording(
        rf"""
        I(?:'m| am|'ve been) (?:\w+ ){{0,2}}(?:allergic|intolerant|vegan|vegetarian|co?eliac|diabetic|lactose)
        (?:my|an?) (?:\w+ ){{0,2}}(?:allergy|allergies|intolerance)
        I (?:(?:really|much|still|usually|always|also|generally) )?(?:prefer|love|hate|dislike|detest|avoid|adore)
        I (?:(?:really|much|still|usually|always|also|generally) )?enjoy
        I (?:can't|cannot) (?:stand|eat|drink|bear|have)
        I (?:don't|do not) (?:eat|drink|like|use|want(?! to (?:miss|risk|lose|make|be)\b))
        I(?:'d| would) rather|I(?:'m| am) (?:not )?(?:a|much of a) (?:\w+ )?fan of
        (?:I|we) (?:no longer|never) (?:eat|drink|smoke|fly)|(?:I|we) (?:don't|do not) (?:smoke|fly) any\s?more
        I(?:'ve| have)? (?:gave up|given up|quit|stopped|cut out) {_ABSTAINED}
        I (?:haven't|have not) eaten (?!{_TODAY})\w+ (?:\w+ )?(?:since|for|in)
        I(?:'m| am) (?:\w+ )?(?:afraid|scared|terrified) of {_FEARED}
        I(?:'m| am) not (?:really |that |much )?into
        I (?:\w+ )?get (?:really |very |so |easily )?(?:sea|car|air|motion|travel)[- ]?sick
        I (?:\w+ )?get (?:(?:an?|really|very|so|bad) ){{0,2}}{_ILL} (?:\w+ )?(?:from(?! time)|if I|when I|on boats)
        gives? me (?:an? |terrible |bad ){{0,2}}{_ILL}|I can't (?:tolerate|digest)
        I can't (?:sleep|concentrate|focus|relax) (?:with|without)
        (?:I|we) (?:always|usually|generally|mostly|never) (?:ask for|order|take|choose|book|pick|sit|buy|travel) \w+
        my (?:favou?rite|preferences?)
        """
    ),
)
GERMAN_PREFERENCE: Final = (
    signs(
        """allerg|vegan|vegetari|diabeti|unverträglich|ich mag|mag ich|hasse|liebe|bevorzug|vertrage|ich meide
        |ich esse|esse ich|trinke|lieb|angst|seekrank|reisekrank|fliege|rauche|kopfschmerz|migräne|ich kann nicht
        |verzicht"""
    ),
    wording(
        r"""
        (?:ich bin|bin ich)\b.{0,20}\b(?:allergisch|vegan|vegetarier\w*|vegetarisch|veganer\w*|diabetiker\w*)
        \w*allergie|\w*unverträglichkeit
        ich (?:mag|hasse|liebe|bevorzuge|vertrage|meide|esse|trinke)|(?:mag|esse|trinke) ich
        lieblings\w+|am liebsten|lieber
        ich (?:hab|habe) (?:\w+ ){0,2}(?:höhenangst|flugangst|platzangst|angst vor(?:m| dem| der)? (?-i:[A-Z])\w+)
        (?:ich werde|werde ich) (?:\w+ ){0,2}(?:see|reise)krank
        (?:krieg|bekomm)e? ich (?:\w+ )?(?:kopfschmerzen|migräne)
        ich (?:rauche|fliege) (?:nicht|nie)(?: mehr)?(?=[,.!]|$)|ich verzichte auf|ich kann nicht schlafen, wenn
        """
    ),
)
