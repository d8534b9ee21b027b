"""What WhatsApp itself writes in a chat: in place of files and deleted messages, behind edited ones, and notices."""

from __future__ import annotations

import re
from typing import Final

from ..text.patterns import regex

MARK: Final = "\u200e"
"""Stands on iOS before what the app writes: a notice, but also whatever somebody sent that is no plain words."""

_MARKS: Final = regex("[\u200e\u200f\u202a-\u202c\u2066-\u2069]")
_OMITTED: Final = regex(r"<[^<>:]{4,60}>")
_ATTACHED: Final = regex(r"<[^<>:]{3,30}: ([^<>]{1,200}\.\w{2,5})>|([^\s/]{1,200}\.\w{2,5}) \([^()]{5,40}\)")
_DOCUMENT: Final = regex(r"(?P<name>[^\n]{1,200}\.\w{2,5})(?: • [^\n]{1,40})?")
_KINDS: Final = {
    "image": "image photo bild bilden foto imagen imagem immagine afbeelding billede bilde изображение фото görüntü "
    "fotoğraf obraz zdjęcie 画像 写真 图片 照片 图像 圖片 圖像 사진 이미지 صورة الصورة تصویر عکس",
    "video": "video vídeo vidéo видео wideo 動画 ビデオ 视频 影片 視頻 동영상 비디오 فيديو الفيديو ویدیو",
    "audio": "audio áudio аудио ses ljud 音声 オーディオ 音频 語音 语音 音訊 오디오 음성 الصوت صوت صدا",
    "sticker": "sticker figurinha стикер çıkartma klistermärke スタンプ ステッカー 贴图 貼圖 表情 스티커 "
    "ملصق الملصق استیکر",
    "gif": "gif",
    "document": "document dokument documento документ belge 文書 ドキュメント 文档 文件 문서 مستند المستند سند",
    "contact card": "contact_card kontaktkarte tarjeta_de_contacto kontaktkort 連絡先カード 连络人名片 聯絡人資訊 名片 "
    "연락처 بطاقة_جهة_الاتصال",
}
_KIND_OF: Final = {word.replace("_", " "): kind for kind, words in _KINDS.items() for word in words.split()}
_LEFT_OUT: Final = (
    "omitted|weggelassen|omitid[oa]|ocultad[oa]|absente?|omis[e]?|omess[oa]|weggelaten|utelämna\\w*|utelatt|udeladt|"
    "отсутствует|пропущен[оа]?|dahil edilmedi|pominięt[oya]|は含まれていません|が含まれていません|は省略されました|"
    "已省略|已忽略|已略去|被省略|생략됨|생략되었습니다|제외됨|حذف شد"
)
_FIRST: Final = "忽略|省略|略去|تم حذف|تم استبعاد|تم تجاهل|pominięto"
_NAMES: Final = "|".join(sorted(_KIND_OF, key=len, reverse=True))
_IOS_OMITTED: Final = regex(
    rf"\W*(?:(?P<kind>{_NAMES})(?:(?<=[\u0e00-\uffff])\w{{0,3}}\s?|\b.{{0,20}}\b|\s?)(?:{_LEFT_OUT})|"
    rf"(?:{_FIRST})\s?(?P<late>{_NAMES}))\W*",
    re.I,
)
_DELETED: Final = regex(
    r"(?:This message was deleted|You deleted this message|Diese Nachricht wurde gelöscht|Du hast diese Nachricht "
    r"gelöscht|Se eliminó este mensaje|Eliminaste este mensaje|Ce message a été supprimé|Vous avez supprimé ce message|"
    r"Mensagem apagada|Você apagou esta mensagem|Questo messaggio è stato eliminato|Hai eliminato questo messaggio|"
    r"Dit bericht is verwijderd|U hebt dit bericht verwijderd|Данное сообщение удалено|Вы удалили данное сообщение|"
    r"Bu mesaj silindi|Bu mesajı sildiniz|このメッセージは削除されました|このメッセージを削除しました|"
    r"(?:此|这条|这则)(?:消息|讯息)已(?:被)?删除|[你您]已?删除了?(?:此|这条|这则)(?:消息|讯息)|"
    r"삭제된 메시지입니다|تم حذف هذه الرسالة|حذفتَ هذه الرسالة)(?: by admin .*)?[.。]?",
    re.I,
)
_CALL: Final = regex(
    r"(?:Missed (?:group )?(?:voice |video )?call(?:, Tap to call back)?|"
    r"Verpasster (?:Sprach|Video|Gruppen)anruf(?:, Zum Zurückrufen tippen)?|"
    r"(?:Videoll|Ll)amada (?:de voz |grupal )?perdida|Appel (?:vocal|vidéo) manqué)\.?"
)
_WAITING: Final = regex(
    r"(?:Waiting for this message\. This may|Warten auf diese Nachricht\. Dies kann|Esperando (?:este|el) mensaje\. "
    r"Esto puede|En attente de ce message\. (?:Cela|Ceci) peut) [^.\n]{4,40}\.(?: Learn more\.?)?"
)
_EDITED: Final = regex(
    r"\s*<(?:This message was edited|Diese Nachricht wurde bearbeitet|Se editó este mensaje|Ce message a été modifié|"
    r"Mensagem editada|Questo messaggio è stato modificato|Dit bericht is bewerkt|Сообщение изменено|"
    r"Bu mesaj düzenlendi|(?:此|这条|这则)(?:消息|讯息)已(?:被)?编辑|"
    r"已编辑(?:此|这条|这则)(?:消息|讯息)|تم تعديل هذه الرسالة)[.。]?>$",
    re.I,
)
_MARKED_END: Final = regex(r"(?<=[^\s\u200e])\s*\u200e<[^<>:]{4,60}>$")
"""Behind an edited message on iOS, in any language: nobody types the mark before a bracket."""

