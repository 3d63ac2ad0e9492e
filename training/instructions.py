"""Turns the headings of guides into questions, and finds the steps below them."""

from __future__ import annotations

import re

from citeproof.tools.sentences import sentences

_VERBS = frozenset(
    re.findall(
        r"\w+",
        """access activate add adjust allow analyze apply archive assign attach authenticate avoid
    back block boot browse build burn calibrate cancel change check choose clean clear click clone
    close combine compile compress configure connect control convert copy create customize cut
    debug decrypt define delete deploy deprecate detect determine disable disconnect display
    download drag duplicate edit eject enable encrypt enroll enter establish exclude execute exit
    export extend extract fetch filter find fix follow force format generate get give go group
    handle hide identify ignore import improve include increase index inspect install integrate
    join keep launch limit link load lock log look lower maintain make manage mark
    measure merge migrate modify monitor mount move navigate obtain open organize override pack
    pause perform pin place play prepare press prevent preview print protect provide publish push
    put quit read rebuild receive record recover reduce refresh register reload remove rename renew
    repair replace report request require resize resolve restart restore restrict resume retrieve
    return revert review revoke rotate run save scale scan schedule search secure select send
    separate serve set share show shut sign skip sort specify speed split start stop store submit
    subscribe switch sync synchronize test track transfer translate troubleshoot turn
    understand undo uninstall unlock unpublish update upgrade upload use validate verify view watch
    write zoom""",
    )
)
_OPPOSITES = {
    verb: opposite
    for left, right in re.findall(
        r"(\w+):(\w+)",
        """enable:disable import:export add:remove create:delete install:uninstall lock:unlock
        start:stop open:close show:hide upload:download connect:disconnect encrypt:decrypt
        publish:unpublish allow:block upgrade:downgrade split:merge copy:move undo:redo
        mount:unmount archive:restore send:receive increase:reduce""",
    )
    for verb, opposite in ((left, right), (right, left))
}
_QUESTION = re.compile(
    r"(?:how|what|why|when|where|which|who|whose|can|could|do|does|did|is|are|was|will|would"
    r"|should|may|must|has|have|i|my|if|in)\b",
    re.IGNORECASE,
)
_TO_ME = {"your": "my", "yours": "mine", "you": "I", "yourself": "myself"}
_MARKS = re.compile(r"[*`_\\]|^\W+")


def ask(heading: str) -> tuple[str, str]:
    """The question that a heading asks, or the act that it instructs in; empty where there is none.

    >>> ask("Changing your time zone"), ask("Can I keep two copies?")
    (('', 'change my time zone'), ('Can I keep two copies?', ''))
    """
    heading = " ".join(_MARKS.sub("", heading).split())
    words = heading.split()
    if not 2 <= len(words) <= 16:
        return "", ""
    if heading.endswith("?"):
        return (heading, "") if _QUESTION.match(heading) and len(words) > 2 else ("", "")
    if words[0].lower() == "how" and words[1] == "to":
        words = words[2:]
    verb = _base(words[0].lower()) if words else ""
    if not verb or len(words) < 2 or words[1][:1] in "&:-–":
        return "", ""
    act = [verb, *(_TO_ME.get(word, word) for word in words[1:])]
    return "", " ".join(act).rstrip(".:!")


def first_step(text: str) -> str:
    """The first sentence of a text that tells what to do, as the rest of a sentence; or empty."""
    for sentence in sentences(text)[:8]:
        said = re.sub(r"^(?:\d+[.)]|[-*•])\s*", "", sentence)
        words = said.split()
        if words and _instructs(words[0]) and 4 <= len(words) <= 40:
            return said[:1].lower() + " ".join(words)[1:]
        told = re.match(r"To [^,]{3,80}, (?=\w)", said)
        if told and _instructs(said[told.end() :].split()[0]) and len(words) <= 45:
            return " ".join(said[told.end() :].split())
    return ""


def _instructs(word: str) -> bool:
    return word.lower() in _VERBS and not word.isupper()


def opposite(act: str) -> str:
    """The act with the opposite verb, or empty."""
    verb, _, rest = act.partition(" ")
    return f"{_OPPOSITES[verb]} {rest}" if verb in _OPPOSITES else ""


def _base(word: str) -> str:
    """The base form of a verb in -ing, or the verb itself; empty if it is none of those known."""
    stem = word.removesuffix("ing")
    forms = [word] if stem == word else [stem, stem + "e", stem[:-1]]
    return next((form for form in forms if form in _VERBS), "")
