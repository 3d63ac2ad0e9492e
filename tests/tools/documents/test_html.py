"""HTML as a reader of the page sees it."""

from __future__ import annotations

import time
from functools import partial

import pytest

from tests.tools.documents import reading
from tests.tools.documents.reading import STORY

PAGE = "/docs/page.html"
XHTML = '<html xmlns="http://www.w3.org/1999/xhtml"><body>'
TEX = "<annotation encoding='application/x-tex'>10^{6}</annotation>"
read, passages = partial(reading.read, name=PAGE), partial(reading.passages, name=PAGE)


def text(markup: str) -> str:
    return "\n".join(passage.text for passage in passages(markup))


def test_a_page_has_title_headings_lists_and_tables() -> None:
    first, *rest = passages(
        "<!DOCTYPE html><html><head><title>The Island</title><style>p {}</style></head><body>"
        "<nav>Home</nav><h1>The Island</h1><p>It is <b>very</b>\n small. It has<br>one shop.</p>"
        "<script>alert(1)</script><h2>The <i>shop</i><a href='#s'>¶</a></h2>"
        f"<p>{STORY}</p><ul><li>bread</li><li>rope</li></ul>"
        "<table><tr><th>Day</th><td>Open</td></tr></table></body></html>"
    )
    assert (first.title, first.text) == ("The Island", "It is very small. It has\none shop.")
    assert {p.title for p in rest} == {"The Island – The shop"}
    said = "\n".join(p.text for p in rest)
    assert "- bread\n- rope\n\nDay: Open" in said
    assert not any(word in said for word in ("Home", "alert", "<", "¶"))


@pytest.mark.parametrize(
    ("markup", "said"),
    [
        # What is between blocks and words.
        ("<div>It rained.<p>&nbsp;</p>It snowed.</div>", "It rained.\n\nIt snowed."),
        (
            "<p>Shop:</p><ol start=3><li>rye<ul><li>old</ul><li>rope",
            "Shop:\n\n3. rye\n  - old\n4. rope",
        ),
        # Behind the end of the page, browsers read on.
        ("<html><body><p>A.</body></html>\n<p>B.</p></HTML ><p>C.</p>", "A.\n\nB.\n\nC."),
        # How a word is read stands in brackets behind it.
        ("<ruby>山路<rt>やまみち</rt></ruby>を", "山路(やまみち)を"),
        ("<ruby>登<rp>（</rp><rt>のぼ</rt><rp>）</rp></ruby>り", "登（のぼ）り"),
        (f"{XHTML}<script>//<![CDATA[\nif (a < b) {{}}\n//]]></script><p>Salt.", "Salt."),
        (f"{XHTML}<p>Salt <![CDATA[< & fish]]>.</p>", "Salt < & fish."),
        (f"{XHTML}<p>Salt.</p><![CDATA[Fish", "Salt.\n\nFish"),
        # Raised digits, struck-out text, soft hyphens.
        ("10<sup>6</sup> m<sup>-2</sup>, the 1<sup>st</sup>", "10⁶ m⁻², the 1st"),
        ("It fell.<sup><a href='#1'>12</a></sup>", "It fell.¹²"),
        ("<del>$99</del><s>$89</s><strike>$84</strike>$79", "$79"),
        ("<span style='color:red; text-decoration: line-through'>$99</span>$79", "$79"),
        ("Leucht&shy;turm&#8203;wärter", "Leuchtturmwärter"),
        ("<table><tr><td>m<sup>2</sup><td><s>4</s> 5</table>", "m² | 5"),
        # Formulas.
        (
            "<math><mfrac><mrow><mi>a</mi><mo>+</mo><mi>b</mi></mrow><mn>2</mn></mfrac>"
            "<msup><mn>10</mn><mn>6</mn></msup><msqrt><mn>2</mn><mi>x</mi></msqrt></math>",
            "(a+b)/2 10⁶√(2x)",
        ),
        (f"<math><semantics><mn>10</mn><mn>6</mn>{TEX}</semantics></math> m", "10^{6} m"),
        ("<math>a<mo>+</mo>b</math> m", "a+b m"),
        ("<math><math><mi>x</mi></math></math>", "x"),
        ("<math><mtext>if </mtext><mi>x</mi><mtext> or </mtext><mi>y</mi></math>", "if x or y"),
        ("<math alttext='10^{6}'><mn>10</mn><mn>6</mn></math> m", "10^{6} m"),
        (
            f"<span class=mwe-math-mathml-a11y style='display: none'><math>{TEX}</math></span>",
            "10^{6}",
        ),
        ("<ul><li><img src=a></ul><p>It rained.", "It rained."),
        # Numbers of lists.
        ("<ol type=a><li>Oil<li>Wick<li value=9>Lamp", "a. Oil\nb. Wick\ni. Lamp"),
        ("<ol type=I start=4><li>Oil<li>Wick<li value=9>Lamp", "IV. Oil\nV. Wick\nIX. Lamp"),
        ("<ol reversed><li>Oil<li>Wick<li value=9>Lamp", "3. Oil\n2. Wick\n9. Lamp"),
    ],
)
def test_a_page_is_read_as_it_is_shown(markup: str, said: str) -> None:
    assert text(markup) == said


