from __future__ import annotations

import pytest
from sqlalchemy import func, select

from contrail.logs import LogFilter
from contrail.store.tables import log_chunks, log_tail

DAY_S = 24 * 3600


def blobs(bench) -> list[str]:
    return [p.name for p in bench.settings.data_path.glob("blobs/logs/**/*") if p.is_file()]


def rows(bench) -> int:
    with bench.database.read() as c:
        return sum(
            c.execute(select(func.count()).select_from(table)).scalar() for table in (log_chunks, log_tail)
        )


def test_logs_expire_when_their_job_is_long_over(bench):
    """After the days of the setting the log is gone, its space is free, and the page says so."""
    attempt = bench.attempt()
    bench.write(attempt, "x" * 150 + "\nyy\n")
    bench.end(attempt)
    assert bench.logs.remove_expired(now_ms=int((bench.now_s + 59 * DAY_S) * 1000)) == 0
    assert bench.logs.remove_expired(now_ms=int((bench.now_s + 61 * DAY_S) * 1000)) == 1
    assert (blobs(bench), rows(bench)) == ([], 0)
    page = bench.page(attempt, LogFilter(text="x"))
    assert (page.lines, page.empty_reason, page.ended) == ([], "expired", True)
    assert page.message == "Logs are kept for 60 days; these were removed on 2024-01-14."
    assert bench.raw(attempt) == b""
    assert bench.logs.remove_expired(now_ms=int((bench.now_s + 62 * DAY_S) * 1000)) == 0


def test_a_running_jobs_log_never_expires(bench):
    """However old it is, a log stays while its job runs."""
    attempt = bench.attempt()
    bench.write(attempt, "x\n")
    assert bench.logs.remove_expired(now_ms=int((bench.now_s + 1000 * DAY_S) * 1000)) == 0
    assert bench.texts(attempt) == ["x"]


def test_a_removal_that_was_broken_off_is_finished(bench, monkeypatch):
    """If the server dies while it removes a log, the next call frees the rest."""
    attempt = bench.attempt()
    bench.write(attempt, "x" * 150 + "\n")
    bench.end(attempt)

    def fail(path: str) -> None:
        raise OSError("killed here")

    with monkeypatch.context() as patch:
        patch.setattr(bench.logs._blobs, "delete", fail)
        with pytest.raises(OSError, match="killed"):
            bench.logs.remove_expired(now_ms=int((bench.now_s + 61 * DAY_S) * 1000))
    assert bench.page(attempt).empty_reason == "expired"
    bench.reopen()
    assert bench.logs.remove_expired(now_ms=int((bench.now_s + 61 * DAY_S) * 1000)) == 1
    assert (blobs(bench), rows(bench)) == ([], 0)
