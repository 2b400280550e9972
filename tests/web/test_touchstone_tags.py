"""Filters and tags of the interface: what they print for numbers, for nothing, and for odd input."""

import re
from dataclasses import dataclass
from datetime import timedelta

import pytest
from django import forms
from django.template import Context, Template

from annotation.models import Study
from web.templatetags import touchstone


@dataclass(frozen=True)
class Figure:
    value: float | None
    low: float | None = None
    high: float | None = None
    n: int | None = None
    reason: str | None = None


PEOPLE = Figure(0.6566358, 0.631, 0.682, 648)


def render(source: str, **context: object) -> str:
    return Template("{% load touchstone %}" + source).render(Context(context))


def test_estimate_has_value_interval_and_n():
    html = render("{{ e|estimate }}", e=PEOPLE)
    assert "65.7%</span>" in html
    assert "[63.1, 68.2], n = 648</span>" in html


def test_estimate_may_be_a_mapping():
    as_mapping = {"value": 0.6566358, "low": 0.631, "high": 0.682, "n": 648}
    assert render("{{ e|estimate }}", e=as_mapping) == render("{{ e|estimate }}", e=PEOPLE)


@pytest.mark.parametrize("value", [None, float("nan"), float("inf")])
def test_undefined_is_said_with_its_reason_and_never_zero(value):
    html = render("{{ e|estimate }}", e=Figure(value, n=0, reason="no labels <b>"))
    assert "not defined" in html
    assert "no labels &lt;b&gt;" in html
    assert "0.0" not in html


def test_units():
    figure = Figure(-0.1234, -0.2, 0.1, 12000)
    assert "−0.123" in render('{{ e|estimate:"number" }}', e=figure)
    assert "−12.3 points" in render('{{ e|estimate_value:"points" }}', e=figure)
    assert render('{{ e|estimate_range:"points" }}', e=figure) == "[−20.0, 10.0], n = 12,000"


def test_percent():
    assert (
        render("{{ 0.656|percent }} {{ 0.656|percent:0 }} {{ x|percent }}", x=None) == "65.6% 66% not defined"
    )


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "0 s"),
        (0.34, "340 ms"),
        (2.13, "2.1 s"),
        (59.6, "1 min"),
        (125, "2 min 5 s"),
        (3600, "1 h"),
        (86_405, "1 d"),
        (97_200, "1 d 3 h"),
        (-5, "−5.0 s"),
        (timedelta(minutes=3), "3 min"),
        (None, "not defined"),
    ],
)
def test_duration(seconds, words):
    assert touchstone.duration(seconds) == words


@pytest.mark.parametrize(
    ("amount", "words"),
    [(7.9, "$7.90"), (0, "$0"), (0.0021, "$0.0021"), (0.05, "$0.050"), (1234.5, "$1,234.50"), (-2, "−$2.00")],
)
def test_money(amount, words):
    assert touchstone.money(amount) == words


def test_interval_plot_places_by_attributes():
    html = render("{% interval_plot e 0 1 mark=0.5 %}", e=Figure(0.5, 0.25, 0.75, 10))
    assert 'cx="80.00"' in html
    assert 'x1="42.00" x2="118.00"' in html
    assert 'aria-label="50.0% [25.0, 75.0]"' in html
    assert "style" not in html


def test_interval_plot_stays_on_its_axis():
    html = render("{% interval_plot e 0.5 1 %}", e=Figure(0.4, 0.2, 2.0, 10))
    assert 'cx="4.00"' in html
    assert 'x1="4.00" x2="156.00"' in html


def test_interval_plot_of_nothing():
    html = render("{% interval_plot e 0 1 %}", e=Figure(None))
    assert "not defined" in html
    assert "circle" not in html


def test_interval_plot_needs_an_axis():
    with pytest.raises(ValueError, match="minimum < maximum"):
        render("{% interval_plot e 1 1 %}", e=PEOPLE)


def test_bars():
    assert 'width="40.00"' in render("{% bar 0.4 %}")
    html = render("{% share_bar 2 1 1 %}")
    assert 'x="50.00" width="25.00"' in html
    assert "first 50.0%, tie 25.0%, second 25.0%" in html
    assert "not defined" in render("{% share_bar 0 0 0 %}")


