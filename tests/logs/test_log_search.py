from __future__ import annotations

import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from contrail.logs import Cursor, LogFilter
from contrail.model.errors import InvalidParameterValue
from contrail.model.logs import Level

MS = 1_000_000


def test_search_finds_parts_of_lines_in_any_case(bench):
    """By default a search is a part of the line without regard to case; `case` makes it exact."""
    attempt = bench.attempt()
    bench.write(attempt, "Loss 1\nloss 2\nother\n손실 값\n")
    assert bench.texts(attempt, LogFilter(text="LOSS")) == ["Loss 1", "loss 2"]
    assert bench.texts(attempt, LogFilter(text="Loss", case=True)) == ["Loss 1"]
    assert bench.texts(attempt, LogFilter(text="손실")) == ["손실 값"]
    assert bench.texts(attempt, LogFilter(text="l.ss")) == []


def test_patterns_match_within_one_line(bench):
    """A pattern never runs across lines, and its anchors mean the line's ends."""
    attempt = bench.attempt()
    bench.write(attempt, "one\ntwo three\nfour\n")
    assert bench.texts(attempt, LogFilter(text="^t.*e$", regex=True)) == ["two three"]
    assert bench.texts(attempt, LogFilter(text=r"[^x]+four", regex=True)) == []
    assert bench.texts(attempt, LogFilter(text=r"\Afour\z", regex=True)) == ["four"]
    assert bench.texts(attempt, LogFilter(text=r"e\s+t", regex=True)) == []
    assert bench.texts(attempt, LogFilter(text="", regex=True)) == ["one", "two three", "four"]


def test_a_bad_pattern_says_why(bench):
    """The error carries RE2's reason, also when there is no line to search in."""
    attempt = bench.attempt()
    with pytest.raises(InvalidParameterValue, match=r"missing.*\(a"):
        bench.lines(attempt, LogFilter(text="(a", regex=True))
    with pytest.raises(InvalidParameterValue, match="invalid perl operator"):
        bench.lines(attempt, LogFilter(text="(?=a)", regex=True))


def test_search_looks_at_clean_text_and_shows_colours(bench):
    """Colour inside a word does not hide it from a search, and the line comes with its colours."""
    attempt = bench.attempt()
    bench.write(attempt, "a \x1b[31mnee\x1b[1mdle\x1b[0m b\nplain\n  1%|x\r 99%|y\n")
    assert bench.texts(attempt, LogFilter(text="needle b")) == ["a \x1b[31mnee\x1b[1mdle\x1b[0m b"]
    assert bench.texts(attempt, LogFilter(text="31m")) == []
    assert bench.texts(attempt, LogFilter(text="1%")) == []
    assert bench.texts(attempt, LogFilter(text="99%")) == [" 99%|y"]


def test_node_level_and_time_combine(bench):
    """Filters narrow together and the counts are exact."""
    attempt = bench.attempt(2)
    for n in range(60):
        word = "ERROR" if n % 10 == 0 else "WARNING" if n % 5 == 0 else "INFO"
        bench.write(attempt, f"{word}:root:line {n}\n", node=n % 2, time_ns=n * MS)
    errors = frozenset({Level.ERROR})
    assert len(bench.lines(attempt, LogFilter(levels=errors))) == 6
    assert bench.lines(attempt, LogFilter(levels=errors, node=1)) == []
    some = LogFilter(
        levels=frozenset({Level.WARNING, Level.ERROR}), from_ns=5 * MS, to_ns=20 * MS, text="line"
    )
    assert [line.seq * 2 + line.node for line in bench.lines(attempt, some)] == [5, 10, 15, 20]
    stats = bench.logs.stats(bench.logs.of_attempt(attempt), LogFilter(levels=errors), buckets=6)
    assert (stats.lines, [bucket[2] for bucket in stats.buckets]) == (6, [1] * 6)
    whole = bench.logs.stats(bench.logs.of_attempt(attempt), buckets=3)
    assert (whole.lines, sum(map(sum, whole.buckets))) == (60, 60)
    assert [(node.infos, node.warnings, node.errors) for node in whole.nodes] == [(24, 0, 6), (24, 6, 0)]
    assert bench.logs.stats(bench.logs.of_attempt(attempt), LogFilter(text="line 1")).lines == 11


