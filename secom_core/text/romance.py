"""What a user says that holds from then on, in Spanish, French, Italian and Portuguese.

The rules of `secom_core.text.speech` for these languages: of each kind, what stands in whatever is found, and what is.
"""

from __future__ import annotations

from typing import Final

from .trades import TRADES
from .wording import signs, wording

INSTRUCTION: Final = (
    signs(
        """siempre|nunca|jamás|a partir de|en adelante|llámame|llámeme|llames|llamarme|trátame|tutéame
        |háblame|tutea|tutees|trates|otra vez|de nuevo|cada vez que|no vuelvas|deja de|emoji|toujours
        |jamais|désormais|dorénavant|avenir|chaque fois|-moi|arrête|m'appel|m’appel|plus|sempre|mai |in poi|in avanti
        |chiama|dammi del|smett|ogni volta
        |em diante|frente|più|me chame|chame-me|chama-me|me chamar|pare de|más|brev|brèv|brièv|court|curt|cort
        |concis|resumid"""
    ),
    wording(
        r"""
        a partir de (?:ahora|hoy),? (?!(?:yo|vivo|vivimos|trabajo|trabajamos|voy|vamos|mi|tengo|estoy|soy|me)\b)\w+
        (?:de (?:ahora|aquí|hoy) )?en adelante,? (?!(?:yo|vivo|vivimos|trabajo|voy|vamos|mi|tengo|estoy|soy|me)\b)\w+
        (?:responde|respónde|contesta|contésta|escribe|escríbe|usa|utiliza|dime|háblame)\w*\b.{0,40}\b(?:siempre|nunca)
        (?:siempre|nunca) (?:me )?(?:responde|conteste|contesta|use|usa|escrib|recomiend|pong|habl)\w*|llám[ae]me
        (?:puedes|podrías|quiero que me) (?:llamarme|tutearme|llames|tutees|trates)
        trátame|tutéame|háblame de (?:tú|usted)
        quiero que (?:siempre|nunca) \w+|cada vez que (?:te|os|le) \w+|no vuelvas a \w+
        no me \w+[ae]s\b.{0,40}\b(?:nunca|jamás|más|otra vez|de nuevo)|deja de (?:usar|poner|\w+r(?:me|nos))
        (?:désormais|dorénavant|à partir de maintenant|à l'avenir),? (?!(?:je|j|on|nous|mon|ma|mes)\b)\w+
        (?:désormais|dorénavant|à partir de maintenant|à l'avenir),? je (?:veux|voudrais|préfère)
        (?:réponds|répondez|écris|écrivez|utilise|donne|parle|sois|soyez)\w*(?:-moi)?\b.{0,40}\b(?:toujours|jamais)
        (?:toujours|jamais) (?:répondre|écrire|utiliser)|appelle[sz]?-moi|appelez-moi
        (?:tutoie|vouvoie)s?-moi|(?:tutoyez|vouvoyez)-moi|(?:tu peux|vous pouvez|peux-tu|pouvez-vous) m'appeler
        (?:à )?chaque fois que je (?:te|vous) \w+|je veux que (?:tu|vous)\b.{0,30}\b(?:toujours|jamais)
        arrête[sz]? (?:de |d')(?:mettre|utiliser|ajouter|(?:me |m')\w+)
        (?:d'ora|da (?:ora|adesso|oggi)) in (?:poi|avanti),? (?!(?:io|vivo|abito|lavoro|sono|ho|siamo|mi|ci)\b)\w+
        (?:rispondi(?:mi)?|rispondete|scrivi(?:mi)?|parlami|dammi|dimmi|spiegami)\b.{0,40}\b(?:sempre|mai)
        non (?:usare|mettere|rispondere|scrivere|\w+[aei]r(?:mi|ci))\b.{0,40}\b(?:mai|più)|dammi del (?:tu|lei)
        chiamami|puoi chiamarmi|smett(?:i|ila) di (?:usare|mettere|\w+r(?:mi|ci))|ogni volta che (?:ti|vi) \w+
        (?:voglio|vorrei) che (?:tu )?(?:mi )?\w+ (?:sempre|mai)
        (?:a partir de agora|(?:de agora|daqui) em diante|daqui pr?a(?:ra)? frente),? (?!(?:eu|moro|vivo|nós|vou)\b)\w+
        (?:responda|responde|escreva|escreve|use|utilize|fale|explique|diga)\b.{0,40}\b(?:sempre|nunca)
        (?:sempre|nunca) (?:me )?(?:responda|use|escreva|recomende|sugira|fale|chame|dê)
        (?:me chame|podes? me chamar|cham[ae]-me)|sempre que eu (?:te |lhe )?(?:pedir|perguntar|falar|disser)
        não me \w+[ae]\b.{0,40}\b(?:mais|nunca|de novo)|pare de (?:usar|colocar|(?:me )?\w+r)
        quero que (?:você )?(?:me )?(?:sempre|nunca) \w+
        (?:responde|respóndeme|contesta|contéstame) (?:más |de (?:forma|manera) (?:más )?)?brev\w+(?!\s?:)
        (?:respond[ea]|me responda) (?:mais |de forma (?:mais )?)?(?:brev|curt|resumid)\w+(?!\s?:)
        (?:réponds|répondez)(?:-moi)? (?:plus )?(?:brièvement|court|de (?:façon|manière) (?:plus )?brève)(?!\s?:)
        (?:rispondi(?:mi)?|rispondete) (?:più )?(?:brevemente|in breve|in modo (?:più )?(?:breve|conciso))(?!\s?:)
        (?:respuestas (?:más )?(?:cortas|breves)|respostas (?:mais )?(?:curtas|breves)),? por favor
        réponses (?:plus )?(?:courtes|brèves),? s'il (?:te|vous) plaît|risposte (?:più )?(?:brevi|corte),? per favore
        (?:no (?:uses|utilices|pongas)|não (?:use|coloque))\b.{0,12}\bemo\w+
        (?:non (?:usare|mettere)|n'utilise[sz]? (?:pas|plus))\b.{0,12}\b[eé]mo\w+
        """,
        anywhere=r"""
        (?:^|[.!?;:,] |\n\s*)(?:ne (?:me )?(?!plus|jamais)\w+|n'\w+) (?:pas |plus ){0,2}(?:plus|jamais)\b
        """,
    ),
)
PREFERENCE: Final = (
    signs(
        """alérgi|alergi|allergi|allergique|intoler|intolér|intoller|vegan|végan|vegetar|végétar|celíac|celiac|liaque
        |diabétic|diabétiq|diabetic|diabete|prefiero|me gusta|me encanta|odio|detesto|no como|no bebo|no tomo|no puedo
        |no soporto|evito|favorit|me da |préfèr|j'aime|j’aime|j'adore|j’adore|j'évite|j’évite|horreur|peur
        |n'aime|n’aime|paura|déteste|je ne|préféré|preferi|adoro|mi piac|non mangi|non bev|non poss|non soppor|prefiro
        |odeio|gosto|não como|não bebo|não posso|não suporto|não tomo"""
    ),
    wording(
        r"""
        soy (?:\w+ ){0,2}(?:alérgic|intolerant|vegan|vegetarian|celíac|diabétic)\w*
        tengo (?:\w+ ){0,2}(?:alergia|intolerancia|diabetes)\w*|(?:prefiero|odio|detesto|adoro|evito)
        me (?:gusta|encanta)n?|me dan? (?:\w+ )?miedo
        no (?:como|bebo|tomo|soporto|puedo (?:comer|beber|tomar))|mis? \w+ favorit\w+
        je suis (?:\w+ ){0,2}(?:allergique|intolérante?|végane?|végétarien\w*|c(?:œ|oe)liaque|diabétique)
        j'ai (?:une |des )?(?:allergie|intolérance)s?|je (?:préfère|déteste)|j'(?:aime|adore|évite)|je n'aime pas
        je ne (?:mange|bois|supporte) (?:pas|plus|jamais)|je ne peux (?:pas|plus) (?:manger|boire)
        m(?:on|a|es) \w+ préférée?s?|j'ai (?:horreur|(?:très )?peur) d(?:e|u|')
        sono (?:\w+ ){0,2}(?:allergic|intollerant|vegan|vegetarian|celiac|diabetic)\w*|ho (?:un'|\w+ )?allergi\w+
        ho (?:un'|\w+ )?intolleranz\w+|preferisco|mi piac(?:e|ciono)|non (?:mangio|bevo|sopporto)
        non posso (?:mangiare|bere)|m(?:io|ia|iei|ie) \w+ preferit\w+|ho paura d\w+
        sou (?:\w+ ){0,2}(?:alérgic|intolerant|vegan|vegetarian|celíac|diabétic)\w*
        tenho (?:\w+ ){0,2}(?:alergia|intolerância|diabetes)\w*|prefiro|odeio|(?:eu|não) gosto|gosto d[eoa]s?
        não (?:como|bebo|tomo|suporto)|não posso (?:comer|beber|tomar)|m(?:inha|eu)s? \w+ (?:favorit|preferid)\w+
        """
    ),
)
FACT: Final = (
    signs(
        """me llamo|mi nombre|vivo|vivimos|trabajo|nací|tengo|mi es|mi mu|mi ma|mi no|mi hi|mi pa|mi he|mi pe|mi ga
        |mi cu|mi je|soy|mudad|mudé|mudamos|cumplo|m'appelle|m’appelle|mon no|mon ma|mon co|mon fi|mon p|mon fr
        |mon ch|mon an|ma fe|ma co|ma fi|ma m|ma s|ma ch|habit|je vis|je trav|j'ai|j’ai|je suis|je viens|on vit
        |nous viv|déménag|emménag|on a dé|mi chiamo|il mio|mio m|mio c|mio f|mio p|mia m|mia s|mia f|mia g|mia c|viviamo
        |abito|abitiamo|lavoro|figli|fratell|sorell|anni|sono|faccio|trasferit|meu n|meu m|meu f|meu p|meu i|meu c
        |meu g|meu a|minha|me chamo|moro|moramos|vivemos|trabalho|tenho|sou |me mudei|nos mudamos|se mudou"""
    ),
    wording(
        rf"""
        {TRADES}
        me llamo|mi nombre es|(?:vivo|vivimos|trabajo|nací) (?:en|de|como|para|con)|tengo \d+ años|cumplo \d+
        tengo (?:\w+ ){{0,2}}(?:hij[oa]s?|herman[oa]s?)|soy de (?-i:[A-ZÁÉÍÓÚ])\w+
        (?:me|nos) (?:he |hemos )?(?:mudado|mudé|mudamos)
        mi (?:espos[oa]|mujer|marido|novi[oa]|hij[oa]|madre|padre|herman[oa]|perr[oa]|gat[oa]|cumpleaños|jef[ea]|pareja)
        je m'appelle|mon nom est|j'habite|je (?:vis|travaille) (?:\w+ )?(?:à|en|au|chez|pour|comme|dans)|j'ai \d+ ans
        (?:on|nous) (?:habite|habitons|vit|vivons) |(?:j'ai|on a|nous avons) (?:dé|em)ménagé
        je viens (?:de |du |d')(?-i:[A-ZÉ])\w+
        j'ai (?:\w+ ){{0,2}}(?:enfants?|fils|filles?|frères?|sœurs?)
        m(?:on|a) (?:femme|mari|copain|copine|fils|fille|mère|père|frère|sœur|chien|chat|anniversaire|chef|compagn\w+)
        mi chiamo|il mio nome è|(?:vivo|viviamo|abito|abitiamo) (?:\w+ )?(?:a|ad|in|con)|ho \d+ anni
        (?<!\bil\s)(?<!\bun\s)(?<!\bdi\s)(?<!\bmio\s)lavoro (?:\w+ )?(?:in|come|da|per|presso)
        (?:mi sono|ci siamo) trasferit\w+
        ho (?:\w+ ){{0,2}}(?:figli[oae]?|fratell[oi]|sorell[ae])|sono (?:nat[oa] |di (?-i:[A-Z])\w+)
        mi[oa] (?:moglie|marito|compagn[oa]|fidanzat[oa]|figli[oa]|madre|padre|mamma|papà|sorella|fratello|cane)
        mi[oa] (?:gatt[oa]|compleanno|cap[oa])
        meu nome é|me chamo|(?:moro|moramos|vivo|vivemos) (?:\w+ )?(?:em|no|na|com|numa?)|tenho \d+ anos
        (?<!\bo\s)(?<!\bum\s)(?<!\bde\s)(?<!\bmeu\s)trabalho (?:\w+ )?(?:em|no|na|como|com|para|numa?)
        sou de (?-i:[A-Z])\w+
        (?:me mudei|nos mudamos|a gente se mudou)|tenho (?:\w+ ){{0,2}}(?:filh[oa]s?|irmãos?|irmãs?)
        (?:meu|minha) (?:esposa|marido|mulher|namorad[oa]|filh[oa]|mãe|pai|irmã|irmão|cachorr[oa]|cão|gat[oa])
        meu aniversário
        """
    ),
)
