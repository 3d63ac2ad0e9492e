"""Words with opposites: a text that is turned around says the contrary, or asks for it."""

from __future__ import annotations

import re
from collections import defaultdict

_PAIRS = """
    more/less more/fewer most/least most/fewest much/little many/few higher/lower highest/lowest
    high/low greater/smaller greater/less larger/smaller largest/smallest large/small big/small
    bigger/smaller longer/shorter longest/shortest long/short older/younger oldest/youngest
    elder/younger old/young old/new earlier/later earliest/latest early/late first/last before/after
    above/below inside/outside within/outside upper/lower north/south east/west northern/southern
    eastern/western northeast/southwest northwest/southeast forward/backward near/far deep/shallow
    nearest/farthest closest/farthest wide/narrow thick/thin fast/slow faster/slower fastest/slowest
    quickly/slowly hot/cold warm/cold hotter/colder warmer/colder wet/dry heavy/light
    heavier/lighter strong/weak stronger/weaker strongest/weakest hard/soft hard/easy easy/difficult
    easier/harder rich/poor full/empty light/dark good/bad better/worse best/worst right/wrong
    true/false correct/incorrect positive/negative possible/impossible legal/illegal
    complete/incomplete active/inactive dependent/independent guilty/innocent present/absent
    public/private internal/external
    inner/outer interior/exterior major/minor majority/minority maximum/minimum maximal/minimal
    ancient/modern foreign/domestic foreign/local solid/liquid vertical/horizontal urban/rural
    same/different similar/different alike/different always/never all/none both/neither
    everyone/nobody with/without common/rare frequent/rare often/rarely often/seldom
    usually/rarely male/female man/woman men/women boy/girl boys/girls husband/wife father/mother
    son/daughter brother/sister king/queen alive/dead born/died birth/death married/divorced
    ally/enemy allies/enemies friend/enemy winter/summer day/night morning/evening hero/villain
    import/export imports/exports imported/exported employer/employee supporters/opponents
    victory/defeat success/failure succeed/fail succeeds/fails succeeded/failed win/lose wins/loses
    won/lost gain/lose gains/loses gained/lost rise/fall rises/falls rose/fell rising/falling
    increase/decrease increases/decreases increased/decreased increasing/decreasing grow/shrink
    begin/end begins/ends began/ended beginning/end start/end starts/ends started/ended start/stop
    starts/stops started/stopped open/close opens/closes opened/closed open/closed enter/leave
    enters/leaves entered/left join/leave joins/leaves joined/left buy/sell buys/sells bought/sold
    accept/reject accepts/rejects accepted/rejected accepted/refused
    support/oppose supports/opposes supported/opposed attack/defend attacked/defended allow/forbid
    allows/forbids allowed/forbidden allow/prohibit allowed/prohibited permitted/prohibited
    permitted/forbidden allow/prevent allows/prevents include/exclude includes/excludes
    included/excluded including/excluding enable/disable enables/disables enabled/disabled
    ascending/descending
"""
_OPPOSITES: defaultdict[str, list[str]] = defaultdict(list)
for _one, _, _other in (pair.partition("/") for pair in _PAIRS.split()):
    _OPPOSITES[_one].append(_other)
    _OPPOSITES[_other].append(_one)
_PREFIXES = ("un", "non", "dis")
"""Prefixes that negate. Of words such as "discover" the texts seldom have the rest."""
_WORD = re.compile(r"[a-z]+")


def turn_around(text: str, premise: str) -> list[str]:
    """Return the text with a word replaced by its opposite, once for each that the premise has.

    Words that the premise has too, and opposites that the text has too, are left alone.

    >>> turn_around("Too much iron harms.", "Too little iron harms.")
    ['Too little iron harms.']
    >>> turn_around("Too much iron harms.", "Too much harms, and too little.")
    []
    """
    own, known = (dict.fromkeys(_WORD.findall(some.lower())) for some in (text, premise))
    return [
        _replace(text, word, other)
        for word in own
        if word not in known
        for other in _opposites(word)
        if other in known and other not in own
    ]


def _opposites(word: str) -> list[str]:
    negated = [prefix + word for prefix in _PREFIXES]
    bare = [word.removeprefix(prefix) for prefix in _PREFIXES if word.startswith(prefix)]
    return [*_OPPOSITES.get(word, ()), *negated, *bare]


def _replace(text: str, word: str, other: str) -> str:
    def written(found: re.Match[str]) -> str:
        return other.capitalize() if found[0][0].isupper() else other

    return re.sub(rf"\b{word}\b", written, text, flags=re.IGNORECASE)
