"""Answer rankings from a Stack Exchange data dump, generated here."""

import gzip
import tracemalloc
from dataclasses import replace
from pathlib import Path
from xml.sax.saxutils import quoteattr

import pytest

from annotation.importers import HUMAN_RANK_EVAL, DatasetBundle, ImportFileError, read_stackexchange

VOTES = (30, 20, 10, 5)


def row(**attributes: object) -> str:
    return f"  <row {' '.join(f'{name}={quoteattr(str(value))}' for name, value in attributes.items())} />\n"


def question(
    number: int, *, title: str = "", body: str = "", tags: str = "|python|xml|", **more: object
) -> str:
    fields = {
        "Id": number,
        "PostTypeId": 1,
        "Score": 3,
        "Title": title or f"Question {number}?",
        "Body": body or f"<p>The body of <b>{number}</b>.</p>",
        "Tags": tags,
    }
    return row(**fields | more)


def answer(number: int, parent: int, votes: int, body: str = "") -> str:
    return row(
        Id=number,
        PostTypeId=2,
        ParentId=parent,
        Score=votes,
        Body=body or f"<p>Answer {number} with <code>x = {number}</code>.</p>",
    )


def asked(number: int, votes: tuple[int, ...] = VOTES, bodies: tuple[str, ...] = (), **fields: object) -> str:
    """A question and its answers, whose ids follow its own."""
    rows = [question(number, **fields)]  # type: ignore[arg-type]
    for place, score in enumerate(votes):
        rows.append(answer(number + 1 + place, number, score, bodies[place] if place < len(bodies) else ""))
    return "".join(rows)


def written(tmp_path: Path, *rows: str, name: str = "Posts.xml") -> Path:
    folder = tmp_path / "python.example.com"
    folder.mkdir(exist_ok=True)
    text = f'\ufeff<?xml version="1.0" encoding="utf-8"?>\n<posts>\n{"".join(rows)}</posts>\n'
    path = folder / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    return path


def questions(bundle: DatasetBundle) -> list[str]:
    return [item.external_id.rpartition("/")[2] for item in bundle.items]


def test_a_question_and_its_answers(tmp_path: Path) -> None:
    bundle = read_stackexchange(
        written(tmp_path, asked(10, (5, 30, 10, 20)), row(Id=99, PostTypeId=4, Body="wiki"))
    )
    (item,), (instruction,) = bundle.items, bundle.instructions
    assert (item.external_id, item.kind) == ("python.example.com/10", "answer_ranking")
    assert (instruction.text, instruction.category) == (
        "Question 10?\n\nThe body of **10**.",
        "python.example.com",
    )
    votes = {11: 5, 12: 30, 13: 10, 14: 20}
    order = item.metadata["answers"]
    assert sorted(order) == sorted(votes)
    assert item.metadata["votes"] == [votes[number] for number in order]
    ranks = {number: item.gold["ranks"][str(place)] for place, number in enumerate(order)}
    assert ranks == {11: 4, 12: 1, 13: 3, 14: 2}
    texts = {response.key: response.text for response in bundle.responses}
    assert [texts[key] for key in item.responses] == [f"Answer {n} with `x = {n}`." for n in order]
    assert item.origin.source == "Posts.xml:3"
    assert bundle.source == "stackexchange: Posts.xml of python.example.com"


@pytest.mark.parametrize("name", ["Posts.xml", "Posts.xml.gz"])
def test_a_folder_a_compressed_file_and_a_site_of_ones_own(tmp_path: Path, name: str) -> None:
    path = written(tmp_path, asked(10), name=name)
    assert read_stackexchange(path) == replace(read_stackexchange(path.parent))
    assert read_stackexchange(path, site="py").items[0].external_id == "py/10"


def test_the_best_answers_are_kept_and_need_not_stand_together(tmp_path: Path) -> None:
    rows = [
        answer(3, 20, 7),
        question(20),
        question(30),
        answer(31, 20, 9),
        answer(32, 20, -2),
        answer(33, 20, 40),
    ]
    rows += [answer(34, 20, 8), answer(35, 20, 6)]
    (item,) = read_stackexchange(written(tmp_path, *rows)).items
    assert sorted(item.metadata["answers"]) == [3, 31, 33, 34]


@pytest.mark.parametrize(
    ("votes", "taken"),
    [
        ((30, 20, 10, 5), True),
        ((30, 20, 10), False),  # three answers
        ((30, 20, 10, 4), False),  # four votes
        ((15, 11, 8, 5), False),  # 39 votes
        ((16, 11, 8, 5), True),
        ((30, 20, 20, 5), False),  # equal votes
        ((30, 20, 10, 6, 6), False),  # which is the fourth?
        ((30, 20, 10, 6, 5), True),
        ((30, 20, 10, 6, -4), True),
    ],
)
def test_the_criteria_of_votes(tmp_path: Path, votes: tuple[int, ...], taken: bool) -> None:
    rows = [asked(10, votes), asked(50)]
    assert questions(read_stackexchange(written(tmp_path, *rows))) == (["10", "50"] if taken else ["50"])


