"""The settings of single sign-on, as the environment has them."""

import pytest
from django.core.exceptions import ImproperlyConfigured

from config.sign_in import groups_read, issuer_read
from tests.config.test_settings import DEPLOYMENT, run


@pytest.mark.parametrize(
    "text", ["https://id.example", "https://id.example/realms/lab/", "http://localhost:9400", ""]
)
def test_an_issuer_is_kept_to_the_letter(text):
    assert issuer_read(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "http://id.example",
        "id.example",
        "https://",
        "https://id.example?x=1",
        "https://a:b@id.example",
        "ftp://id.example",
    ],
)
def test_what_is_no_safe_address_is_refused(text):
    with pytest.raises(ImproperlyConfigured, match="must be an https address"):
        issuer_read(text)


def test_groups():
    assert groups_read("") == {}
    assert groups_read(" lab = researcher,it=administrator, ") == {"lab": "researcher", "it": "administrator"}
    assert groups_read("a=b=researcher") == {"a=b": "researcher"}
    assert groups_read('{"cn=lab,ou=groups": "researcher"}') == {"cn=lab,ou=groups": "researcher"}


@pytest.mark.parametrize("text", ["lab", "lab=", "=researcher", "lab=owner", "lab=annotator", '{"lab": 7}'])
def test_a_role_that_there_is_not(text):
    with pytest.raises(ImproperlyConfigured, match="write group=researcher"):
        groups_read(text)


def test_groups_that_are_no_json():
    with pytest.raises(ImproperlyConfigured, match="no JSON"):
        groups_read("{lab}")


ISSUER = {"TOUCHSTONE_OIDC_ISSUER": "https://id.example"}


@pytest.mark.service
@pytest.mark.parametrize(
    ("environment", "said"),
    [
        (ISSUER, "TOUCHSTONE_OIDC_ISSUER needs TOUCHSTONE_OIDC_CLIENT_ID"),
        ({"TOUCHSTONE_SECOND_FACTOR": "yes"}, "must be optional or required"),
    ],
)
def test_a_site_that_is_half_configured_does_not_start(tmp_path, environment, said):
    asked = run("import config.settings", tmp_path, **(DEPLOYMENT | environment))
    assert asked.returncode != 0
    assert said in asked.stderr
