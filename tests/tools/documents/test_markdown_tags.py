"""Tags of site generators leave no trace in Markdown but their titles."""

from __future__ import annotations

import pytest

from tests.tools.documents.reading import passages


@pytest.mark.parametrize(
    ("tagged", "said"),
    [
        ('{% hint style="info" %}\nSave it first.\n{% endhint %}', ["Save it first."]),
        ('- One\n- Two\n  {% endhint %}\n\n{% page-ref page="a.md" %}', ["- One", "- Two"]),
        ('{% tabs %}\n{% tab title="Linux" %}\nRun it.\n{% endtab %}', ["Linux", "Run it."]),
        ('{{< figure src="a.png" width="70%" caption="Pier > quay" >}}', ["Pier > quay"]),
        ("The name. {{<required>}} {{% old %}}", ["The name. (required) (old)"]),
        ('{{< tab header="Bash" >}}\nRun it.\n{{< /tab >}}', ["Bash", "Run it."]),
        ("{{% notice tip %}}\nRun it.\n{{% /notice %}}", ["Run it."]),
        ("Write {% if %} here, and {{ name }}.", ["Write {% if %} here, and {{ name }}."]),
        ("```\n{% if a %}\n```", ["```", "{% if a %}", "```"]),
        ("{{ 7 * 6 }}", ["{{ 7 * 6 }}"]),
    ],
)
def test_lines_of_tags_are_left_out(tagged: str, said: list[str]) -> None:
    [page] = passages(f"# Page\n\n{tagged}\n", "page.md")
    assert page.text.split() == " ".join(said).split()


def test_jekylls_highlight_is_code() -> None:
    text = "# Page\n\n{% highlight python %}\n# not a heading\n{% endhighlight %}\n"
    [page] = passages(text, "page.md")
    assert page.text == "```python\n# not a heading\n```"