def test_lengths_are_those_of_the_text_and_4000_is_not_too_long(tmp_path: Path) -> None:
    def fits(**fields: object) -> bool:
        return "100" in questions(read_stackexchange(written(tmp_path, asked(10), asked(100, **fields))))  # type: ignore[arg-type]

    long = "x" * 4000
    assert fits(bodies=(f"<p>{long}</p>",))
    assert not fits(bodies=(f"<p>{long}x</p>",))
    assert fits(title="T", body=f"<p>{'x' * 3997}</p>")
    assert not fits(title="T", body=f"<p>{'x' * 3998}</p>")
    assert not fits(bodies=("<p><img src='picture'></p>",)), "nothing to read"
    assert not fits(bodies=(f"{'<b></b>' * 9000}short",)), "too much markup is not even converted"


def test_a_long_answer_leaves_the_question_out_and_moves_up_no_other(tmp_path: Path) -> None:
    rows = [asked(10), asked(100, (30, 20, 10, 6, 5), bodies=("x" * 4001,))]
    assert questions(read_stackexchange(written(tmp_path, *rows))) == ["10"]


@pytest.mark.parametrize(
    "other",
    [
        {"title": "question   10?", "body": "<p>The BODY of <b>10</b>.</p>"},
        {"bodies": ("<div>Answer 11 with <code>x = 11</code>.</div>",)},
        {"bodies": ("one answer", "<p>One  answer</p>")},
    ],
)
def test_duplicates_are_left_out_and_the_lowest_id_stays(tmp_path: Path, other: dict[str, object]) -> None:
    path = written(tmp_path, asked(100, **other), asked(10), asked(200))  # type: ignore[arg-type]
    assert questions(read_stackexchange(path)) == ["10", "200"]


def test_topics_are_tags_and_the_first_that_fits_is_the_category(tmp_path: Path) -> None:
    rows = [asked(10, tags="|xml|python|"), asked(20, tags="<xml><html>"), asked(30, tags="|java|")]
    bundle = read_stackexchange(written(tmp_path, *rows), topics=("python", "xml"))
    assert [instruction.category for instruction in bundle.instructions] == ["python", "xml"]


def test_n_questions_a_topic_with_a_seed(tmp_path: Path) -> None:
    rows = [asked(10 * number, tags="|a|" if number % 2 else "|b|") for number in range(1, 41)]
    path = written(tmp_path, *rows)

    def chosen(**options: int) -> set[str]:
        return set(questions(read_stackexchange(path, topics=("a", "b"), **options)))

    five = chosen(per_topic=5)
    assert sorted(int(number) // 10 % 2 for number in five) == [0] * 5 + [1] * 5
    assert five == chosen(per_topic=5, seed=0)
    assert five != chosen(per_topic=5, seed=1)
    assert five < chosen(per_topic=6), "more is the same and more"
    assert len(chosen()) == len(chosen(per_topic=100)) == 40


def test_the_criteria_are_options(tmp_path: Path) -> None:
    path = written(tmp_path, asked(10, (3, 2, 1)), asked(20, (3, 2)))
    criteria = replace(
        HUMAN_RANK_EVAL, min_answers=3, keep=2, min_votes=2, min_total_votes=5, max_characters=50
    )
    bundle = read_stackexchange(path, criteria=criteria)
    assert questions(bundle) == ["10"]
    assert sorted(bundle.items[0].metadata["votes"]) == [2, 3]


GOOD = asked(10)


@pytest.mark.parametrize(
    ("rows", "line", "field", "message"),
    [
        (GOOD + row(Id=1), 8, "PostTypeId", "missing or empty"),
        (GOOD + row(Id=1, PostTypeId="question"), 8, "PostTypeId", "found 'question'"),
        (GOOD + row(PostTypeId=1, Body="b"), 8, "Id", "missing or empty"),
        (GOOD + row(Id=1, PostTypeId=2, Score=1, Body="b"), 8, "ParentId", "missing or empty"),
        (GOOD + row(Id=1, PostTypeId=2, ParentId=3, Score="1.5", Body="b"), 8, "Score", "found '1.5'"),
        (GOOD + row(Id=1, PostTypeId=2, ParentId="9" * 30, Score=1), 8, "ParentId", "whole number"),
        (GOOD.replace("Body=", "Text="), 3, "Body", "missing or empty"),
        (GOOD.replace("Title=", "Text="), 3, "Title", "missing or empty"),
        (
            GOOD.replace('PostTypeId="1"', 'PostTypeId="5"', 1) + question(90),
            3,
            "PostTypeId",
            "where others have",
        ),
        (GOOD + GOOD.split("\n")[0], 8, "Id", "also in row 3"),
        ("  <post />\n", 3, None, "expected <row>, found '<post>'"),
        (GOOD + "  <row Id=12 />\n", 8, None, "expected XML; at column 11"),
        (GOOD + "<row>", 8, None, "mismatched tag"),
        (GOOD + '<row Body="&undefined;" />', 8, None, "undefined entity"),
    ],
)
def test_what_is_refused_names_file_row_and_field(
    tmp_path: Path, rows: str, line: int, field: str | None, message: str
) -> None:
    path = written(tmp_path, rows)
    with pytest.raises(ImportFileError, match=message) as refused:
        read_stackexchange(path)
    assert (refused.value.file, refused.value.row, refused.value.field) == (str(path), line, field)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("", "no questions"),
        (answer(1, 2, 30), "no questions"),
        (question(1) + question(2), "of 2 questions 0 have the answers and votes"),
        (asked(10, bodies=("x" * 5000,)), "of 1 questions 1 have the answers and votes"),
    ],
)
def test_a_file_with_nothing_to_take_says_why(tmp_path: Path, rows: str, message: str) -> None:
    with pytest.raises(ImportFileError, match=message):
        read_stackexchange(written(tmp_path, rows))


