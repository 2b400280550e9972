"""Which messages the code has for annotators, and the catalogs of their translations (`manage.py languages`).

GNU gettext isn't needed: Python is read with `ast`, templates with Django's own reader of them, and scripts by the form
of their calls. Messages of templates and Python are of the domain ``django``, those of scripts of ``djangojs``.
"""

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from django.conf import settings
from django.utils.translation.template import templatize

from web.catalogs import Catalog, Message, catalog_compiled, catalog_of, catalog_path, catalog_text

APPS = ("annotation", "config", "judges", "metaeval", "web")
DOMAINS = ("django", "djangojs")
PLURALS: Mapping[str, str] = {
    "es": "nplurals=2; plural=(n != 1);",
    "de": "nplurals=2; plural=(n != 1);",
    "fr": "nplurals=2; plural=(n > 1);",
    "pt": "nplurals=2; plural=(n > 1);",
    "zh-hans": "nplurals=1; plural=0;",
    "ja": "nplurals=1; plural=0;",
    "hi": "nplurals=2; plural=(n > 1);",
    "ar": "nplurals=6; plural=(n==0 ? 0 : n==1 ? 1 : n==2 ? 2 : n%100>=3 && n%100<=10 ? 3 : n%100>=11 ? 4 : 5);",
}
"""As Unicode CLDR has them, so that scripts, which ask `Intl.PluralRules`, choose the same form."""
# Which argument is the message, its plural and its context.
_PYTHON = {
    **dict.fromkeys(("gettext", "gettext_lazy", "gettext_noop", "_"), (0, None, None)),
    **dict.fromkeys(("ngettext", "ngettext_lazy"), (0, 1, None)),
    **dict.fromkeys(("pgettext", "pgettext_lazy"), (1, None, 0)),
    **dict.fromkeys(("npgettext", "npgettext_lazy"), (1, 2, 0)),
}
_LITERAL = r"""u?'(?:[^'\\]|\\.)*'|u?"(?:[^"\\]|\\.)*\""""
_TEMPLATE_CALL = re.compile(rf"\b(_|n?p?gettext)\(((?:{_LITERAL})(?:\s*,\s*(?:{_LITERAL}))*)", re.DOTALL)
_SCRIPT_CALL = re.compile(r"\bn?gettext\(\s*(\"(?:[^\"\\]|\\.)*\")(?:,\s*(\"(?:[^\"\\]|\\.)*\"))?")
_PLACE = re.compile(r"%\(\w+\)s|\{\w+\}")


def messages_collected(root: Path, domain: str) -> tuple[Message, ...]:
    """All messages of a domain, each with the files that it is in, in the order of files and lines."""
    found: dict[tuple[str, str], Message] = {}
    for path in _files(root, domain):
        place = path.relative_to(root).as_posix()
        for message in _read(path):
            known = found.get(message.key, message)
            places = known.places if place in known.places else (*known.places, place)
            is_formatted = domain == "django" and "%(" in message.source
            flags = ("python-format",) if is_formatted else ()
            found[message.key] = replace(
                known, plural=known.plural or message.plural, places=places, flags=flags
            )
    return tuple(found.values())


def _files(root: Path, domain: str) -> Iterator[Path]:
    if domain == "djangojs":
        yield from sorted((root / "static" / "js").glob("*.js"))
        return
    for app in APPS:
        yield from (path for path in sorted((root / app).rglob("*.py")) if "migrations" not in path.parts)
    yield from sorted(path for path in (root / "templates").rglob("*.*") if path.suffix in (".html", ".txt"))


def _read(path: Path) -> Iterator[Message]:
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        yield from _of_python(text)
    elif path.suffix == ".js":
        for one, many in _SCRIPT_CALL.findall(text):
            yield Message(ast.literal_eval(one), ast.literal_eval(many) if many else "")
    else:
        for name, given in _TEMPLATE_CALL.findall(templatize(text)):
            yield _message(name, [ast.literal_eval(each) for each in re.findall(_LITERAL, given, re.DOTALL)])