@pytest.mark.parametrize(
    "hidden",
    [
        "<p hidden>secret</p>",
        "<p aria-hidden='true'>secret</p>",
        "<p style='color: red; display:none'>secret</p>",
        "<p style='visibility: hidden'><b>secret</b></p>",
        "<span style='font-size:0'>secret</span>",
        "<template>secret</template>",
        "<a href=x>Edit this page</a>",
        "<span class=mw-editsection>[<a href=x>edit</a>]</span>",
        "<!-- secret -->",
    ],
)
def test_what_a_reader_does_not_see_is_left_out(hidden: str) -> None:
    assert text(f"<p>Seen.</p>{hidden} after") == "Seen.\n\nafter"


def test_the_way_to_other_pages_is_left_out_unless_there_is_nothing_else() -> None:
    ways = (
        "<div class='navheader'><table><tr><td>Prev</td><td>Next</td></tr></table></div>"
        "<div class='toc'>Contents<dl class='toc'><dt><a href='1.html'>1. Oil</a></dt></dl></div>"
        "<div id='global-nav'><a href='a.html'>Home</a> | <a href='b.html'>About</a></div>"
        "<div role='navigation'>Up</div>"
        "<footer><div id='DEBUG' class='debug'><h3>Help content debug info:</h3></div></footer>"
        "<p>Next: <a rel='next' href='c.html'>Gas</a>, Up: <a rel=up href='d.html'>Lamps</a></p>"
    )
    assert text(f"{ways}<p>The lamp burns oil.</p>") == "The lamp burns oil."
    assert "1. Oil" in text(ways)


@pytest.mark.parametrize("name", ["toctree-wrapper", "contents", "main-menu"])
def test_text_with_few_links_is_read_whatever_its_class(name: str) -> None:
    link = "<a href='x.html' rel='next'>lamp</a>"
    page = f"<p>Seen.</p><div class='{name}'><p>The {link} burns oil.</p></div>"
    assert text(page) == "Seen.\n\nThe lamp burns oil."


def test_a_term_stays_with_its_definition() -> None:
    long = " ".join(["It conflicts with every other mode that there is."] * 20)
    found = passages(
        "<title>Locks</title><h1>Locks</h1><p>These are the modes.</p><dl>"
        "<dt>SHARE<a href='code.html'><span>[source]</span></a>"
        f"<a class='headerlink' href='#x'>¶</a></dt><dd><p>{long}</p></dd>"
        "<dt>EXCLUSIVE</dt><dt>X</dt><dd>Only readers go on.</dd></dl><p>Locks end.</p>"
    )
    share = [p for p in found if "conflicts" in p.text]
    assert share[0].text.startswith("SHARE\nIt conflicts")
    assert share[0].title == "Locks"
    assert {p.title for p in share[1:]} == {"Locks – SHARE"}
    assert found[-1].text == "EXCLUSIVE\nX\nOnly readers go on.\n\nLocks end."


