"""What questions about a conversation itself are made of, such as "talked" and "last time"."""

from __future__ import annotations

from typing import Final

CONVERSATION_WORDS: Final = {
    "english": """
        last time session conversation chat talk talked discuss discussed discussion speak spoke stop stopped leave
        left previous previously prior continue carry pick resume know remember recall remind learn learned told tell
        profile summarise summarize describe cover covered get end something anything everything thing things topic
        much far actual already please recap go say said mention mentioned ask asked write wrote happen happened
        first begin began start started message question done like well oh
        """,
    "german": """
        letztes letzten letzter letzte voriges vorigen mal sitzung gespräch unterhaltung thema chat gesprochen
        geredet besprochen unterhalten getan erlebt lief stehen geblieben stehengeblieben
        weiter weitermachen mach machen weißt kennst erinnerst
        beschreib alles etwas bitte gemacht worüber wovon worum ging dran zuletzt eigentlich fass zusammen lass
        beim gemerkt sagen sag erzähl erzählt haben habe hast hat kannst kann womit unser unserem unseren unserer
        gesagt geschrieben gefragt los passiert ist war vorletztes vorletzten vorletzter
        vorletztem vorletzte erste ersten erstes erster erstem allererste allererstes
        anfang beginn zuerst nachricht frage ganz na naja
        """,
    "spanish": """
        mí sobre acerca qué última vez hablamos hablar hablando
        estábamos hablado sesión conversación charla tema quedamos dejamos dejar
        sabes saber recuerdas recordar soy dime todo algo continuar seguimos dije dijiste conté comenté comentamos
        charlamos hablé pasó primera penúltima pregunta hice hicimos cómo fue estuvo
        resume resúmeme habíamos quedado estuvimos charlando discutimos pregunté pedí día charlado nuestra última
        pues bueno oye ver háblame descríbeme describeme conoces aprendido tratado cosas hemos
        """,
    "french": """
        a on quoi dernière fois parlé parler parlions
        séance session conversation discussion sujet sais savoir rappelles étions
        suis dis tout quelque chose continuer reprendre propos dit raconté discuté passé première question fait
        comment était avant-dernière avant on demandé discutait discutions parlait résume résumer écrit t
        décris parle retiens souviens abordé abordés restés restées
        """,
    "italian": """
        ultima scorsa volta conversazione chat parlato parlavamo parlando discusso discutevamo detto raccontato chiesto
        scritto fatto successo rimasti eravamo abbiamo avevamo prima penultima domanda riassumi riassumere nostra sai
        ricordi cosa stavamo andata andato me ti di su discutevamo
        """,
    "portuguese": """
        última vez conversa falamos falei falou falávamos conversamos conversou conversávamos conversando falando disse
        contei perguntei pedi comentei discutimos fizemos fiz aconteceu paramos ficamos primeira penúltima pergunta
        resuma resumir resume nossa sabe lembra gente estávamos onde nós eu sobre mim sou quem te discutido
        """,
}
"""Words of such questions, by language."""
