"""The table of OWASP ASVS 5.0 in docs/security.md is whole and true, and what single lines of it rest on."""

import ast
import logging
import re
import tomllib
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from django.contrib.auth import password_validation
from django.contrib.auth.hashers import PBKDF2PasswordHasher
from django.core.exceptions import ValidationError
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotation.models import User
from annotation.services import enrollment, entry, studies
from annotation.services.tokens import PREFIX, token_create
from tests.annotation.cast import client_of
from tests.annotation.factories import PASSWORD
from tests.config.test_settings import READY, run

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "security.md"
PACKAGES = ("annotation", "config", "judges", "metaeval", "touchstone_client", "web")
# The numbers of OWASP ASVS 5.0.0, by section: those of level 1, and those of level 2.
NUMBERS = """
1.1:;1,2 1.2:1,2,3,4,5;6,7,8,9 1.3:1,2;3,4,5,6,7,8,9,10,11 1.4:;1,2,3 1.5:1;2
2.1:1;2,3 2.2:1,2;3 2.3:1;2,3,4 2.4:;1
3.2:1,2; 3.3:1;2,3,4 3.4:1,2;3,4,5,6 3.5:1,2,3;4,5 3.7:;1,2
4.1:1;2,3 4.2:;1 4.3:;1,2 4.4:1;2,3,4
5.1:;1 5.2:1,2;3 5.3:1,2; 5.4:;1,2,3
6.1:1;2,3 6.2:1,2,3,4,5,6,7,8;9,10,11,12 6.3:1,2;3,4 6.4:1,2;3,4 6.5:;1,2,3,4,5 6.6:;1,2,3 6.8:;1,2,3,4
7.1:;1,2,3 7.2:1,2,3,4; 7.3:;1,2 7.4:1,2;3,4,5 7.5:;1,2 7.6:;1,2
8.1:1;2 8.2:1,2;3 8.3:1; 8.4:;1
9.1:1,2,3; 9.2:1;2,3,4
10.1:;1,2 10.2:;1,2 10.3:;1,2,3,4 10.4:1,2,3,4,5;6,7,8,9,10,11 10.5:;1,2,3,4,5 10.6:;1,2 10.7:;1,2,3
11.1:;1,2 11.2:;1,2,3 11.3:1,2;3 11.4:1;2,3,4 11.5:;1 11.6:;1
12.1:1;2,3 12.2:1,2; 12.3:;1,2,3,4
13.1:;1 13.2:;1,2,3,4,5 13.3:;1,2 13.4:1;2,3,4,5
14.1:;1,2 14.2:1;2,3,4 14.3:1;2,3
15.1:1;2,3 15.2:1;2,3 15.3:1;2,3,4,5,6,7
16.1:;1 16.2:;1,2,3,4,5 16.3:;1,2,3,4 16.4:;1,2,3 16.5:;1,2,3
17.1:;1 17.2:;1,2,3,4 17.3:;1,2
"""
ROW = re.compile(r"^\| (\d+\.\d+\.\d+) \| ([12]) \| (.+?) \| (.+) \|$", re.M)
TEST = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")
LINK = re.compile(r"\[[^\]]+\]\(([\w.-]*)(?:#([\w-]+))?\)")
REASONED = re.compile(r"(?:Not applicable|Not met): \S.{6,}\.$")


def expected() -> dict[str, str]:
    """Each number, with its level."""
    found = {}
    for word in NUMBERS.split():
        section, _, levels = word.partition(":")
        for level, numbers in zip("12", levels.split(";"), strict=True):
            found |= {f"{section}.{number}": level for number in numbers.split(",") if number}
    return found


def rows() -> list[tuple[str, str, str, str]]:
    return ROW.findall(PAGE.read_text("utf-8"))


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as the documentation site makes them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text("utf-8"), re.M)
    return {re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", each).strip().lower()) for each in headings}


class TestTable:
    def test_each_requirement_of_levels_1_and_2_is_there_once(self):
        numbers = [number for number, _, _, _ in rows()]
        assert len(expected()) == 253
        assert sorted(numbers) == sorted(expected())
        assert {number: level for number, level, _, _ in rows()} == expected()

    def test_each_test_that_is_named_exists(self):
        defined: dict[str, set[str]] = {}
        missing = []
        for number, _, _, shown in rows():
            for path, name in TEST.findall(shown):
                if path not in defined:
                    file = ROOT / path
                    tree = ast.parse(file.read_text("utf-8")) if file.is_file() else ast.Module([], [])
                    defined[path] = {
                        node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)
                    }
                if name not in defined[path]:
                    missing.append((number, f"{path}::{name}"))
        assert missing == []

    def test_each_line_names_a_test_a_page_or_a_reason(self):
        for number, _, words, shown in rows():
            assert len(words) > 6, number
            is_tested = bool(TEST.search(shown))
            is_documented = shown.startswith("Documented: ")
            assert is_tested + is_documented + bool(REASONED.fullmatch(shown)) == 1, (number, shown)

    def test_pages_that_are_named_have_their_sections(self):
        documented = [(number, shown) for number, _, _, shown in rows() if shown.startswith("Documented: ")]
        assert documented
        for number, shown in documented:
            (target,) = LINK.findall(shown)
            page = ROOT / "docs" / target[0] if target[0] else PAGE
            assert page.is_file(), number
            assert not target[1] or target[1] in anchors(page), (number, target)