def test_files_that_are_none(tmp_path: Path) -> None:
    def message(path: Path, **options: str) -> str:
        with pytest.raises(ImportFileError) as refused:
            read_stackexchange(path, **options)  # type: ignore[arg-type]
        return str(refused.value)

    path = written(tmp_path, GOOD)
    assert "expected a folder with a file Posts.xml or Posts.xml.gz" in message(tmp_path)
    assert "there is none of this name" in message(tmp_path / "Posts.xml")
    assert "field site: expected a name" in message(path, site="a/b")
    for name, content, words in [
        ("Posts.7z", b"7z", "extract it from the archive first"),
        (
            "Users.xml",
            b"<users><row/></users>",
            "expected <posts>, as in a dump's Posts.xml, found '<users>'",
        ),
        ("Posts.xml.gz", b"no gzip", "cannot be read: Not a gzipped file"),
        ("Cut.xml.gz", gzip.compress(b"<posts>" * 999)[:-9], "cannot be read: Compressed file ended"),
        ("Cut.xml", path.read_bytes()[:700], "expected XML"),
        ("Empty.xml", b"", "the file is empty"),
        ("Text.xml", b"Hello", "expected XML"),
    ]:
        other = tmp_path / name
        other.write_bytes(content)
        assert words in message(other)


def bomb() -> str:
    """A few lines that stand for 3 * 10^9 characters."""
    lines = ["<!DOCTYPE posts [", '<!ENTITY lol0 "lol">']
    for level in range(1, 10):
        lines.append(f'<!ENTITY lol{level} "{f"&lol{level - 1};" * 10}">')
    return "\n".join([*lines, "]>", '<posts><row Body="&lol9;" /></posts>'])


@pytest.mark.parametrize(
    "text",
    [
        bomb(),
        '<!DOCTYPE posts [<!ENTITY x SYSTEM "file:///etc/passwd">]><posts><row Body="&x;" /></posts>',
        '<!DOCTYPE posts SYSTEM "http://127.0.0.1:9/x.dtd"><posts></posts>',
    ],
)
def test_entities_are_refused_before_they_grow_or_reach_out(tmp_path: Path, text: str) -> None:
    path = tmp_path / "Posts.xml"
    path.write_text(text)
    tracemalloc.start()
    try:
        with pytest.raises(ImportFileError, match="document type declaration"):
            read_stackexchange(path)
        assert tracemalloc.get_traced_memory()[1] < 4 * 2**20
    finally:
        tracemalloc.stop()


@pytest.mark.slow
def test_a_row_that_never_ends_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "Posts.xml"
    path.write_text(f'<posts><row Body="{"x" * 18 * 2**20}" /></posts>')
    with pytest.raises(ImportFileError, match="at most 16 MiB"):
        read_stackexchange(path)


@pytest.mark.slow
def test_memory_does_not_grow_with_the_dump(tmp_path: Path) -> None:
    path = tmp_path / "Posts.xml"
    filler = "<p>" + "Words that take some room. " * 15
    with path.open("w") as file:
        file.write("<posts>\n")
        for number in range(0, 8_000, 5):
            many = number % 25 == 0
            file.write(question(number + 1, body=f"{filler}{number}"))
            for place, votes in enumerate(VOTES):
                score = votes if many else place
                file.write(answer(number + 2 + place, number + 1, score, f"{filler}{number}, {place}"))
        file.write("</posts>\n")
    assert path.stat().st_size > 3_600_000
    told = []
    tracemalloc.start()
    try:
        bundle = read_stackexchange(path, per_topic=20, progress=lambda what, done: told.append((what, done)))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(bundle.items) == 20
    assert peak < 4.5 * 2**20
    assert told == []  # fewer than 100,000 rows