@pytest.mark.parametrize("block", ["ol", "div"])
def test_links_to_the_page_itself_are_left_out(block: str) -> None:
    links = "".join(f'<li><a href="#q{n}">Question <b>{n}</b>?</a></li>' for n in range(3))
    assert text(f"<{block}>{links}</{block}><p>Yes.</p>") == "Yes."
    assert "Question 0?" in text(f"<{block}>{links}</{block}>")
    others = links.replace("#q2", "b.html"), links.replace("</li>", " (new)</li>")
    assert all(text(f"<{block}>{one}</{block}><p>Yes.</p>") != "Yes." for one in others)


def test_links_that_continue_a_sentence_are_read() -> None:
    links = "".join(f'<li><a href="#{name}">{name}</a></li>' for name in ("Oil", "Gas", "Wax"))
    said = "The lamp burns these things:"
    blocks = f"<ul>{links}</ul>", f"<div><ul>{links}</ul></div>", f"<ul><li>{links}</li></ul>"
    for block in blocks:
        assert text(f"<p>{said}</p>{block}<p>Yes.</p>") == f"{said}\n\n- Oil\n- Gas\n- Wax\n\nYes."
    assert text(f"<div>{said} <ul>{links}</ul></div>").endswith("- Wax")
    assert text(f"<p>On this page:</p><ul>{links}</ul><p>Yes.</p>") == "On this page:\n\nYes."


@pytest.mark.parametrize(
    ("markup", "title", "said"),
    [
        (  # a button in a heading is the heading of what it unfolds
            "<h1>Oil</h1><h2><button>Is it?</button></h2><p>Yes.</p><button>Go</button>",
            "Oil – Is it?",
            "Yes.",
        ),
        (  # the heading of a note begins no section
            "<h1>Oil</h1><p>It burns.</p><h3>Tip</h3><p>Filter it.</p>",
            "Oil",
            "It burns.\n\nTip\n\nFilter it.",
        ),
        # A heading does not say the title again.
        ("<title>Oil</title><h1>Oil</h1><p>It burns.", "Oil", "It burns."),
        ("<title>OIL  </title><h1>Oil</h1><p>It burns.", "OIL", "It burns."),
        ("<title>Oil – A manual</title><h1>Oil</h1><p>It burns.", "Oil – A manual", "It burns."),
        # A page may leave out where its head ends.
        ("<html><head><title>Oil</title><body><p>It burns.</body>", "Oil", "It burns."),
        ("<html><title>Oil</title><body><p>It burns.</body>", "Oil", "It burns."),
    ],
)
def test_headings_and_titles(markup: str, title: str, said: str) -> None:
    assert [(p.title, p.text) for p in passages(markup)] == [(title, said)]