def _of_python(text: str) -> Iterator[Message]:
    if "gettext" not in text:
        return
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.Call):
            continue
        name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
        texts = [each.value if isinstance(each, ast.Constant) else None for each in node.args]
        if name in _PYTHON and texts and isinstance(texts[_PYTHON[name][0]], str):
            yield _message(name, [str(each) for each in texts])


def _message(name: str, texts: list[str]) -> Message:
    source, plural, context = _PYTHON[name]
    return Message(
        texts[source],
        "" if plural is None else texts[plural],
        "" if context is None else texts[context],
    )


def merged(messages: Iterable[Message], known: Catalog, code: str) -> Catalog:
    """The messages with the translations that are known of them; those that are new have none."""
    header = {
        "Language": code,
        "MIME-Version": "1.0",
        "Content-Type": "text/plain; charset=UTF-8",
        "Content-Transfer-Encoding": "8bit",
        "Plural-Forms": PLURALS[code],
    }
    catalog = Catalog(header)
    before = {each.key: each for each in known.messages}
    result = []
    for each in messages:
        n_forms = catalog.n_forms if each.plural else 1
        old = before.get(each.key)
        forms = old.forms if old is not None and len(old.forms) == n_forms else ("",) * n_forms
        result.append(replace(each, forms=forms))
    return Catalog(header, tuple(result))


def problems_of(message: Message) -> Iterator[str]:
    """What is wrong with a translation: nothing said, or other values put into it than the English has."""
    if not message.is_translated:
        yield "is not translated"
        return
    wanted = set(_PLACE.findall(message.source)) | set(_PLACE.findall(message.plural))
    for form in message.forms:
        given = set(_PLACE.findall(form))
        # A form for one or two things may say the number in words.
        lacking = wanted - given - ({"%(n)s", "{n}"} if message.plural else set())
        if lacking or given - wanted:
            yield f"has other values: {form}"
        if _tags(form) not in [_tags(each) for each in (message.source, message.plural) if each]:
            yield f"has other tags: {form}"
        if '"' in _TAG.sub("", form) or form != form.strip():
            yield f"has a quote that would end an attribute, or space around it: {form}"


_TAG = re.compile(r"<[^>]*>")


def _tags(text: str) -> list[str]:
    return sorted(re.sub(r'(data-key-label)="[^"]*"', r"\1", tag) for tag in _TAG.findall(text))


def catalogs_checked(root: Path, folder: Path) -> Iterator[str]:
    """What is wrong with the catalogs, a line each; nothing where all is right."""
    for domain in DOMAINS:
        messages = messages_collected(root, domain)
        for code in PLURALS:
            path = catalog_path(folder, code, domain)
            known = catalog_of(path) if path.exists() else Catalog()
            catalog = merged(messages, known, code)
            for message in catalog.messages:
                for problem in problems_of(message):
                    yield f"{code}: {message.source!r} {problem}"
            compiled = catalog_path(folder, code, domain, "mo")
            if catalog_text(catalog) != (path.read_text(encoding="utf-8") if path.exists() else ""):
                yield f"{code}: {path.name} isn't what the code has; run `manage.py languages`"
            elif not compiled.exists() or compiled.read_bytes() != catalog_compiled(catalog):
                yield f"{code}: {compiled.name} isn't what {path.name} compiles to; run `manage.py languages`"


def catalogs_write(root: Path, folder: Path) -> None:
    """Bring the catalogs up to date with the code, and compile them. What the code no longer has is dropped."""
    for domain in DOMAINS:
        messages = messages_collected(root, domain)
        for code in PLURALS:
            path = catalog_path(folder, code, domain)
            catalog = merged(messages, catalog_of(path) if path.exists() else Catalog(), code)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(catalog_text(catalog), encoding="utf-8")
            catalog_path(folder, code, domain, "mo").write_bytes(catalog_compiled(catalog))


def folder_of_catalogs() -> Path:
    return Path(settings.LOCALE_PATHS[0])
