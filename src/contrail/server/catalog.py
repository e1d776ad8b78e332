"""Every endpoint of our own API with its messages: the source of the OpenAPI document and the reference page.

A test compares this table with the routes that the server really has.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from contrail.wire import jobs, logs, ui

API = "/api/contrail/v1"
STREAM = "text/event-stream"
BYTES = "application/octet-stream"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One endpoint. `answer` is a message type, or a media type where the body is not JSON."""

    method: str
    path: str
    summary: str
    body: Any = None
    answer: Any = None
    query: tuple[str, ...] = ()
    audience: str = "user"  # user | agent

    @property
    def full_path(self) -> str:
        """Path from the server's root."""
        return API + self.path


_LOG_FILTER = ("attempt", "node", "q", "case", "regex", "level", "levels", "from_ms", "to_ms")
_AGENT = "/agent/attempts/{attempt_id}/nodes/{node}"


def _logs(base: str, what: str) -> tuple[Endpoint, ...]:
    return (
        Endpoint(
            "GET",
            f"{base}/logs",
            f"A page of log lines of {what}",
            answer=logs.LogPage,
            query=(*_LOG_FILTER, "after", "before", "around", "at_ms", "tail", "limit"),
        ),
        Endpoint(
            "GET",
            f"{base}/logs/follow",
            f"New log lines of {what} as they come",
            answer=STREAM,
            query=_LOG_FILTER,
        ),
        Endpoint(
            "GET",
            f"{base}/logs/stats",
            f"Totals per node and level of {what}",
            answer=logs.LogStats,
            query=(*_LOG_FILTER, "buckets"),
        ),
        Endpoint(
            "GET",
            f"{base}/logs/download",
            f"All matching lines of {what}, or its raw bytes",
            answer=BYTES,
            query=(*_LOG_FILTER, "raw"),
        ),
    )


ENDPOINTS: tuple[Endpoint, ...] = (
    Endpoint("GET", "/info", "Version, user and what this server offers", answer=ui.Info),
    # pages
    Endpoint(
        "GET",
        "/experiments",
        "Experiments with run counts, latest activity first",
        answer=ui.ExperimentsPage,
        query=("q", "view", "limit", "page_token"),
    ),
    Endpoint("POST", "/runs/query", "A page of the runs table", body=ui.RunsQuery, answer=ui.RunsPage),
    Endpoint("GET", "/runs/export.csv", "All matching runs as CSV", answer="text/csv", query=("q",)),
    Endpoint("GET", "/columns", "Keys that runs have", answer=ui.Columns, query=("experiment_id",)),
    Endpoint("POST", "/series", "Metric series for charts", body=ui.SeriesQuery, answer=ui.SeriesAnswer),
    Endpoint("GET", "/runs/{run_id}", "Everything the run page shows without charts", answer=ui.RunSummary),
    # job runs
    Endpoint("POST", "/job-runs", "Submit a workload", body=jobs.Submit, answer=jobs.Submitted),
    Endpoint(
        "GET",
        "/job-runs",
        "Job runs, newest first",
        answer=jobs.JobRunList,
        query=("state", "user", "experiment", "accelerator_type", "num_accelerators", "limit", "page_token"),
    ),
    Endpoint(
        "GET", "/job-runs/{job_run_id}", "One job run with its attempts and nodes", answer=jobs.JobRunDetail
    ),
    Endpoint("POST", "/job-runs/{job_run_id}/cancel", "Ask a job run to stop", answer=jobs.Cancelled),
    Endpoint(
        "POST",
        "/workloads/validate",
        "All problems of a workload YAML",
        body=jobs.Validate,
        answer=jobs.Validated,
    ),
    Endpoint("GET", "/code/{digest}", "A code archive", answer=BYTES),
    Endpoint(
        "PUT",
        "/code/{digest}",
        "Store a code archive under its SHA-256",
        body=BYTES,
        answer=jobs.CodeStored,
        query=("name",),
    ),
    # logs
    *_logs("/job-runs/{job_run_id}", "a job run"),
    *_logs("/runs/{run_id}", "the attempt behind a run"),
    # artifacts
    Endpoint(
        "GET",
        "/artifacts/raw",
        "An artifact for inline display, sandboxed",
        answer=BYTES,
        query=("run_id", "path"),
    ),
    Endpoint(
        "GET",
        "/artifacts/text",
        "A part of a text artifact",
        answer="text/plain",
        query=("run_id", "path", "offset", "limit"),
    ),
    Endpoint(
        "GET",
        "/artifacts/table",
        "First rows of a table artifact",
        answer=ui.TablePreview,
        query=("run_id", "path", "limit"),
    ),
    # agents
    Endpoint(
        "POST",
        f"{_AGENT}/heartbeat",
        "A node is alive",
        body=jobs.Heartbeat,
        answer=jobs.HeartbeatAnswer,
        audience="agent",
    ),
    Endpoint(
        "POST",
        f"{_AGENT}/logs",
        "Append log records",
        body=BYTES,
        answer=jobs.LogAppendAnswer,
        query=("offset",),
        audience="agent",
    ),
    Endpoint(
        "POST",
        f"{_AGENT}/relay",
        "Apply spooled writes in order",
        body=jobs.RelayBatch,
        answer=jobs.RelayAnswer,
        audience="agent",
    ),
)