def test_bold_paragraphs_head_the_sections_of_a_page() -> None:
    page = f"""
    <p><b>How long does oil keep?</b></p><p>Two years. {STORY}</p>
    <p><a name=q2></a><strong>May I mix oils?</strong><br></p><p>No. {STORY}</p>
    <div><b>Never light it indoors.</b></div><p>It smells. {STORY}</p>
    <p><b>Note:</b> this is <b>no</b> heading.</p><ul><li><p><b>Nor this</b></p></ul>"""
    found = passages(page)
    assert (found[0].text[:38], found[-1].text[-31:]) == (
        "How long does oil keep?\n\nTwo years. Se",
        "this is no heading.\n\n- Nor this",
    )
    below = [p.title.partition(" – ")[2] for p in found]
    assert list(dict.fromkeys(below)) == ["", "How long does oil keep?", "May I mix oils?"]
    assert not below[-1]


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (
            "<tr><th>Name</th><th>2019</th><th>2020</th></tr>\n"
            "<tr>\n<td>North</td>\n<td></td>\n<td>12</td>\n</tr>",
            "Name: North; 2020: 12",
        ),
        ("<tr><th></th><th>2019</th></tr><tr><td>North</td><td>7</td></tr>", "North; 2019: 7"),
        ("<tr></tr><tr><td>North</td><td>7</td></tr><tr></tr>", "North | 7"),
        ("<tr><th></th><th>2019</th><th> </th><th>2021</th></tr>", "| 2019 |  | 2021"),
        (
            "<thead><tr><td rowspan=2>Mode<td colspan=2>Held</tr><tr><td>A<td>B</tr></thead>"
            "<tr><td>A<td>X<td></tr><tr><td>B<td colspan=2>no</tr>",
            "Mode: A; Held A: X\nMode: B; Held A, Held B: no",
        ),
        (
            "<tr><th>Isle<th>Year<th>Sheep</tr><tr><td rowspan=2>Noss<td>1881<td>3</tr>"
            "<tr><td>1882<td>4</tr>",
            "Isle: Noss; Year: 1881; Sheep: 3\nIsle: Noss; Year: 1882; Sheep: 4",
        ),
        (
            "<tr><th>Isle<th>Sheep<tr><th colspan=2>North<tr><td>Unst<td>3"
            "<tr><th colspan=2>South<tr><td>Fair<td>4",
            "North\nIsle: Unst; Sheep: 3\nSouth\nIsle: Fair; Sheep: 4",
        ),
        (
            "<tr><th colspan=2>Noss<tr><td colspan=2><img><tr><th>Area<td>3 km2<tr><th>Sheep<td>4",
            "Noss\nArea: 3 km2\nSheep: 4",
        ),
        (
            "<tr><th>Born</th><td>1881</td></tr><tr><th>Died:</th><td>1902</td></tr>",
            "Born: 1881\nDied: 1902",
        ),
        (
            "<tr><td>Isle<td>2020<td>2021</tr><tr><td>Noss<td>3<td>4</tr>",
            "Isle: Noss; 2020: 3; 2021: 4",
        ),
        (
            "<tr><th>Seat<td>Bern<td>old</tr><tr><th>Heads<td>130<td>200</tr>",
            "Seat | Bern | old\nHeads | 130 | 200",
        ),
        ("<tr><td><p>A</p></td> <td><!-- x --><div><p>B <b>b</b></p></div></td></tr>", "A | B b"),
        ("<tr><td>A</td><td><p>&nbsp;</p><p></p></td><td>C</td></tr>", "A |  | C"),
        ("<tr><td>A<td><td><p>C<tr><td><td>E", "A |  | C\n| E"),
        ("<tr><td><p>A</p><p>B</p></td><td>C</td></tr>", "A B | C"),
        (
            "<tr><td>read<td>(<td>self,</tr><tr><td><td><td>path</tr><tr><td><td>)<td></tr>",
            "read | ( | self,\n|  | path\n| )",  # no row below the first one needs names
        ),
        (
            "<tr><td>Out</td><td><table><tr><td></td><td>in</td></tr></table></td>"
            "<td>Last</td></tr>",
            "Out\n\n| in\n\nLast",
        ),
    ],
)
def test_the_cells_of_a_table_have_their_columns_names(rows: str, said: str) -> None:
    assert text(f"<table>{rows}</table>") == said


