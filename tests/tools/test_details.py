"""Numbers, names and code of a claim that its premise does not have."""

import pytest

from citeproof.tools.entailment.code_names import missing_code
from citeproof.tools.entailment.details import missing_details

PREMISE = (
    "Title: Pier\nThe Veld pier, opened on 7 May 1931, is 1,250.0 metres long and has two towers."
)


@pytest.mark.parametrize(
    ("premise", "claim", "missing"),
    [
        (PREMISE, "The pier was opened on May 7, 1931.", []),
        (PREMISE, "The pier is 1250 metres long.", []),
        (PREMISE, "It has 2 towers, the first of 1931.", []),
        (PREMISE, "It has three towers.", ["three"]),
        (PREMISE, "It was opened in 1932.", ["1932"]),
        (PREMISE, "The pier is by Ada Holm.", ["Ada", "Holm"]),
        (PREMISE, "The Veld's pier is long.", []),
        (PREMISE, "Nobody knows who built it.", []),
        # A bound, a number below zero or one in a compound is not any number.
        ("It has over 800 chapters.", "It has 800 chapters.", ["800"]),
        ("It has over 800 chapters.", "It has more than 800 chapters.", []),
        ("It has over 800 chapters, of which 800 are read.", "800 are read.", []),
        ("At least nine days passed.", "Nine days passed.", ["Nine"]),
        ("Not more than 800 came.", "At least 800 came.", ["800"]),
        ("Not more than 800 came.", "At most 800 came.", []),
        ("It grossed over US$ 800.", "It grossed $800.", ["800"]),
        ("It grossed over EUR 800.", "It grossed more than €800.", []),
        ("Bags of 5 kg or more are weighed.", "Bags of at most 5 kg are weighed.", ["5"]),
        ("Bags of 5 kg or more are weighed.", "Bags of ≥ 5 kg are weighed.", []),
        ("The dose is <5 mg.", "The dose is 5 mg.", ["5"]),
        ("It is -5 °C cold.", "It is 5 °C cold.", ["5"]),
        ("It is 5 °C cold.", "It is −5 °C cold.", ["5"]),
        ("It is −5 °C cold, or 9 °C below zero.", "It is minus 5 degrees, or -9.", []),
        ("Between 5 and 10 °C below zero.", "It is 5 °C below zero.", []),
        ("It cost $-5, then [-6, 10].", "It cost -$5, then -6.", []),
        ("It cost $-5.", "It cost $5.", ["5"]),
        ("It is 3-5 km long.", "It is 5 km long.", []),
        ("It was plus or minus 3 points.", "It was 3 points.", []),
        ("Its years (1939 –1945) and €5 -€10 count.", "They are 1945 and €10.", []),
        ("You need:\n-5 apples\n –6 pears", "You need 5 apples and 6 pears.", []),
        ("It was\n-5 degrees.", "It was 5 degrees.", ["5"]),
        ("> 5 people died\n> 6 left\n>7 came", "There were 5, 6 and 7 people.", []),
        ("Choose Settings > 2 columns.", "Choose 2 columns.", []),
        ("Stones (> 5 kg) and >9 cm, or < 3.", "It is 5 kg, 9 cm and 3.", ["5", "9", "3"]),
        # The other side of a number.
        ("It takes longer than 5 years.", "It takes 5 years.", ["5"]),
        ("It came no later than 1990.", "It came in 1990.", ["1990"]),
        ("It is heavier than 5 kg.", "It weighs more than 5 kg.", []),
        ("A minimum of 5 came.", "At least 5 came.", []),
        ("A maximum of 5 came.", "At least 5 came.", ["5"]),
        ("It takes 5 at most.", "It takes 5.", ["5"]),
        ("It takes 5 days at least.", "It takes at least 5 days.", []),
        ("It has 3 towers at least 50 m high.", "It has 3 towers.", []),
        ("In 1902 at least, it stood.", "It stood in 1902.", []),
        ("Those of 65 and over pay less.", "Those of 65 pay less.", ["65"]),
        ("Guests aged 12 and younger, too.", "Guests aged 12, too.", ["12"]),
        ("It has 3 schools and over 20 shops.", "It has 3 schools.", []),
        ("It has 3 schools or over 20 shops.", "It has 3 schools.", []),
        ("It has 3 floors and below are cellars.", "It has 3 floors.", []),
        ("Made in 1902 and over the next decade enlarged.", "Made in 1902.", []),
        ("Born in 1815 and later famous, she left.", "Born in 1815.", []),
        ("He had 12 goals and under his lead they rose.", "He had 12 goals.", []),
        ("It changed with 3.6 and older ones are lost.", "It changed with 3.6.", []),
        ("A rise of 5 or more precisely 5.2 %.", "A rise of 5.", []),
        ("It is under GPL 3 and ISO 9001.", "It has GPL 3.", []),
        ("It is under HK$ 5 or EUR 6.", "It is $5.", ["5"]),
        ("A six-story set is built.", "Season 6 tells it.", ["6"]),
        ("A six-story set is built.", "It has 6 stories.", []),
        ("After the eight-year war, 12-metre ships came.", "Eight years, 12 metres.", []),
        # An hour is the same in other forms.
        ("It is open until 17.", "It is open until 17:00.", []),
        ("On Saturdays a boat leaves at 11 as well.", "A boat leaves at 11 AM.", []),
        ("It opens at 9 p.m. in May.", "It opens at 9:00 pm in May.", []),
        ("It is open until 17.", "It is open until 17:30.", ["17:30"]),
        ("It is open until 17.", "It is open until 19:00.", ["19:00"]),
        ("It takes 16 men.", "It takes 16 amps in May.", ["May"]),
        # What is implied is not missing.
        ("It was finished in 1994.", "It is from the 1990s.", []),
        ("In all 800 died, some 200 of them young.", "There died 200 young ones.", []),
        ("Die Werte: 12 345", "There were 345 of them.", []),
        ("It shows 60 fps.", "It shows 60 frames per second.", []),
    ],
)
def test_what_is_missing(premise: str, claim: str, missing: list[str]) -> None:
    assert missing_details(premise, claim) == missing


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("2,500,000", "2.5 million"),
        ("$5bn", "5 billion dollars"),
        ("2 million or 3 million", "2 to 3 million"),
        ("25", "twenty-five"),
        ("200", "two hundred"),
        ("a hundred and five", "105"),
        ("two and a half million", "2,500,000"),
        ("1,000", "1 000"),
        ("1,000", "1\u202f000"),
        ("1,000", "1’000"),
        ("1,000", "one thousand"),
        ("1,000", "1.000"),
        ("3.50", "3.5"),
        ("0.5", "half"),
        ("2½", "2.5"),
        ("21st", "twenty-first"),
        ("13th", "thirteenth"),
        ("1990-05-03", "May 3, 1990"),
        ("17:00", "5 pm"),
        ("9.30", "9:30"),
        ("the 1990s", "the '90s"),
        ("the nineties", "the 1990s"),
        ("the US", "the U.S."),
        ("the US", "the United States"),
        ("Łódź", "Lodz"),
        ("an Italian city", "a city in Italy"),
        ("a British city", "a city in Britain"),
    ],
)
def test_two_forms_are_the_same(one: str, other: str) -> None:
    assert missing_details(f"They saw {one}.", f"They saw {other}.") == []
    assert missing_details(f"They saw {other}.", f"They saw {one}.") == []


