from __future__ import annotations

import json
import threading
from collections.abc import Iterator

import httpx
import pytest

from contrail.server.routes import logs as log_routes


class Follower:
    """Reads one event stream; `lines` is what a viewer would show: the newest state under each (node, number)."""

    def __init__(self, url: str, last_id: str | None = None, **params: str):
        self.headers = {"last-event-id": last_id} if last_id else {}
        self.url, self.params = url, params
        self.shown: dict[tuple[int, int], str] = {}
        self.closed_twice: list[tuple[int, int]] = []
        self.last_id: str | None = last_id
        self.ended = False
        self.comments = 0

    def events(self) -> Iterator[tuple[str, str]]:
        with (
            httpx.Client(timeout=30) as client,
            client.stream("GET", self.url, params=self.params, headers=self.headers) as answer,
        ):
            assert answer.status_code == 200
            assert answer.headers["content-type"].startswith("text/event-stream")
            kind, data = "", ""
            for line in answer.iter_lines():
                if line.startswith("event: "):
                    kind = line[7:]
                elif line.startswith("id: "):
                    self.last_id = line[4:]
                elif line.startswith("data: "):
                    data = line[6:]
                elif line.startswith(":"):
                    self.comments += 1
                    yield "comment", ""
                elif not line and kind:
                    self.take(kind, data)
                    yield kind, data
                    kind, data = "", ""

    def take(self, kind: str, data: str) -> None:
        self.ended = kind == "end"
        for line in json.loads(data).get("lines", []):
            key = (line["node"], line["seq"])
            if not line.get("open") and key in self.shown and self.shown[key][0] == "=":
                self.closed_twice.append(key)
            self.shown[key] = ("~" if line.get("open") else "=") + line["text"]


def test_a_follower_gets_every_line_once_until_the_end(bench, http):
    """Output written while someone follows arrives without gap or repeat, and the stream ends with the attempt."""
    attempt = bench.attempt(2)
    bench.write(attempt, "before\n")
    follower = Follower(f"{http}/job-runs/{attempt}/logs/follow")

    def work() -> None:
        for n in range(100):
            bench.write(attempt, f"line {n}\n", node=n % 2, time_ns=n)
        bench.end(attempt)

    writer = threading.Thread(target=work)
    for kind, _ in follower.events():
        if kind == "lines" and not writer.ident:
            writer.start()
    writer.join()
    assert follower.ended
    assert follower.closed_twice == []
    assert sorted(follower.shown.values()) == sorted(["=before", *(f"=line {n}" for n in range(100))])


def test_a_broken_stream_goes_on_where_it_was(bench, http):
    """Reconnecting with the last event's id, also after a restart, continues without gap or repeat."""
    attempt = bench.attempt()
    bench.write(attempt, "".join(f"line {n}\n" for n in range(10)))
    first = Follower(f"{http}/job-runs/{attempt}/logs/follow")
    for kind, _ in first.events():
        if kind == "lines":
            break
    bench.write(attempt, "line 10\n")
    bench.end(attempt)
    second = Follower(first.url, first.last_id)
    second.shown = first.shown
    assert [kind for kind, _ in second.events()] == ["lines", "end"]
    assert second.closed_twice == []
    assert list(second.shown.values()) == [f"=line {n}" for n in range(11)]


def test_a_progress_bar_is_one_line_that_changes(bench, http):
    """While a bar runs its line is sent again as open; once it has ended it comes for the last time."""
    attempt = bench.attempt()
    bench.write(attempt, "\r 1%")
    follower, states = Follower(f"{http}/job-runs/{attempt}/logs/follow"), []
    for kind, _ in follower.events():
        if kind != "lines":
            continue
        states.append(follower.shown[0, 0])
        if len(states) == 1:
            bench.write(attempt, "\r 50%")
        elif len(states) == 2:
            bench.write(attempt, "\r100%\n")
            bench.end(attempt)
    assert states == ["~ 1%", "~ 50%", "=100%"]


def test_a_quiet_stream_stays_alive(bench, http, monkeypatch):
    """A stream with nothing to say sends a comment now and then, so that proxies keep it open."""
    monkeypatch.setattr(log_routes, "HEARTBEAT_S", 0.1)
    monkeypatch.setattr(log_routes, "RECHECK_S", 0.1)
    follower = Follower(f"{http}/job-runs/{bench.attempt()}/logs/follow")
    for kind, _ in follower.events():
        if kind == "comment":
            break
    assert follower.comments == 1