_VOTES: Final = regex("[ \u00a0]?[(（]\u200e\\d+[ \u00a0]?[^()（）\\n]{0,20}[)）]$", re.M)
_PLAIN_VOTES: Final = regex(r"(?<=\nOPTION: )(.+) \(\d+ votes?\)$", re.M)
"""How many votes an answer of a poll has, which changes from one export to the next; Android sets no mark before it."""
_LABEL: Final = regex(r"[^\W\d]+(?: [^\W\d]+){0,2}\s?[:：]")
"""``POLL:``, ``Location:``, ``Live location:`` begin what somebody sent."""
_ENCRYPTED: Final = regex(
    "end-to-end|ende-zu-ende|extremo a extremo|bout en bout|ponta a ponta|ände till ände|ende-til-ende|сквозн|"
    "uçtan uca|エンドツーエンド|端到端|端对端|端對端|종단간|종단 간|تامة? بين الطرفين",
    re.I,
)
_NOTICE: Final = regex(
    r"\b(?:created (?:this |the )?group|added|removed|left|changed|joined|turned (?:on|off)|pinned|now an admin|"
    r"security code|is a contact|disappearing messages|waiting for this message)\b|"
    r"\b(?:voice|video|group) call\b|"
    r"\b(?:hinzugefügt|entfernt|geändert|erstellt|verlassen|beigetreten|angeheftet|sicherheitsnummer|ist ein kontakt|"
    r"selbstlöschende|warten auf diese nachricht)\b|(?:sprach|video|gruppen)anruf|"
    r"\b(?:creó|creaste|añadió|añadiste|eliminó a|cambió|cambiaste|salió|saliste|se unió|código de seguridad|llamada|"
    r"mensajes temporales|es un contacto)\b|"
    r"\b(?:a|avez) (?:créé|ajouté|retiré|modifié|changé|quitté|rejoint)\b|\bcode de sécurité\b|\bappel (?:vocal|vidéo)|"
    r"\b(?:criou|adicionou|removeu|mudou|saiu|entrou|código de segurança|chamada|ligação|mensagens temporárias)\b|"
    r"\bha (?:creato|aggiunto|rimosso|cambiato|modificato|abbandonato)\b|\b(?:si è unit|codice di sicurezza|chiamata)|"
    r"\b(?:gemaakt|aangemaakt|toegevoegd|gewijzigd|groep verlaten|beveiligingscode|oproep)\b|"
    r"\b(?:lade till|skapade gruppen|tog bort|ändrade|lämnade|säkerhetskod\w*|röstsamtal|videosamtal)\b|"
    r"\b(?:создал|добавил|удалил|изменил|покинул|вышел|вышла|присоединил|код безопасности|звонок)|"
    r"\b(?:oluşturdu|ekledi|çıkardı|ayrıldı|değiştirdi|katıldı|güvenlik kodu|arama)\b|"
    "グループを作成|追加しました|退出しました|変更しました|参加しました|セキュリティコード|通話|"
    "创建了|建立了|添加了|新增了|移除了|退出了|更改了|加入了|安全码|安全碼|通话|"
    "그룹을 만들|추가했|초대했|나갔|변경했|보안 코드|통화|"
    "أنشأ|أضاف|أزال|غادر|غيّر|انضم|رمز الأمان|مكالمة",
    re.I,
)
_LONGEST_MARK: Final = 80