def test_nodes_are_merged_by_time(bench):
    """Without a node, lines of all nodes come in order of time; a late node is not jumped over when following."""
    attempt = bench.attempt(2)
    bench.write(attempt, "a1\n", node=0, time_ns=1)
    bench.write(attempt, "b3\n", node=1, time_ns=3)
    bench.write(attempt, "a4\n", node=0, time_ns=4)
    page = bench.page(attempt)
    assert [line.text for line in page.lines] == ["a1", "b3", "a4"]
    bench.write(attempt, "b2 late\n", node=1, time_ns=2)
    assert bench.texts(attempt, after=Cursor.parse(page.next)) == ["b2 late"]


def test_an_open_line_is_shown_and_comes_again(bench):
    """A line without its end is shown as open under its number; the next page has it again, ended."""
    attempt = bench.attempt()
    bench.write(attempt, "done\n 10%|#")
    page = bench.page(attempt)
    assert [(line.seq, line.text, line.open) for line in page.lines] == [
        (0, "done", False),
        (1, " 10%|#", True),
    ]
    bench.write(attempt, "\r 20%|##")
    again = bench.page(attempt, after=Cursor.parse(page.next))
    assert [(line.seq, line.text, line.open) for line in again.lines] == [(1, " 20%|##", True)]
    bench.write(attempt, "\r100%|##########\n")
    last = bench.page(attempt, after=Cursor.parse(again.next))
    assert [(line.seq, line.text, line.open) for line in last.lines] == [(1, "100%|##########", False)]


def test_the_last_line_needs_no_newline(bench):
    """What was written at the moment of death is a whole line once the attempt has ended."""
    attempt = bench.attempt()
    bench.write(attempt, "Segmentation fault (core dumped)")
    bench.end(attempt)
    assert [(line.text, line.level, line.open) for line in bench.lines(attempt)] == [
        ("Segmentation fault (core dumped)", "error", False)
    ]