def test_filters_apply_to_all_log_routes(bench, http):
    """Page, totals, download and stream take the same filter and agree."""
    attempt = bench.attempt(2, run_id="r" * 32)
    bench.write(attempt, "INFO:a:one\nERROR:a:two needle\n", node=0, time_ns=5_000_000)
    bench.write(attempt, "ERROR:a:three\nWARNING:a:needle\n", node=1, time_ns=6_000_000)
    bench.end(attempt)
    for base in (f"{http}/job-runs/{attempt}/logs", f"{http}/runs/{'r' * 32}/logs"):
        wanted = {"q": "NEEDLE", "level": "warning"}
        assert [line["text"] for line in httpx.get(base, params=wanted).json()["lines"]] == [
            "ERROR:a:two needle",
            "WARNING:a:needle",
        ]
        assert httpx.get(f"{base}/stats", params=wanted).json()["lines"] == 2
        assert httpx.get(f"{base}/download", params=wanted).text == (
            "[node 0] ERROR:a:two needle\n[node 1] WARNING:a:needle\n"
        )
        assert httpx.get(f"{base}/download", params={**wanted, "node": "1"}).text == "WARNING:a:needle\n"
        follower = Follower(f"{base}/follow", **wanted)
        assert [kind for kind, _ in follower.events()] == ["lines", "end"]
        assert list(follower.shown.values()) == ["=ERROR:a:two needle", "=WARNING:a:needle"]
        assert len(httpx.get(base, params={"levels": "info,warning"}).json()["lines"]) == 2
        assert len(httpx.get(base, params={"from_ms": "6", "to_ms": "6"}).json()["lines"]) == 2


def test_the_raw_download_is_byte_identical(bench, http):
    """Raw gives one node's bytes as they were written, with a name to save under."""
    attempt = bench.attempt(2)
    data = b"\x00\xff\r\n\x1b[1m" * 100 + b"end without newline"
    bench.write(attempt, data, node=1)
    answer = httpx.get(f"{http}/job-runs/{attempt}/logs/download", params={"raw": "1", "node": "1"})
    assert answer.content == data
    assert (
        answer.headers["content-disposition"] == f'attachment; filename="job-{attempt}-attempt-1-node-1.log"'
    )
    assert httpx.get(f"{http}/job-runs/{attempt}/logs/download", params={"raw": "1"}).status_code == 400


BAD_QUERIES = [
    "q=(&regex=1",
    "regex=maybe",
    "level=loud",
    "levels=info,loud",
    "node=x",
    "node=-1",
    "node=5",
    "node=99999999999999999999",
    "attempt=7",
    "attempt=x",
    "after=abc",
    "before=0.x",
    "around=1",
    "around=9:1",
    "from_ms=tomorrow",
    "to_ms=99999999999999999",
    "tail=-1",
    "limit=1e3",
    "lines=5",
    "q=" + "x" * 5000,
    "node=" + "9" * 5000,
]


def test_bad_parameters_are_refused_by_name(bench, http):
    """Every parameter that cannot be meant is a 4xx with a sentence, in all forms of the log."""
    attempt = bench.attempt()
    bench.write(attempt, "x\n")
    with httpx.Client() as client:
        for query in BAD_QUERIES:
            for ending in ("", "/follow", "/stats", "/download"):
                answer = client.get(f"{http}/job-runs/{attempt}/logs{ending}?{query}")
                assert answer.status_code in (400, 404), (query, ending, answer.text)
                assert answer.json()["message"]


@pytest.mark.parametrize(
    "path", ["job-runs/999/logs", "job-runs/x/logs", "job-runs/²/logs", "runs/none/logs"]
)
def test_logs_of_nothing_are_refused(http, path):
    """An unknown job run or run is a 4xx, not an empty log."""
    assert httpx.get(f"{http}/{path}").status_code in (400, 404)


def test_a_server_that_goes_down_lets_its_followers_go(bench, http):
    """Closing ends open streams without `end`, so that clients come back later and the server stops at once."""
    follower = Follower(f"{http}/job-runs/{bench.attempt()}/logs/follow")
    for kind, _ in follower.events():
        if kind == "lines":
            bench.logs.close()
    assert not follower.ended