def plain(text: str) -> str:
    """The text without the marks that turn the direction of writing."""
    return text if text.isascii() else _MARKS.sub("", text)


def is_deleted(words: str) -> bool:
    """Whether the words, without marks, stand in place of a message that was deleted."""
    return _DELETED.fullmatch(words) is not None


def stands_for(words: str, *, is_android: bool) -> str:
    """Of what kind a message is that the app replaces by all of these words; nothing for what somebody wrote.

    Args:
        words: without marks.
        is_android: whether the app wrote the export on Android, where ``null`` is what it cannot tell.
    """
    if is_deleted(words):
        return "deleted messages"
    if is_android and words == "null":
        return "messages exported as null"
    if _WAITING.fullmatch(words):
        return "messages that had not arrived"
    return "system lines" if _CALL.fullmatch(words) else ""


def is_notice(name: str, words: str) -> bool:
    """Whether what is marked as the app's own words tells of the chat, and is nothing that somebody sent.

    Only what is known as a notice is one: a line about the one in whose name it stands, or of words that tell of
    encryption, members, settings and calls. In a language that is not known here, a notice is kept as a message,
    since a poll, a place or a file of that language looks just like it.

    Args:
        name: in whose name it stands.
        words: all of the message, with the marks.
    """
    text = plain(words)
    if "\n" in text or not words.startswith(MARK) or shown(words) != text or _LABEL.match(text):
        return False
    return text.startswith(f"{name} ") or tells_of_encryption(text) or _NOTICE.search(text) is not None


def tells_of_encryption(words: str) -> bool:
    """Whether the words may be those with which an export of a whole chat begins."""
    return _ENCRYPTED.search(words) is not None


def shown(words: str) -> str:
    """The words of a message as they are kept: without marks, and files as ``[image]`` or ``[file: name]``.

    Args:
        words: as they stand in the export.
    """
    if words.startswith("POLL:\n"):
        words = _PLAIN_VOTES.sub(r"\1", words)
    if MARK in words:
        words = _VOTES.sub("", words)
        words = "\n".join(map(_line, _MARKED_END.sub("", words).split("\n")))
    text = plain(words)
    first, line, rest = text.partition("\n")
    if media := _media(first):
        return f"{media}{line}{rest}"
    if "<" in text or " (" in text:
        return _EDITED.sub("", _ATTACHED.sub(lambda found: f"[file: {found[1] or found[2]}]", text))
    return text


def _line(line: str) -> str:
    """A line with what the app writes at its end, such as ``Contract.pdf • ‎3 pages ‎document omitted``."""
    before, mark, last = line.rpartition(MARK)
    media = _media(plain(last)) if mark else ""
    if not media:
        return line
    text = plain(before).strip()
    if media == "[document]" and (found := _DOCUMENT.fullmatch(text)):
        return f"[file: {found['name']}]"
    return f"{text} {media}".strip()


def _media(line: str) -> str:
    """``[image]`` and the like for what was left out of the export; nothing for words."""
    if len(line) > _LONGEST_MARK:
        return ""
    if found := _IOS_OMITTED.fullmatch(line):
        return f"[{_KIND_OF[(found['kind'] or found['late']).lower()]}]"
    return "[media]" if _OMITTED.fullmatch(line.strip()) else ""
