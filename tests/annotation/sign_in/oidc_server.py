"""An OpenID provider as a process: oidc-provider-mock, which signs real tokens, with what it leaves out.

It checks PKCE (RFC 7636, S256 alone), and its ID tokens say when the person signed in.

    python -m tests.annotation.sign_in.oidc_server PORT
"""

import base64
import hashlib
import io
import sys
import time
from urllib.parse import parse_qs, urlsplit

import oidc_provider_mock
from oidc_provider_mock import _storage
from werkzeug.serving import make_server


class CodeChallenge:
    """Refuses a code without the verifier whose hash came with the request for it."""

    def __init__(self, app):
        self.app = app
        self.challenges = {}

    def __call__(self, environ, start_response):
        if environ["PATH_INFO"] == "/oauth2/token":
            body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
            environ["wsgi.input"] = io.BytesIO(body)
            sent = {name: values[0] for name, values in parse_qs(body.decode()).items()}
            digest = hashlib.sha256(sent.get("code_verifier", "").encode()).digest()
            challenge = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
            if self.challenges.get(sent.get("code")) != challenge:
                start_response("400 Bad Request", [("Content-Type", "application/json")])
                return [b'{"error": "invalid_grant", "error_description": "code_verifier"}']
        asked = {name: values[0] for name, values in parse_qs(environ["QUERY_STRING"]).items()}

        def respond(status, headers, exc_info=None):
            location = dict(headers).get("Location", "")
            code = parse_qs(urlsplit(location).query).get("code")
            if code and asked.get("code_challenge_method") == "S256":
                self.challenges[code[0]] = asked.get("code_challenge")
            return start_response(status, headers, exc_info)

        return self.app(environ, respond)


def main():
    _storage.AuthorizationCode.get_auth_time = lambda code: int(time.time())
    app = oidc_provider_mock.app(require_nonce=True)
    app.debug = False
    make_server("localhost", int(sys.argv[1]), CodeChallenge(app), threaded=True).serve_forever()


if __name__ == "__main__":
    main()
