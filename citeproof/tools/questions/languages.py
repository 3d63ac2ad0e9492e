"""Whether a text is in English, judging by its script and its function words."""

from __future__ import annotations

import re
import unicodedata

from citeproof.text import QUESTION_WORDS

_WORD = re.compile(r"[^\W\d_]+")
_ASKING = frozenset(QUESTION_WORDS.split("|"))
_ENGLISH = frozenset(
    _WORD.findall("""
    a about an and are at by can did do does for from had has have in is it its no of on or that
    the their there these they this to was were with
    """)
)
_OTHERS = (
    frozenset(
        _WORD.findall("""
    aber auf aus bei das dem den der des die durch ein eine einem einen einer es für gibt hat ihm
    ihr ihre ist kann mit nach nicht oder sich sie sind und viel viele von wann war warum waren was
    welche welcher welches wem wen wer werden wie wird wo wurde wurden zu zum zur
    au aux avec ce cette combien comment dans de des elle en est et fut il la le les leur où par
    pour pourquoi qu quand que quel quelle quelles quels qui quoi sa son sont sur un une été était
    cómo con cuál cuáles cuándo cuánto cuántos del dónde el ella es eran fue fueron ha hay las los
    más no para por porque qué quién quiénes se sido sin su sus una unos y era
    che chi come con cosa cui da dal dalla della delle dello di dove e fu furono gli ha il la lo
    nel nella per perché più quale quali quando quanto quanti sono stata stato
    ao aos até com como da das do dos em foi foram mais na nas não no nos o os ou pela pelo por
    qual quais quando quanto quem são seu sua um uma
    aan als bij dat de dit door een en er heeft het hij hoe hoeveel is ik kan met naar niet of om op
    te toen uit van voor waar waarom wanneer wat welk welke werd werden wie wordt ze zij zijn
    czy do gdzie i jak jaki jest kiedy kto która który na nie o od po się w z za są
    att av den det en ett från för har hur i inte och om på som till var vem är när varför vad
    """)
    )
    - _ENGLISH
)


def is_english(text: str) -> bool:
    """Whether a text may be English; False only if it is clearly in another language.

    A text is in another language if most of its letters belong to another script, or if it has at
    least two function words of other languages, more of these than of English, and no English
    question word. Names alone count as English.

    >>> is_english("Who built the Château de Chambord?"), is_english("Wer hat das Schloss gebaut?")
    (True, False)
    """
    words = [word.casefold() for word in _WORD.findall(text)]
    letters = [letter for word in words for letter in word if letter.isalpha()]
    latin = sum(unicodedata.name(letter, "").startswith("LATIN") for letter in letters)
    if 2 * latin < len(letters):
        return False
    if not _ASKING.isdisjoint(words):
        return True
    others = sum(word in _OTHERS for word in words)
    return others < 2 or others <= sum(word in _ENGLISH for word in words)
