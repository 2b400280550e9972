"""Every public docstring is whole, by numpydoc's form: what goes in, what comes out, what is refused, where it is from.

The rules are numpydoc's own (sections and their order, each argument by its name), read here in forty lines: its
validator comes with Sphinx and what Sphinx needs.
"""

import ast
import dataclasses
import inspect
import re
import textwrap

from metaeval import selection, stats
from metaeval.stats import plots
from tests.cases import over

ORDER = [
    "Parameters",
    "Attributes",
    "Returns",
    "Yields",
    "Raises",
    "Warns",
    "See Also",
    "Notes",
    "References",
    "Examples",
]
PUBLIC = [
    getattr(module, name)
    for module in (stats, selection)
    for name in module.__all__
    if callable(getattr(module, name))
]
FUNCTIONS = [public for public in PUBLIC if inspect.isfunction(public)]
FUNCTIONS += [
    function
    for name, function in vars(plots).items()
    if inspect.isfunction(function) and function.__module__ == plots.__name__ and not name.startswith("_")
]
CLASSES = [public for public in PUBLIC if inspect.isclass(public) and not issubclass(public, Exception)]
METHODS = [
    (
        public,
        name,
        inspect.unwrap(getattr(member, "__func__", getattr(member, "func", getattr(member, "fget", member)))),
    )
    for public in CLASSES
    for name, member in vars(public).items()
    if not name.startswith("_")
    and (inspect.isfunction(member) or hasattr(member, "__func__") or hasattr(member, "fget"))
]


def named(public):
    return public.__name__


def sections(public):
    """The text before the first section, under "", and each section by its heading."""
    found, heading = {"": []}, ""
    lines = (inspect.getdoc(public) or "").splitlines()
    for line, under in zip(lines, [*lines[1:], ""], strict=True):
        if re.fullmatch(r"-{3,}", under) and line and len(line) == len(under):
            heading = line
            assert heading not in found, f"{heading} twice"
            found[heading] = []
        elif not re.fullmatch(r"-{3,}", line):
            found[heading].append(line)
    return {name: "\n".join(text).strip("\n") for name, text in found.items()}


def entries(text):
    """What a list of arguments or attributes names, with the line and what stands below it."""
    found = {}
    for line in text.splitlines():
        if line and not line.startswith(" "):
            names, _, kind = line.partition(" : ")
            current = [name.strip().lstrip("*") for name in names.split(",")]
            found |= dict.fromkeys(current, kind)
        elif line.strip():
            found |= {name: found[name] + line for name in current}
    return found


def check_form(public):
    doc = sections(public)
    summary = doc[""].split("\n\n")[0]
    assert re.match(r"[A-Z\"`]", summary), "a summary"
    assert summary.rstrip().endswith((".", "?", ":")), "a sentence"
    headings = [heading for heading in doc if heading]
    assert headings == sorted(headings, key=ORDER.index), "numpydoc's order"
    return doc


def raises(function):
    """Whether it refuses something itself, rather than what it calls."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    return any(isinstance(node, ast.Raise) and node.exc is not None for node in ast.walk(tree))


@over(FUNCTIONS, named)
def test_every_function_says_all_of_it(function):
    doc = check_form(function)
    plain = inspect.unwrap(function)
    arguments = list(inspect.signature(plain).parameters)
    described = entries(doc.get("Parameters", ""))
    assert list(described) == arguments, "every argument, in its order"
    assert all(described.values()), f"said of each: {[name for name, text in described.items() if not text]}"
    assert doc.get("Returns"), "what comes out"
    assert doc.get("Raises") or not raises(plain), "what is refused"
    assert doc.get("References") or doc.get("Notes"), "where it is from, or that it is ours"
    assert ">>>" in doc.get("Examples", ""), "an example that runs"


@over(FUNCTIONS, named)
def test_what_a_reference_points_to_has_one(function):
    for name in re.findall(r"As of `(?:metaeval\.\w+\.)?(\w+)`", sections(function).get("References", "")):
        assert sections(getattr(stats, name)).get("References"), name


@over(CLASSES, named)
def test_every_class_says_what_it_holds(public):
    doc = check_form(public)
    if not dataclasses.is_dataclass(public):
        assert list(entries(doc["Parameters"])) == [*inspect.signature(public).parameters]
        return
    inherited = {
        each.name
        for base in public.__mro__[1:]
        if dataclasses.is_dataclass(base)
        for each in dataclasses.fields(base)
    }
    own = {each.name for each in dataclasses.fields(public)} - inherited
    assert own <= set(entries(doc.get("Attributes", ""))), own - set(entries(doc.get("Attributes", "")))


@over(METHODS, lambda method: f"{method[0].__name__}.{method[1]}")
def test_every_method_says_what_it_does(public, name, method):
    assert inspect.getdoc(method), f"{public.__name__}.{name}"