@pytest.mark.parametrize("chunk", [1000, 1024 * 1024])
def test_a_line_of_five_megabytes(make_bench, chunk):
    """A very long line is one line: cut in views with its full length, found by what stands at its end, raw kept."""
    bench = make_bench(log_chunk_bytes=max(chunk, 300_000))
    attempt = bench.attempt()
    line = b"start " + "한".encode() * 1_700_000 + b" needle-at-end"
    bench.write(attempt, b"before\n")
    for at in range(0, len(line), 400_000):
        bench.write(attempt, line[at : at + 400_000])
    bench.write(attempt, b"\nafter\n")
    [_, long, after] = bench.lines(attempt)
    assert long.truncated == len(line)
    assert long.text == "start " + "한" * ((256 * 1024 - 6) // 3)
    assert after.text == "after"
    assert [found.seq for found in bench.lines(attempt, LogFilter(text="needle-at-end"))] == [1]
    assert bench.raw(attempt) == b"before\n" + line + b"\nafter\n"
    assert (
        b"".join(bench.logs.download(bench.logs.of_attempt(attempt), LogFilter(text="needle")))
        == line + b"\n"
    )


def test_bytes_that_are_not_utf8_are_replaced_only_in_views(bench):
    """A view shows a replacement character; both downloads have the byte."""
    attempt = bench.attempt()
    bench.write(attempt, b"caf\xe9 needle\nnul \x00\n")
    assert bench.texts(attempt) == ["caf\ufffd needle", "nul \x00"]
    assert (
        b"".join(bench.logs.download(bench.logs.of_attempt(attempt), LogFilter(text="needle")))
        == b"caf\xe9 needle\n"
    )


def test_a_search_stops_at_its_deadline_and_goes_on(make_bench):
    """A search that takes too long says how far it came; its cursor goes on from there and finds the rest."""
    bench = make_bench(log_chunk_bytes=1000, log_search_max_s=0)
    attempt = bench.attempt()
    for n in range(300):
        bench.write(attempt, f"line {n}{' needle' if n == 290 else ''}\n", time_ns=n * MS)
    page = bench.page(attempt, LogFilter(text="needle"))
    assert (page.lines, page.eof) == ([], False)
    assert page.scanned_to_ns is not None
    rounds = 0
    while not page.lines:
        page = bench.page(attempt, LogFilter(text="needle"), after=Cursor.parse(page.next))
        rounds += 1
    assert [line.seq for line in page.lines] == [290]
    assert rounds > 1


def test_a_page_can_begin_at_a_time_or_around_a_line(bench):
    """Moving to a time or a line shows its surroundings, and both directions go on from there."""
    attempt = bench.attempt(2)
    for n in range(100):
        bench.write(attempt, f"line {n}\n", node=n % 2, time_ns=n * MS)
    at = bench.page(attempt, at_ns=50 * MS, limit=3)
    assert [line.text for line in at.lines] == ["line 50", "line 51", "line 52"]
    assert bench.texts(attempt, before=Cursor.parse(at.prev), limit=2) == ["line 48", "line 49"]
    around = bench.page(attempt, around=(1, 20), limit=4)
    assert [line.text for line in around.lines] == ["line 39", "line 40", "line 41", "line 42"]
    assert bench.texts(attempt, before=Cursor.parse(around.prev), limit=1) == ["line 38"]
    assert bench.texts(attempt, after=Cursor.parse(around.next), limit=1) == ["line 43"]
    assert [line.text for line in bench.page(attempt, around=(0, 10**9), limit=4).lines][-1] == "line 99"
    assert bench.texts(attempt, at_ns=10**18) == []


def test_empty_pages_say_why(bench):
    """Not started, no output and no match are different sentences."""
    attempt = bench.attempt()
    assert bench.page(attempt).empty_reason == "no_output"
    bench.write(attempt, "x\n")
    assert bench.page(attempt).empty_reason is None
    assert bench.page(attempt, LogFilter(text="y")).empty_reason == "no_match"


@pytest.mark.parametrize("text", ["", "x", "1", "1.2.3", "a.b", "1.-2", "-", "1.2-", "²", "1" * 100 + ".1"])
def test_a_cursor_that_was_not_ours_is_refused(text):
    """Anything but a cursor of an earlier page is an error of the caller."""
    with pytest.raises(InvalidParameterValue, match="cursor"):
        Cursor.parse(text)


def test_a_cursor_from_far_away_is_harmless(bench):
    """A well-formed cursor beyond the end, or of a node that does not exist, gives an empty page."""
    attempt = bench.attempt()
    bench.write(attempt, "x\n")
    assert bench.texts(attempt, after=Cursor.parse("0.999999-77.3")) == []


LINES = st.lists(st.text("abAB .", max_size=6), min_size=1, max_size=40)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=40)
@given(lines=LINES, needle=st.text("abAB .", min_size=1, max_size=3), case=st.booleans())
def test_search_equals_a_loop_over_lines(bench, lines, needle, case):
    """Over many chunks a search finds exactly the lines that a plain loop finds, and download equals the pages."""
    attempt = bench.attempt()
    bench.write(attempt, "".join(line + "\n" for line in lines))

    def hit(line: str) -> bool:
        return needle in line if case else needle.lower() in line.lower()

    wanted = LogFilter(text=needle, case=case)
    expected = [line for line in lines if hit(line)]
    assert bench.texts(attempt, wanted) == expected
    pattern = LogFilter(text=re.escape(needle).replace("\\ ", " "), regex=True, case=case)
    assert bench.texts(attempt, pattern) == expected
    downloaded = b"".join(bench.logs.download(bench.logs.of_attempt(attempt), wanted))
    assert downloaded == "".join(line + "\n" for line in expected).encode()