def test_a_table_is_named_by_its_caption() -> None:
    rows = "".join(f"<tr><td>{n}<td>the lamp was lit early that day</tr>" for n in range(30))
    found = passages(
        "<h1>Log</h1><table><caption>Table 2: Lamps</caption><tr><th>Day<th>Lamp</tr>"
        f"{rows}</table>"
    )
    assert found[0].text.startswith("Table 2: Lamps\nDay: 0; Lamp: the lamp")
    assert {p.title for p in found[1:]} == {"Log – Table 2: Lamps"}
    assert all(line.startswith("Day: ") for p in found[1:] for line in p.text.split("\n"))


@pytest.mark.parametrize(
    "rows",
    [
        "<tr><td>a<td><td>b" * 10_000,
        "<tr>" + "<td>a" * 20_000,
        "<td><div>" + "<p>a</p>" * 20_000,
        "<tr><td colspan=999999999 rowspan=999999999>a" * 300,
    ],
)
def test_a_large_table_is_read_in_one_go(rows: str) -> None:
    begun = time.process_time()
    assert read(f"<table>{rows}").parts
    assert time.process_time() - begun < 20


def test_deep_markup_is_read_as_plain_text_and_told() -> None:
    deep = "<div>" * 30_000 + "Down here." + "</div>" * 30_000
    assert [p.text for p in passages(deep)] == ["Down here."]
    assert "nested too deep" in read(deep).problems[0]


def test_a_guessed_encoding_is_told() -> None:
    said = "<p>El niño comió una manzana. La mañana fue fría y el señor Muñoz llegó tarde.</p>"
    [problem] = read(said.encode("cp1252")).problems
    assert problem.endswith("so letters may be wrong; save it as UTF-8")
    declared = read(f'<meta charset="latin1">{said}–'.encode("cp1252"))
    assert declared.problems == ()
    assert "mañana" in declared.parts[0].text


def test_a_page_that_reads_as_less_than_half_of_its_words_says_so() -> None:
    half = read(f"<p>{STORY}</p><div hidden>{STORY}</div>")
    most = read(f"<script>{STORY}</script><p>{STORY}</p><select>{STORY} {STORY}</select>")
    read_aloud = read(f"<p>{'<ruby>山<rt>やま</rt></ruby>' * 200}</p>")
    assert half.problems == read_aloud.problems == ()
    assert most.problems == (
        "839 of its 1,259 words outside of links were left out: menus, buttons, hidden",
    )
    assert read(f"<p>One shop.</p><nav>{'<a>Home</a> ' * 900}</nav>").problems == ()
    assert read(f"<p>One shop.</p><nav>{'Home ' * 100}</nav>").problems == ()


@pytest.mark.parametrize("mark", ["<style>", "<SCRIPT type='x'>", "<!-- old", "<title>"])
def test_a_page_that_ends_in_what_is_no_text_says_so(mark: str) -> None:
    closed = "<p>A.<!-- b --><script src='x'/></p><style>p {}</STYLE ><script>'<!--'</script>"
    assert read(closed).problems == ()
    name = "a comment" if "!" in mark else mark.split()[0].rstrip(">").lower() + ">"
    (problem,) = read(f"{closed}{mark}<p>{STORY}</p>").problems
    assert problem == f"{name} in it is not closed, so what follows it was left out"


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ('<pre class="programlisting">a = 1\n  b\n</pre>', "```\na = 1\n  b\n```"),
        ('<div class="highlight"><pre><span></span>f()\n</pre></div>', "```\nf()\n```"),
        ("<pre><code>f()</code></pre>", "```\nf()\n```"),
        ("<pre><code>```js\nf()\n```</code></pre>", "````\n```js\nf()\n```\n````"),
        ("<pre><code>  </code></pre>", ""),
        ("<pre>Dear all,\n  it is lit.\n</pre>", "Dear all,\n  it is lit."),
    ],
)
def test_code_is_fenced_and_other_verbatim_text_is_not(page: str, text: str) -> None:
    [passage] = passages(f"<p>It is lit.</p>{page}")
    assert passage.text == "\n\n".join(filter(None, ["It is lit.", text]))