@pytest.mark.parametrize(
    ("premise", "claim"),
    [
        ("It cost 2.5 billion.", "It cost 2.5 million."),
        ("It cost five thousand.", "It cost five million."),
        ("It opens at 11 AM.", "It opens at 11 PM."),
        ("Nearly 800 came.", "There came more than 800."),
        ("Fewer than 800 came.", "There came over 800."),
        ("It ranks third.", "It ranks second."),
        ("It was built in the 1990s.", "It was built in 1990."),
        ("It runs on Python 3.1.", "It runs on Python 3.10."),
        ("She lives in Austria.", "She lives in Australia."),
        ("She lives in Slovenia.", "She lives in Slovakia."),
        ("She lives in Niger.", "She lives in Nigeria."),
        ("It is by Christian.", "It is by Christopher."),
        ("Born in June 1990, he may live.", "He was born in May 1990."),
        ("It was built by Marcus.", "It was built in March."),
        ("They polish floors.", "They are Polish."),
        ("She was born in Kraków.", "She was born in Łódź."),
        ("She was born in Αθήνα.", "She was born in Πάτρα."),
    ],
)
def test_what_looks_alike_is_missing(premise: str, claim: str) -> None:
    assert len(missing_details(premise, claim)) == 1
    assert missing_details(premise, premise) == []