def trees() -> Iterator[tuple[str, ast.AST]]:
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            yield path.relative_to(ROOT).as_posix(), ast.parse(path.read_text("utf-8"))


FORBIDDEN = {
    *(
        "eval",
        "exec",
        "compile",
        "os.system",
        "os.popen",
        "subprocess.getoutput",
        "yaml.load",
        "yaml.unsafe_load",
    ),
    *("hashlib.md5", "hashlib.sha1", "Template", "Engine.from_string", "RawSQL", "signing.loads_unsafe"),
    *("tempfile.mktemp", "ssl._create_unverified_context", "XMLParser"),
}
MODULES = {
    "pickle",
    "marshal",
    "shelve",
    "dill",
    "jsonpickle",
    "xml.sax",
    "xml.dom",
    "lxml",
    "telnetlib",
    "ftplib",
}
PARSED_XML = {"metaeval/pictures/rendering.py": 1}
"""Files that parse XML, and how often: drawings that our own process has made."""


def called(node: ast.Call) -> str:
    return ast.unparse(node.func)


def code_problems(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = (
                [node.module or ""]
                if isinstance(node, ast.ImportFrom)
                else [each.name for each in node.names]
            )
            yield from (name for name in names if name in MODULES or name.partition(".")[0] in MODULES)
            if isinstance(node, ast.ImportFrom) and node.module == "hashlib":
                yield from (each.name for each in node.names if each.name in ("md5", "sha1"))
        if not isinstance(node, ast.Call):
            continue
        name = called(node)
        words = {each.arg: each.value for each in node.keywords}
        if name in FORBIDDEN or name.endswith((".from_string", ".extra")):
            yield name
        if isinstance(shell := words.get("shell"), ast.Constant) and shell.value:
            yield f"{name} with a shell"
        if name.endswith("salted_hmac") and "algorithm" not in words:
            yield f"{name} with SHA-1"
        # Patterns of our own are constants, or attributes of our own objects.
        if name.endswith(".format") and re.search(r"request|POST|GET|cleaned_data|params|payload", name):
            yield name


WRITES_ALONE = ("config/backup/sqlite.py", "marshal")
"""Hashes what marshal writes, and reads none."""


def test_code_runs_nothing_that_was_given_to_it():
    found = [(path, problem) for path, tree in trees() for problem in code_problems(tree)]
    assert found == [WRITES_ALONE]
    assert "marshal.load" not in (ROOT / WRITES_ALONE[0]).read_text("utf-8")
    parsed: dict[str, int] = {}
    for path, tree in trees():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and re.search(
                r"\b(ET|Xml|ElementTree)\.(fromstring|parse|XML)$", called(node)
            ):
                parsed[path] = parsed.get(path, 0) + 1
    assert parsed == PARSED_XML


@pytest.mark.parametrize(
    "code",
    [
        "eval(text)",
        "import pickle",
        "from lxml import etree",
        "from hashlib import md5",
        "subprocess.run(text, shell=True)",
        "salted_hmac('a', 'b')",
        "engine.from_string(text)",
        "rows.extra(where=[text])",
        "request.POST['a'].format(b=1)",
    ],
)
def test_the_rule_for_code_sees(code):
    assert list(code_problems(ast.parse(code)))


MARKUP = re.compile(
    r"innerHTML\s*=|outerHTML\s*=|insertAdjacentHTML|document\.write|\beval\(|new Function\(|__proto__"
)
MARKUP_ALLOWED = {"study-form.js": 1}
"""Scripts that write markup, and how often: a template of the page itself, with numbers in it."""
LISTENS = re.compile(r"addEventListener\(\s*[\"']message[\"']|onmessage")


def test_scripts_write_no_text_as_markup():
    written, listening = {}, set()
    for path in sorted((ROOT / "static" / "js").glob("*.js")):
        text = path.read_text("utf-8")
        assert '"use strict"' in text or path.name == "sortable.js", path.name
        if found := MARKUP.findall(text):
            written[path.name] = len(found)
        if LISTENS.search(text):
            listening.add(path.name)
    assert written == MARKUP_ALLOWED
    # Each is the worker, or who started it.
    assert listening <= {
        "differences.js",
        "differences-worker.js",
        "offline-worker.js",
        "ahead.js",
        "work.js",
    }


def test_no_client_skips_certificates():
    for path, tree in trees():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call):
                words = {each.arg: each.value for each in node.keywords}
                verify = words.get("verify")
                assert not (isinstance(verify, ast.Constant) and verify.value is False), path
        assert "CERT_NONE" not in ast.unparse(tree), path


