"""Function words by Snowball language: closed-class words that say nothing about the topic."""

from __future__ import annotations

from typing import Final

__all__ = ["STOPWORDS"]

STOPWORDS: Final[dict[str, frozenset[str]]] = {
    "english": frozenset(
        """
        a about above after again against all am an and any are aren't as at be because been before
        being below between both but by can can't cannot could couldn't did didn't do does doesn't
        doing don't down during each few for from further had hadn't has hasn't have haven't having
        he he'd he'll he's her here here's hers herself him himself his how how's i i'd i'll i'm
        i've if in into is isn't it it'd it'll it's its itself just let's me more most mustn't my
        myself no nor not now of off on once only or other ought our ours ourselves out over own
        same shan't she she'd she'll she's should shouldn't so some such than that that's the their
        theirs them themselves then there there's these they they'd they'll they're they've this
        those through to too under until up very was wasn't we we'd we'll we're we've were weren't
        what what's when when's where where's which while who who's whom why why's will with won't
        would wouldn't you you'd you'll you're you've your yours yourself yourselves
        """.split()
    ),
    "german": frozenset(
        """
        aber alle als also am an auch auf aus bei bin bis bist da dann das dass dein deine dem den
        denn der des dich die dies diese dieser dieses dir doch du ein eine einem einen einer eines
        er es für gegen hat hatte hatten ich ihm ihn ihr ihre im in ist ja jede jeder kein keine
        mein meine mich mir mit nach nicht noch nur ob oder ohne sehr sein seine sich sie sind so um
        und uns unser unter vom von vor war waren warum was weil wenn wer wie wir wird wo zu zum zur
        über
        """.split()
    ),
    "french": frozenset(
        """
        ai as au aux avec avons c'est ce ces cette dans de des du elle elles en est et eu eux il ils
        j'ai je la le les leur leurs lui ma mais me mes moi mon même ne nos notre nous on ont ou où
        par pas pour qu que quel quelle qui s'il sa se ses si son sont sur ta te tes toi ton tu un
        une vos votre vous y à étaient était être
        """.split()
    ),
    "spanish": frozenset(
        """
        a al algo ante como con contra cuando cuál de del desde donde durante dónde e el ella ellas
        ellos en entre era es esa ese eso esta estaba estas este esto estos estoy está fue ha había
        han has hasta hay he la las le les lo los me mi mis mucho muy más nada ni no nos nosotros o
        os para pero por porque que quien quién qué se sea ser si sin sobre son soy su sus sí
        también te tengo ti tiene todo tu tus un una uno unos y ya yo él
        """.split()
    ),
    "italian": frozenset(
        """
        a ad ai al alla alle anche c'è che chi ci come con cosa cui da dai dal dalla degli dei del
        della delle di dove e ed era gli ha hai hanno ho i il in io la le lei li lo loro lui ma mi
        mia mio molto ne nei nel nella noi non o per perché più quale quando quello questa questo
        qui se sei si sia sono su sua sul sulla suo ti tra tu tuo un una uno vi voi è
        """.split()
    ),
    "portuguese": frozenset(
        """
        a ao aos as até com como da das de dela dele do dos e ela elas ele eles em entre era essa
        esse esta este está eu foi há isso isto já lhe mais mas me mesmo meu minha muito na nas nem
        no nos não nós o os ou para pela pelo por quando que quem se sem ser seu sua são também te
        tem teu tua um uma você vocês à às é
        """.split()
    ),
    "dutch": frozenset(
        """
        aan al alles als altijd ben bij dan dat de der deze die dit doch doen door dus een en er
        geen had heb hebben heeft hem het hier hij hoe hun ik in is ja je kan kon maar me meer men
        met mij mijn na naar niet niets nog nu of om omdat ons ook op over te tegen toch toen tot u
        uit uw van veel voor waar was wat we werd wezen wie wij wil worden zal ze zei zelf zich zij
        zijn zo zonder zou
        """.split()
    ),
    "swedish": frozenset(
        """
        alla att av blev bli de dem den denna det detta dig din du då efter ej eller en er ett från
        för ha hade han hans har hon i icke ingen inte jag kan man med men mig min mot mycket ni nu
        när och om oss på samma sig sin ska som så till under upp ut vad var vara vi vid vilken är
        åt över
        """.split()
    ),
    "danish": frozenset(
        """
        af alle at blev da de dem den der deres det dette dig din du efter eller en er et for fra
        ham han hans har havde hende hun hvad hvor i ikke ind jeg jo kan man med meget men mig min
        mod ned nu når og også om op os over på sig skal som så til ud under var vi vil være
        """.split()
    ),
    "norwegian": frozenset(
        """
        alle at av bare ble da de deg dem den der det dette din du eller en er et etter for fra ha
        hadde han har henne hun hva hvor i ikke jeg kan man med meg men min mot nå når og også om
        opp oss over på seg sin skal som så til ut var vi vil være
        """.split()
    ),
    "finnish": frozenset(
        """
        ei eivät emme en et ette että he hän ja joka jos kanssa kuin kun me mikä minulla minun minä
        missä mitä mutta myös ne niin nyt ole olen oli olin on ovat se sen sinun sinä tai te tämä
        vain voi
        """.split()
    ),
    "hungarian": frozenset(
        """
        a aki akkor ami amikor az azt csak de egy ez ha hogy hol is itt kell ki lesz meg mert mi
        mint mit már még nagyon nem ott te ti vagy van volt én és ő ők
        """.split()
    ),
    "romanian": frozenset(
        """
        a al ale am ar are aș așa ca ce cu cum că da dar de din după e ea ei el ele este eu eşti fi
        fost la lor mai mea meu mi mă ne nu o pe pentru prin sau se si sunt să tu un una unde va voi
        vă îmi în îți și
        """.split()
    ),
    "turkish": frozenset(
        """
        acaba ama ben beni bir biz bu bunu da daha de değil diye en gibi hem hep her ile ise için ki
        kim mi mu mü mı nasıl ne neden nerede o olan oldu onlar onu sen siz ve veya ya yani çok şey
        şu
        """.split()
    ),
    "russian": frozenset(
        """
        а без бы был была были было быть в вам вас во вот все вы где да для до его ее если есть еще
        же за и из или им их к как ко когда кто ли мне мой моя мы на над не него нет ни но о об он
        она они от по под при с со так там то тот ты у уже что чтобы эта эти это этот я
        """.split()
    ),
    "greek": frozenset(
        """
        ένα έχω ήταν αλλά από για δεν είναι εγώ εσύ η θα και με μια μου να ο οι που πως σε σου στη
        στην στο στον τα την της τι το τον του των
        """.split()
    ),
}