@pytest.mark.parametrize(
    ("claim", "missing"),
    [
        ("Call `secrets.token_bytes()` for one.", []),
        ("Call token_bytes(), please.", []),
        ("Call token_hex() or token_urlsafe.", ["token_hex", "token_urlsafe"]),
        ("Write os.urandom in its place.", ["os.urandom"]),
        ("Run it with --force.", ["--force"]),
        ("It reads /etc/tokens.conf and /etc/fstab.", ["/etc/fstab"]),
        ("Write `SELECT 1` then.", ["SELECT 1"]),
        ("Call `ken_bytes()`.", ["ken_bytes()"]),
        ("Press Ctrl+T for one, not Ctrl+Z or Ctrl-Shift-T.", ["Ctrl+Z", "Ctrl-Shift-T"]),
        ("Meta-analyses and Up-to-date tokens are Shift-based.", []),
        ("He and/or she won 3-2 in 1990-1991, e.g. with a U.S.-based team.", []),
    ],
)
def test_code_is_copied_or_missing(claim: str, missing: list[str]) -> None:
    premise = (
        "Title: The secrets module\nUse token_bytes([nbytes]), set in /etc/tokens.conf, or Ctrl-T."
    )
    assert missing_code(premise, claim) == missing


@pytest.mark.parametrize(
    ("premise", "claim", "is_missing"),
    [
        ("Make it with `tar -c`.", "Unpack it with `tar -x`.", True),
        ("Make it with tar -c.", "Unpack it with tar -x.", True),
        ("Unpack it with tar -xzf.", "Unpack it with tar -x.", False),
        ("Use --no-force.", "Use --force.", True),
        ("Use --force.", "Use --no-force.", True),
        ("Use --[no-]force.", "Use --force or --no-force.", False),
        ("Use the force option.", "Use --force.", False),
        ("Ctrl+Tab goes on, and Enter opens.", "Ctrl+Enter opens.", True),
        ("Ctrl+F4 closes, and Alt+F2 runs.", "Alt+F4 closes.", True),
        ("Press Ctrl + Z.", "Press Ctrl+Z.", False),
        ("Press Control+Z.", "Press Ctrl+Z.", False),
        ("Hold Ctrl and press Z.", "Press Ctrl+Z.", False),
        ("Press SHIFT-CTRL-T.", "Press Ctrl+Shift+T.", False),
        ("See www.example.com/a_b.", "See example.com/a_b.", False),
        ("It is in /home/user/.config/x.toml.", "It is in ~/.config/x.toml.", False),
        ("Set max-length or min_\u00adlength.", "Set max_length or min_length.", False),
        ("El museo es gratis.", "El museo —inaugurado en 1990— es gratis.", False),
        ("Both sides win by it.", "The deal is a win-win.", False),
        ("Tests run earlier.", "The team does shift-left testing.", False),
        ("One or more.", "One option(-s) or word -by- word.", False),
    ],
)
def test_forms_of_code(premise: str, claim: str, is_missing: bool) -> None:
    assert bool(missing_code(premise, claim)) == is_missing


@pytest.mark.parametrize(
    ("claim", "missing"),
    [
        ("It can be copied to an iPhone.", ["iPhone"]),
        ("他使用iPhone在北京工作。", []),
        ("It sells קפה there.", []),
    ],
)
def test_names_need_a_capital(claim: str, missing: list[str]) -> None:
    assert missing_details("It can be copied.", claim) == missing
