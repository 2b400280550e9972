"""The translations of the annotators' pages: complete, with the values and tags of the English, and compiled."""

import re
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from django.utils.translation import gettext, ngettext, override

from config.messages import (
    DOMAINS,
    PLURALS,
    catalogs_checked,
    catalogs_write,
    messages_collected,
    problems_of,
)
from tests.test_words import script_texts
from web.catalogs import (
    Catalog,
    CatalogError,
    Message,
    catalog_compiled,
    catalog_of,
    catalog_path,
    catalog_text,
)
from web.languages import NAMES, script_words

ROOT = Path(settings.BASE_DIR)
LOCALE = Path(settings.LOCALE_PATHS[0])


def test_every_message_of_the_code_is_translated_and_compiled():
    assert list(catalogs_checked(ROOT, LOCALE)) == []


def test_there_is_a_catalog_for_every_language_and_no_other():
    assert {"en", *PLURALS} == set(NAMES)
    known = {catalog_path(LOCALE, code, "django").parents[1].name for code in PLURALS}
    assert {path.name for path in LOCALE.iterdir()} == known


def test_a_message_that_is_new_in_the_code_is_missed_until_it_is_translated(tmp_path, capsys):
    root = tmp_path / "site"
    for folder in ("annotation", "config", "judges", "metaeval", "web", "templates", "static/js"):
        (root / folder).mkdir(parents=True)
    (root / "annotation" / "said.py").write_text('gettext("Tie")\nngettext("%(n)s step", "%(n)s steps", n)\n')
    (root / "templates" / "page.html").write_text(
        '{% load i18n %}{% translate "Right" %}{% blocktranslate count n=n %}{{ n }} word{% plural %}{{ n }} words'
        '{% endblocktranslate %}{% include "a.html" with title=_("Why") %}{% translate "May" context "month" %}'
    )
    (root / "static" / "js" / "a.js").write_text(
        'say(gettext("Next item"), ngettext("{n} left", "{n} left", n));'
    )
    found = {(each.context, each.source, each.plural) for each in messages_collected(root, "django")}
    assert found == {
        ("", "Tie", ""),
        ("", "%(n)s step", "%(n)s steps"),
        ("", "Right", ""),
        ("", "%(n)s word", "%(n)s words"),
        ("", "Why", ""),
        ("month", "May", ""),
    }
    assert [each.source for each in messages_collected(root, "djangojs")] == ["Next item", "{n} left"]
    locale = tmp_path / "locale"
    catalogs_write(root, locale)
    problems = list(catalogs_checked(root, locale))
    assert "es: 'Tie' is not translated" in problems
    assert len(problems) == 8 * len(PLURALS)
    path = catalog_path(locale, "ar", "django")
    assert "msgstr[5]" in path.read_text()
    # What was translated stays when the code changes, and what the code has no longer goes.
    text = path.read_text().replace('msgid "Tie"\nmsgstr ""', 'msgid "Tie"\nmsgstr "تعادل"')
    path.write_text(text)
    (root / "templates" / "page.html").write_text("")
    catalogs_write(root, locale)
    kept = {each.source: each.forms for each in catalog_of(path).messages}
    assert kept == {"Tie": ("تعادل",), "%(n)s step": ("",) * 6}


def test_the_command_fails_where_something_is_not_translated(monkeypatch, tmp_path):
    call_command("languages", check=True)
    monkeypatch.setattr("config.management.commands.languages.folder_of_catalogs", lambda: tmp_path)
    with pytest.raises(CommandError, match="problems"):
        call_command("languages", check=True)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("source", "forms", "problem"),
    [
        ("%(n)s of %(total)s", ("%(n)s",), "other values"),
        ("Saved", ("%(n)s",), "other values"),
        ("<b>%(n)s</b> done", ("%(n)s",), "other tags"),
        ("Saved", ('"guardado"',), "quote"),
        ("Saved", ("guardado ",), "space"),
    ],
)
def test_a_translation_with_other_values_or_tags_is_a_problem(source, forms, problem):
    assert any(problem in each for each in problems_of(Message(source, forms=forms)))


def test_a_form_for_one_or_two_may_say_the_number_in_words():
    forms = ("", "خطوة واحدة", "خطوتان", "%(n)s خطوات", "%(n)s خطوة", "%(n)s خطوة")
    assert not list(problems_of(Message("%(n)s step", "%(n)s steps", forms=("لا خطوات", *forms[1:]))))


def test_what_is_written_is_read_again_whatever_is_in_it(tmp_path):
    long = "One sentence of some length. " * 12
    messages = (
        Message('A "quote", a \\ and\na line\tand a tab', forms=("«»",)),
        Message(long.strip(), forms=(long.strip(),), places=("a.py", "b.py"), flags=("python-format",)),
        Message("May", context="month", forms=("Mayo",), notes=("Not the verb.",)),
    )
    catalog = Catalog({"Language": "es", "Plural-Forms": "nplurals=2; plural=(n != 1);"}, messages)
    path = tmp_path / "es.po"
    path.write_text(catalog_text(catalog), encoding="utf-8")
    assert catalog_of(path) == catalog


def test_a_broken_catalog_says_the_line(tmp_path):
    path = tmp_path / "a.po"
    path.write_text('msgid ""\nmsgstr ""\n\nmsgid "Tie"\nmsgtxt "Empate"\n')
    with pytest.raises(CatalogError, match="line 4"):
        catalog_of(path)


@pytest.mark.parametrize("code", PLURALS)
def test_plurals_are_chosen_as_gettext_chooses_them(code):
    forms = {each.source: each.forms for each in catalog_of(catalog_path(LOCALE, code, "django")).messages}
    expected = forms["%(n)s step"]
    with override(code):
        said = [ngettext("%(n)s step", "%(n)s steps", n) for n in (0, 1, 2, 3, 11, 100)]
    if code == "ar":
        assert said == list(expected)
    elif len(expected) == 1:
        assert set(said) == set(expected)
    else:
        assert (said[1], said[2], said[5]) == (expected[0], expected[1], expected[1])


def test_scripts_have_their_words_as_data_and_english_pages_none():
    assert script_words("en") == {}
    for code in PLURALS:
        words = script_words(code)
        sources = {each.source for each in messages_collected(ROOT, "djangojs")}
        assert words.keys() == sources
        assert isinstance(words["{n} not ranked yet."], list)
        assert isinstance(words["Next item"], str)


OF_STAFF = {"drawer.js", "filter.js", "items.js", "passkeys.js", "sortable.js", "study-form.js", "upload.js"}
_CALL = re.compile(r'\bn?gettext\(\s*"(?:[^"\\]|\\.)*"(?:,\s*"(?:[^"\\]|\\.)*")?')
_NO_WORDS = re.compile(r"[\[\]#=]|data-|var\(")


@pytest.mark.parametrize("name", sorted(path.name for path in (ROOT / "static" / "js").glob("*.js")))
def test_a_script_of_annotators_says_nothing_that_is_not_a_message(name):
    if name in OF_STAFF:
        return
    source = (ROOT / "static" / "js" / name).read_text(encoding="utf-8")
    left = [
        text
        for text in script_texts(_CALL.sub("", re.sub(r"/\*.*?\*/", "", source)))
        if not _NO_WORDS.search(text)
    ]
    assert left == []


def test_a_compiled_catalog_is_what_django_loads():
    with override("de"):
        assert gettext("Tie") == "Gleich gut"
    for domain in DOMAINS:
        path = catalog_path(LOCALE, "de", domain)
        assert catalog_compiled(catalog_of(path)) == path.with_suffix(".mo").read_bytes()
