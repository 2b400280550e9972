"""Fragments: what is kept of a page, and what in it is of this page alone."""

import tracemalloc

import pytest
from django.template import Context, Template, TemplateSyntaxError
from django.utils.safestring import mark_safe
from django.utils.translation import override

from annotation.models import Study
from tests.annotation.factories import study_make

LOADED = "{% load fragments %}"


def test_it_is_rendered_once_for_the_same_values():
    said = []

    class Word:
        def __str__(self):
            said.append(self)
            return "word"

    template = Template(
        LOADED + "{% fragment word=word number=number %}{{ word }} {{ number }}{% endfragment %}"
    )
    word = Word()
    assert [template.render(Context({"word": word, "number": n})) for n in (1, 1, 2, 1)] == [
        "word 1",
        "word 1",
        "word 2",
        "word 1",
    ]
    assert len(said) == 2


def test_places_are_as_they_are_now_and_escaped():
    template = Template(
        LOADED
        + '{% fragment places here text %}<a href="{{ here }}skip/?{{ here|urlencode }}">'
        + "{{ text }}</a>{% endfragment %}"
    )
    show = lambda here, text: template.render(Context({"here": here, "text": text}))  # noqa: E731
    assert show("/s/a/1/", "x") == '<a href="/s/a/1/skip/?/s/a/1/">x</a>'
    assert show("/s/a/2/", "<b>&") == '<a href="/s/a/2/skip/?/s/a/2/">&lt;b&gt;&amp;</a>'
    assert show("/s/a/2/", mark_safe("<b>")) == '<a href="/s/a/2/skip/?/s/a/2/"><b></a>'


def test_values_that_are_equal_and_rendered_differently_are_kept_apart():
    template = Template(LOADED + "{% fragment value=value %}{{ value }}{% endfragment %}")
    shown = [template.render(Context({"value": value})) for value in (mark_safe("<b>"), "<b>", True, 1, 1.0)]
    assert shown == ["<b>", "&lt;b&gt;", "True", "1", "1.0"]


def test_a_place_that_is_empty_is_false_in_it():
    template = Template(
        LOADED + "{% fragment places text %}{% if text %}<i>{{ text }}</i>{% endif %}{% endfragment %}"
    )
    assert [
        template.render(Context(values)) for values in ({"text": "a"}, {}, {"text": ""}, {"text": "b"})
    ] == [
        "<i>a</i>",
        "",
        "",
        "<i>b</i>",
    ]


def test_it_knows_nothing_that_it_does_not_name():
    template = Template(
        LOADED + "{% fragment study=study %}{{ person }}{{ study.title }}{% endfragment %}{{ person }}"
    )
    for person in ("Ann", "Ben"):
        assert template.render(Context({"study": Study(title="T"), "person": person})) == f"T{person}"


@pytest.mark.django_db
def test_a_changed_row_is_another_value():
    study = study_make(title="Before", criteria=[])
    template = Template(
        LOADED + "{% fragment study=study %}{{ study.title }} {{ study.reasons|length }}{% endfragment %}"
    )
    show = lambda: template.render(Context({"study": Study.objects.get(pk=study.pk)}))  # noqa: E731
    assert show() == show() == "Before 0"
    Study.objects.update(title="After")
    assert show() == "After 0"
    Study.objects.update(reasons=[{"key": "a", "label": "A"}])
    assert show() == "After 1"


def test_each_language_has_its_own():
    template = Template(
        "{% load i18n %}" + LOADED + '{% fragment %}{% translate "Submit" %}{% endfragment %}'
    )
    with override("en"):
        assert template.render(Context({"page_language": "en"})) == "Submit"
    with override("de"):
        assert template.render(Context({"page_language": "de"})) == "Absenden"
    with override("en"):
        assert template.render(Context({"page_language": "en"})) == "Submit"


@pytest.mark.parametrize("tag", ["{% fragment here %}", "{% fragment places a.b %}", "{% fragment a=1 b %}"])
def test_another_form_of_the_tag_is_refused(tag):
    with pytest.raises(TemplateSyntaxError, match="expected name=value"):
        Template(LOADED + tag + "{% endfragment %}")


def test_what_is_kept_is_bounded_whatever_is_sent():
    template = Template(
        LOADED + "{% fragment choice=choice %}{% if choice == '1' %}checked{% endif %}{% endfragment %}"
    )
    tracemalloc.start()
    try:
        for n in range(200):
            assert template.render(Context({"choice": f"{n}" + "x" * 500_000})) == ""
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept < 12_000_000


def test_what_is_anew_is_rendered_each_time_by_what_the_page_knows():
    template = Template(
        LOADED
        + "{% fragment name=name places here %}{{ name }}{{ other }} {{ here }} "
        + "{% if name == 'a' %}{% anew %}{{ name }}{{ other|default:'none' }}{% endanew %}{% endif %}"
        + " {% anew %}{{ here }}<{{ other }}>{% endanew %} {{ here }}{% endfragment %}"
    )
    said = [
        template.render(Context({"name": name, "other": other, "here": here}))
        for name, other, here in [("a", "1", "x"), ("a", "2", "y"), ("b", "<", "x"), ("a", "", "")]
    ]
    assert said == ["a x a1 x<1> x", "a y a2 y<2> y", "b x  x<&lt;> x", "a  anone <> "]


def test_what_is_anew_outside_of_a_fragment_is_as_it_stands():
    template = Template(LOADED + "{% for one in all %}{% anew %}{{ one }}{% endanew %},{% endfor %}")
    assert template.render(Context({"all": "ab"})) == "a,b,"


def test_what_is_anew_in_a_fragment_within_another_is_rendered_each_time():
    template = Template(
        LOADED
        + "{% fragment name=name %}({% fragment name=name places here %}{{ name }}{% anew %}{{ other }}{% endanew %}"
        + "{% endfragment %}{% anew %}{{ other }}{% endanew %}){% endfragment %}"
    )
    said = [template.render(Context({"name": "a", "other": other})) for other in "123"]
    assert said == ["(a11)", "(a22)", "(a33)"]