def test_tile_needs_only_a_label():
    html = render(
        '{% include "components/tile.html" with label="Agreement" estimate=e plot=True %}', e=PEOPLE
    )
    assert "65.7%" in html
    assert "<svg" in html
    assert "419" in render('{% include "components/tile.html" with label="Items" value=419 %}')


def bar(fields, **rules):
    return render(
        '{% include "annotation/annotator/kinds/_pairwise_bar.html" %}', study=Study(**rules), fields=fields
    )


@pytest.mark.parametrize(("choice", "name"), [("1", "a"), ("2", "b"), ("0", "tie"), ("bad", "bad")])
def test_bar_marks_what_was_chosen(choice, name):
    html = bar({"choice": choice}, tie_policy="both_bad")
    assert html.count(" checked") == 1
    assert f'data-choice="{name}"' in html.split(" checked")[0].rsplit("<input", 1)[1]


def test_bar_asks_what_the_study_asks():
    assert "Tie" not in bar({}, tie_policy="off")
    assert "Both bad" not in bar({}, tie_policy="tie")
    assert "slightly" not in bar({})
    assert "<textarea" not in bar({})
    html = bar({"choice": "1-much", "comment": "<b>"}, preference_points=5, ask_comment=True)
    assert html.count(" checked") == 1
    assert "&lt;b&gt;</textarea>" in html


@pytest.mark.parametrize(
    ("points", "ties", "values"),
    [
        (5, "tie", ["1-much", "1-slightly", "0", "2-slightly", "2-much"]),
        (5, "off", ["1-much", "1-slightly", "2-slightly", "2-much"]),
        (7, "tie", ["1-much", "1-better", "1-slightly", "0", "2-slightly", "2-better", "2-much"]),
        (7, "both_bad", ["1-much", "1-better", "1-slightly", "0", "2-slightly", "2-better", "2-much", "bad"]),
    ],
)
def test_bar_has_a_button_and_a_key_for_each_point(points, ties, values):
    html = bar({"choice": values[0]}, preference_points=points, tie_policy=ties)
    assert re.findall(r'name="choice" value="([^"]+)"', html) == values
    assert html.count(" checked") == 1
    keys = re.findall(r'<label [^>]*data-key="([^"]+)"', html)
    weakest = (values.index("1-slightly"), values.index("2-slightly"))
    letters = dict(zip(weakest, "ab", strict=True)) | ({values.index("0"): "t"} if "0" in values else {})
    for place, (key, value) in enumerate(zip(keys, values, strict=True)):
        letter = letters.get(place, "")
        assert key == ("x" if value == "bad" else f"{place + 1} {letter}".strip())


def test_bar_shows_a_draft_of_a_version_with_two_fields():
    html = bar({"choice": "2", "strength": "much"}, preference_points=5)
    assert html.count(" checked") == 1
    assert 'value="2-much"' in html.split(" checked")[0].rsplit("<input", 1)[1]


def test_fields_and_names_of_criteria():
    assert render("{{ fields|lookup:name }}", fields={"rating-x": "3"}, name="rating-x") == "3"
    assert render("{{ fields|lookup:name }}", fields=None, name="rating-x") == ""
    assert (
        render("{% load answers %}{{ key|spoken }}", key="instruction_following") == "Instruction following"
    )


def test_form_is_labelled_and_says_what_is_wrong():
    class Example(forms.Form):
        name = forms.CharField(help_text="As it is shown.")
        kind = forms.ChoiceField(choices=[("a", "First"), ("b", "Second")], widget=forms.RadioSelect)
        agree = forms.BooleanField()

    html = render('{% include "components/form.html" with submit="Save" %}', form=Example({}))
    assert '<label for="id_name">Name' in html
    assert "<legend>Kind</legend>" in html
    assert html.count("This field is required.") == 3
    assert 'aria-invalid="true"' in html
    for described in ("id_name_helptext", "id_name_error"):
        assert f'id="{described}"' in html