@pytest.mark.parametrize("password", ["password123", "qwertyuiop", "iloveyou1", "12345678", "football1"])
def test_common_passwords_are_refused(password):
    with pytest.raises(ValidationError):
        password_validation.validate_password(password)


@pytest.mark.django_db
def test_fields_of_passwords_hide_them_and_let_managers_fill_them(cast):
    anonymous, alice = Client(), client_of(cast.alice)
    pages = [
        anonymous.get(reverse("login")),
        anonymous.get(reverse("annotation:account-sign-in")),
        anonymous.get(reverse("annotation:account-sign-up")),
        alice.get(reverse("me")),
        alice.get(reverse("password-change")),
    ]
    seen = 0
    for page in pages:
        html = page.content.decode()
        fields = re.findall(r"<input[^>]*name=\"[^\"]*password[^\"]*\"[^>]*>", html)
        seen += len(fields)
        for field in fields:
            assert 'type="password"' in field
            assert re.search(r'autocomplete="(current|new)-password"', field), field
        assert "onpaste" not in html
        assert "secret question" not in html.lower()
    assert seen >= 6


@pytest.mark.django_db
def test_passwords_do_not_expire():
    long_ago = timezone.now() - timedelta(days=3650)
    User.objects.create_user("old", password=PASSWORD, date_joined=long_ago, last_login=long_ago)
    assert Client().login(username="old", password=PASSWORD)


@pytest.mark.service
def test_a_new_site_has_no_account(tmp_path):
    code = f"""{READY}
from django.core.management import call_command
call_command("migrate", verbosity=0)
from annotation.models import Account, ApiToken, User
print(User.objects.count(), Account.objects.count(), ApiToken.objects.count())
"""
    asked = run(code, tmp_path)
    assert asked.stdout.split() == ["0", "0", "0"], asked.stderr


@pytest.mark.django_db
def test_keys_of_sessions_are_long_and_differ(cast):
    keys = set()
    for _ in range(5):
        client = Client()
        client.get(reverse("login"))
        before = client.session.session_key
        client.post(reverse("login"), {"username": "alice", "password": PASSWORD})
        assert client.session.session_key != before
        keys.add(client.session.session_key)
    assert len(keys) == 5
    # 32 characters out of 36 are 165 bits.
    assert {len(key) for key in keys} == {32}


@pytest.mark.django_db
@pytest.mark.parametrize(
    "page", ["home", "annotation:study-list", "annotation:dataset-list", "me", "admin:index"]
)
def test_each_page_of_staff_has_a_button_to_sign_out(cast, page):
    html = client_of(cast.ann).get(reverse(page)).content.decode()
    assert re.search(rf'<form[^>]*action="(?:{reverse("logout")}|{reverse("admin:logout")})"', html)


@pytest.mark.django_db
def test_an_administrator_ends_all_sessions_of_a_person_by_a_new_password(cast):
    first, second = client_of(cast.alice), client_of(cast.alice)
    address = reverse("admin:auth_user_password_change", args=[cast.alice.pk])
    words = {"password1": "a-new-long-phrase", "password2": "a-new-long-phrase", "usable_password": "true"}
    assert client_of(cast.ann).post(address, words).status_code == 302
    for client in (first, second):
        assert client.get(reverse("me")).status_code == 302


@pytest.mark.django_db
def test_secrets_have_enough_bits(cast):
    assert min(enrollment.RESUME_TOKEN_BYTES, studies.INVITATION_TOKEN_BYTES, entry.TOKEN_BYTES) * 8 >= 128
    _, secret = token_create(user=cast.alice, name="one", days=1, scopes=[])
    assert len(secret.removeprefix(PREFIX)) * 6 >= 256


@pytest.mark.service
def test_passwords_are_stored_by_a_slow_function(tmp_path):
    code = f"""{READY}
from django.contrib.auth.hashers import make_password
print(make_password("a-good-long-one"))
"""
    algorithm, iterations, salt, _ = run(code, tmp_path).stdout.strip().split("$")
    assert algorithm == "pbkdf2_sha256"
    assert int(iterations) >= 600_000
    assert int(iterations) == PBKDF2PasswordHasher.iterations
    assert len(salt) >= 22


@pytest.mark.service
def test_debugging_is_off_unless_asked_for(tmp_path):
    code = "from django.conf import settings; print(settings.DEBUG)"
    assert run(code, tmp_path).stdout.strip() == "False"


def test_the_wheel_has_no_tests_and_no_tools():
    targets = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["hatch"]["build"]["targets"]
    assert sorted(targets["wheel"]["packages"]) == sorted(PACKAGES)


@pytest.mark.service
def test_logs_go_to_the_standard_error_alone(tmp_path):
    code = f"""{READY}
import logging
names = (None, *logging.root.manager.loggerDict)
handlers = [handler for name in names for handler in logging.getLogger(name).handlers]
print(sorted({{type(handler).__name__ for handler in handlers}}))
"""
    found = ast.literal_eval(run(code, tmp_path).stdout)
    assert set(found) <= {logging.StreamHandler.__name__, "NullHandler", "AdminEmailHandler"}
