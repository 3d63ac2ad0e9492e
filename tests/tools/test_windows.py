"""Windows are whole sentences, overlap, and hold everything."""

from citeproof.tools.entailment.windows import windows

SENTENCES = [f"Sentence number {n} stands here." for n in range(10)]
TEXT = " ".join(SENTENCES)


def length(text: str) -> int:
    return len(text.split())


def test_windows_overlap_and_hold_every_sentence() -> None:
    assert windows(TEXT, 50, length) == [TEXT]
    assert windows(TEXT, 20, length) == [
        " ".join(SENTENCES[0:4]),
        " ".join(SENTENCES[2:6]),
        " ".join(SENTENCES[4:8]),
        " ".join(SENTENCES[6:10]),
    ]


def test_a_sentence_that_is_too_long_is_a_window_of_its_own() -> None:
    long = "word " * 40 + "end."
    cut = windows(f"Short one. {long} Last one.", 10, length)
    assert long in cut
    assert cut[0] == "Short one."
    assert cut[-1] == "Last one."
