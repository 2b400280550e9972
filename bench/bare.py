"""The least that a submit with the next item costs: the same server in front of the same rows, and nothing else.

Its answer to a submit reads and changes what the site's does, in as few statements as can be, and sends a page of the
same length. It checks nothing: no session, no token, no rule of a study, no language, no template. What the site needs
beyond it is what all of these cost together.
"""

from __future__ import annotations

import gzip
import json
import os
import random
import re
import threading
from collections.abc import Callable, Iterable
from html import escape
from typing import Any

import django
import psycopg
from django.conf import settings

django.setup()

from config.front import Front  # noqa: E402  (needs the applications loaded)

PAGE = 9_000
"""Characters around the texts of an item on the site's own page."""
PERSON = """
    SELECT e.id, e.study_id, e.annotator_id, e.cursor, s.slug FROM annotation_enrollment e
    JOIN annotation_study s ON s.id = e.study_id WHERE e.resume_token = %s"""
ANSWERED = """
    WITH lease AS (
        UPDATE annotation_assignment a SET state = 'submitted', submitted_at = now() FROM annotation_studyitem s
        WHERE a.id = %(lease)s AND a.enrollment_id = %(person)s AND a.state = 'open' AND s.id = a.study_item_id
        RETURNING a.id, a.shown_order, s.id AS place, s.item_id,
            CASE %(choice)s::int WHEN 0 THEN 0 ELSE (a.shown_order ->> %(choice)s::int - 1)::int + 1 END AS choice),
    label AS (
        INSERT INTO annotation_label (item_id, annotator_id, study_id, assignment_id, role, kind, value, choice,
            shown_order, is_surplus, is_set_aside, comment, pasted_chars, source, guidelines_version, probability,
            active_ms, wall_ms, created_at)
        SELECT item_id, %(annotator)s, %(study)s, id, 'work', 'pairwise',
            jsonb_build_object('choice', choice), choice, shown_order, false, false, '', 0, '', 1, 1, 900,
            1000, now() FROM lease),
    place AS (
        UPDATE annotation_studyitem SET n_open = n_open - 1, n_accepted = n_accepted + 1
        FROM lease WHERE annotation_studyitem.id = lease.place)
    UPDATE annotation_enrollment SET n_accepted = n_accepted + 1 FROM lease
    WHERE annotation_enrollment.id = %(person)s"""
TAKEN = """
    UPDATE annotation_studyitem SET n_open = n_open + 1 WHERE id = (
        SELECT id FROM annotation_studyitem s
        WHERE study_id = %(study)s AND overlap > n_open + n_accepted AND withdrawn_at IS NULL AND position > %(cursor)s
        ORDER BY position LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED)
    RETURNING id, item_id, position"""
LEASED = """
    WITH person AS (
        UPDATE annotation_enrollment SET n_claimed = n_claimed + 1, cursor = %(cursor)s WHERE id = %(person)s)
    INSERT INTO annotation_assignment (study_item_id, enrollment_id, role, state, shown_order, ahead, leased_at,
        expires_at, release_reason)
    VALUES (%(place)s, %(person)s, 'work', 'open', %(order)s, 0, now(), now() + interval '1 hour', '') RETURNING id"""
TEXTS = """
    SELECT r.text, i.text FROM annotation_itemresponse x JOIN annotation_response r ON r.id = x.response_id
    JOIN annotation_instruction i ON i.id = r.instruction_id WHERE x.item_id = %s ORDER BY x.position"""
_LEASE = re.compile(r"/work/(\d+)/$")
_local = threading.local()


def _connection() -> psycopg.Connection[Any]:
    if not hasattr(_local, "connection"):
        url = os.environ["DATABASE_URL"]
        _local.connection = psycopg.connect(url, autocommit=True, prepare_threshold=0)
    return _local.connection  # type: ignore[no-any-return]


def bare(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    """Answer as a WSGI application: a personal link opens the page, a POST submits and brings the next item."""
    path = environ["PATH_INFO"]
    if path.startswith(settings.STATIC_URL):
        start_response("404 Not Found", [("content-length", "0")])
        return []
    headers = [("content-type", "text/html"), ("content-encoding", "gzip")]
    token = environ.get("HTTP_COOKIE", "").partition("person=")[2]
    if environ["REQUEST_METHOD"] == "GET":
        token = path.rstrip("/").rpartition("/")[2]
        headers.append(("set-cookie", f"person={token}"))
    connection = _connection()
    with connection.transaction():
        html = _next(connection, token, path, environ["wsgi.input"].read())
    start_response("200 OK", headers)
    body = gzip.compress(html.encode(), compresslevel=6)
    headers.append(("content-length", str(len(body))))
    return [body]


def _next(connection: psycopg.Connection[Any], token: str, path: str, form: bytes) -> str:
    (row,) = connection.execute(PERSON, (token,)).fetchall()
    person, study, annotator, cursor, slug = row
    if found := _LEASE.search(path):
        choice = int(re.search(rb"choice=(\d)", form)[1])  # type: ignore[index]
        given = {
            "lease": int(found[1]),
            "person": person,
            "annotator": annotator,
            "study": study,
            "choice": choice,
        }
        connection.execute(ANSWERED, given)
    taken = connection.execute(TAKEN, {"study": study, "cursor": -1 if cursor is None else cursor}).fetchone()
    if taken is None:
        return "nothing"
    place, item, position = taken
    order = json.dumps(random.sample((0, 1), 2))
    given = {"person": person, "cursor": position, "place": place, "order": order}
    (lease,) = connection.execute(LEASED, given).fetchall()[0]
    texts = connection.execute(TEXTS, (item,)).fetchall()
    shown = "".join(f"<p>{escape(text)}</p>" for text in (texts[0][1], *(text for text, _ in texts)))
    return f'<form action="/s/{slug}/work/{lease}/">{shown}{_FILLING}</form>'


_FILLING = "".join(random.Random(1).choices("abcdefghijklmnopqrstuvwxyz <>=", k=PAGE // 4)) * 4
application = Front(bare, threads=settings.WEB_THREADS, body_seconds=settings.WEB_BODY_SECONDS)
"""Entry point of granian, as `config.rsgi` is the site's."""
