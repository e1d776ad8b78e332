"""A job run from its submission to its end, with agents played by the test."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from contrail.engines.base import Condition, Gpu, NodeState
from contrail.jobs import JobRunFilter
from contrail.model.errors import InvalidParameterValue, ResourceDoesNotExist
from contrail.model.jobs import Cause, NodeExit
from contrail.wire.jobs import Submit


def test_a_job_run_goes_from_the_queue_to_success(place, workload) -> None:
    """QUEUED, PENDING, RUNNING, TERMINATED: each step shows in the job run, in its attempt and in its run."""
    job_run_id = place.submit()
    assert place.job(job_run_id).state == "QUEUED"
    place.step()
    job = place.job(job_run_id)
    assert (job.state, job.attempts[0].state, place.run_status(job.run_id)) == (
        "PENDING",
        "PENDING",
        "RUNNING",
    )
    attempt = job.attempts[0].attempt_id
    place.says(attempt, state="PENDING", status_message="preparing environment")
    assert place.job(job_run_id).message == "preparing environment"
    place.says(attempt, started_ms=1_800_000_000_500, host="here")
    assert place.job(job_run_id).state == "RUNNING"
    place.clock.advance(9)
    place.exits(attempt)
    place.step()
    job = place.job(job_run_id)
    assert (job.status, job.message, job.attempts[0].exit_code) == ("SUCCESS", "exit code 0", 0)
    assert job.started_ms == 1_800_000_000_500
    run = place.tracking.runs.get(job.run_id).info
    assert (run.status.name, run.end_ms) == ("FINISHED", job.attempts[0].ended_ms)


def test_each_attempt_gets_a_run_that_names_its_job_run(place, workload) -> None:
    """The tags of a run lead back to its job run and attempt."""
    job_run_id = place.submit(user="ada", provenance={"commit": "abc123"})
    place.step()
    run = place.tracking.runs.get(place.job(job_run_id).run_id)
    tags = {tag.key: tag.value for tag in run.tags}
    assert tags["contrail.job_run_id"] == str(job_run_id)
    assert tags["contrail.attempt_number"] == "0"
    assert tags["mlflow.user"] == tags["contrail.user"] == "ada"
    assert (tags["mlflow.source.type"], tags["mlflow.source.git.commit"]) == ("JOB", "abc123")


def test_a_failure_is_retried_until_it_works(place, workload) -> None:
    """Exit codes 17, 17, 0 with two retries: three attempts, three runs, FAILED, FAILED, FINISHED."""
    job_run_id = place.submit(workload(retries=2))
    for code in (17, 17, 0):
        place.step()
        attempt = place.job(job_run_id).attempts[-1].attempt_id
        place.says(attempt)
        place.exits(attempt, code=code)
        place.step()
        place.clock.advance(60)
    job = place.job(job_run_id)
    assert job.status == "SUCCESS"
    assert [attempt.number for attempt in job.attempts] == [0, 1, 2]
    assert [place.run_status(attempt.run_id) for attempt in job.attempts] == ["FAILED", "FAILED", "FINISHED"]
    assert len({attempt.run_id for attempt in job.attempts}) == 3


def test_the_pause_before_a_retry_is_said(place, workload) -> None:
    """While it waits for its retry a job run says why and how long, and the pause doubles."""
    job_run_id = place.submit(workload(retries=2))
    for number, pause in ((1, "5"), (2, "10")):
        place.step()
        attempt = place.job(job_run_id).attempts[-1].attempt_id
        place.exits(attempt, code=17)
        place.step()
        job = place.job(job_run_id)
        assert job.state == "WAITING_FOR_RETRY"
        assert job.message == f"attempt {number} failed: exit code 17; next in {pause} s"
        place.clock.advance(float(pause) - 0.1)
        place.step()
        assert place.job(job_run_id).state == "WAITING_FOR_RETRY"
        place.clock.advance(0.2)
        place.step()
    assert place.job(job_run_id).state == "PENDING"


def test_no_retries_means_exactly_one_attempt(place, workload) -> None:
    """`max_retries: 0` is one attempt, whatever happens."""
    job_run_id = place.submit(workload(retries=0))
    place.step()
    place.exits(place.job(job_run_id).attempts[0].attempt_id, code=17)
    for _ in range(3):
        place.step()
        place.clock.advance(600)
    job = place.job(job_run_id)
    assert (job.status, len(job.attempts), job.message) == ("FAILED", 1, "exit code 17")


def test_a_timeout_is_a_result_of_its_own_and_is_retried(place, workload) -> None:
    """TIMEDOUT, with the run FAILED; with retries left another attempt follows."""
    job_run_id = place.submit(workload(retries=1))
    for _ in range(2):
        place.step()
        attempt = place.job(job_run_id).attempts[-1].attempt_id
        place.exits(attempt, code=143, cause=Cause.TIMED_OUT)
        place.step()
        place.clock.advance(60)
    job = place.job(job_run_id)
    assert (job.status, [a.result for a in job.attempts]) == ("TIMEDOUT", ["TIMEDOUT", "TIMEDOUT"])
    assert place.run_status(job.run_id) == "FAILED"


def test_the_server_stops_what_its_agent_does_not_time_out(place, workload) -> None:
    """Half a minute after a timeout that no agent enforced, the server does."""
    job_run_id = place.submit(workload(more="timeout_minutes: 1\n"))
    place.step()
    attempt = place.job(job_run_id).attempts[0].attempt_id
    place.says(attempt, started_ms=int(place.clock() * 1000))
    place.clock.advance(60 + 30 + 10 + 1)
    place.step()
    assert place.says(attempt).stop_cause == "timed_out"
    place.exits(attempt, code=143, cause=Cause.TIMED_OUT)
    place.step()
    assert place.job(job_run_id).status == "TIMEDOUT"


# ---------------------------------------------------------------- several nodes


def test_the_first_node_that_fails_decides_and_stops_the_others(place, workload) -> None:
    """Its exit code and number are the attempt's; the others are stopped as its peers."""
    job_run_id = place.submit(workload(nodes=3))
    place.step()
    attempt = place.job(job_run_id).attempts[0].attempt_id
    for node in range(3):
        place.says(attempt, node)
    place.exits(attempt, 1, code=17)
    place.step()
    assert place.job(job_run_id).state == "TERMINATING"
    assert place.says(attempt, 0).stop_cause == "peer_failed"
    place.clock.advance(1)
    place.exits(attempt, 0, code=143, cause=Cause.PEER_FAILED)
    place.exits(attempt, 2, code=1)
    place.step()
    job = place.job(job_run_id)
    assert (job.status, job.message) == ("FAILED", "node 1: exit code 17")
    assert (job.attempts[0].failed_node, job.attempts[0].exit_code) == (1, 17)


def test_a_node_may_end_well_before_the_others(place, workload) -> None:
    """Exit code 0 on one node stops nobody."""
    job_run_id = place.submit(workload(nodes=2))
    place.step()
    attempt = place.job(job_run_id).attempts[0].attempt_id
    place.says(attempt, 0)
    place.exits(attempt, 0)
    place.says(attempt, 1)
    place.step()
    assert place.job(job_run_id).state == "RUNNING"
    place.exits(attempt, 1)
    place.step()
    assert place.job(job_run_id).status == "SUCCESS"


def test_an_attempt_runs_when_every_node_runs(place, workload) -> None:
    """One node that still prepares keeps the attempt PENDING."""
    job_run_id = place.submit(workload(nodes=2))
    place.step()
    attempt = place.job(job_run_id).attempts[0].attempt_id
    place.says(attempt, 0)
    assert place.job(job_run_id).state == "PENDING"
    place.says(attempt, 1)
    assert place.job(job_run_id).state == "RUNNING"


# ---------------------------------------------------------------- lost agents


def test_a_killed_agent_is_a_lost_node(place, workload) -> None:
    """Gone without an exit record: what it left is killed, and the attempt fails with that reason."""
    job_run_id = place.submit(workload(retries=1))
    place.step()
    attempt = place.job(job_run_id).attempts[0].attempt_id
    place.says(attempt)
    place.engine.vanish(attempt, 0)
    place.step(2)
    job = place.job(job_run_id)
    assert (attempt, (0,), True) in place.engine.stops
    assert (job.state, job.attempts[0].cause, job.attempts[0].exit_code) == (
        "WAITING_FOR_RETRY",
        "node_lost",
        None,
    )
    assert "node lost" in job.message


def test_an_agent_that_ended_while_the_server_was_away_ends_in_its_true_state(place, workload) -> None:
    """Its exit record counts, even when it can deliver nothing any more."""
    job_run_id = place.submit()
    place.step()
    attempt = place.job(job_run_id).attempts[0].attempt_id
    place.says(attempt)
    end = NodeExit(5, Cause.EXIT_CODE, ended_ms=1_800_000_001_000)
    place.engine.vanish(attempt, 0, end)
    place.restart()
    place.step(2)
    job = place.job(job_run_id)
    assert (job.status, job.attempts[0].exit_code, job.attempts[0].ended_ms) == (
        "FAILED",
        5,
        1_800_000_001_000,
    )


def test_an_agent_that_kept_something_is_started_once_more_to_deliver_it(place, workload) -> None:
    """Only what it still cannot deliver then is given up."""
    place.engine.can_revive = True
    job_run_id = place.submit()
    place.step()
    attempt = place.job(job_run_id).attempts[0].attempt_id
    place.says(attempt)
    place.engine.vanish(attempt, 0, NodeExit(0, Cause.EXIT_CODE, ended_ms=1))
    place.step()
    assert place.engine.revived == [(attempt, 0)]
    assert place.job(job_run_id).state == "RUNNING"
    place.exits(attempt)
    place.step()
    assert place.job(job_run_id).status == "SUCCESS"


def test_silence_counts_only_where_the_engine_cannot_see(place, workload) -> None:
    """An agent that is seen alive is not lost, however long it has been silent; one that cannot be seen is."""
    job_run_id = place.submit()
    place.step()
    attempt = place.job(job_run_id).attempts[0].attempt_id
    place.says(attempt)
    place.clock.advance(3600)
    place.step()
    assert place.job(job_run_id).state == "RUNNING"
    place.engine.states[attempt, 0] = NodeState(0, Condition.UNKNOWN)
    place.step()
    assert place.job(job_run_id).attempts[0].cause == "node_lost"


# ---------------------------------------------------------------- restarts


@pytest.mark.parametrize("moment", ["before", "between"])
def test_a_start_that_a_killed_server_left_half_done_goes_on(place, workload, moment: str) -> None:
    """The lease is stored before the agents start; whichever of the two a server did last, there is one attempt."""
    job_run_id = place.submit()
    place.engine.refuse = SystemExit("killed") if moment == "between" else None
    if moment == "between":
        with pytest.raises(SystemExit):
            place.step()
    place.engine.refuse = None
    place.restart()
    place.step(2)
    job = place.job(job_run_id)
    assert (job.state, len(job.attempts), len(place.engine.specs)) == ("PENDING", 1, 1)
    (spec,) = place.engine.specs.values()
    place.jobs.agents.authorize(job.attempts[0].attempt_id, spec.token)


def test_what_cannot_be_started_fails_with_the_reason(place, workload) -> None:
    """An engine that cannot start an agent fails the attempt, and what it did start is taken down."""
    place.engine.refuse = OSError("no space left")
    job_run_id = place.submit()
    place.step()
    job = place.job(job_run_id)
    assert (job.status, job.attempts[0].cause) == ("FAILED", "could_not_start")
    assert job.message == "could not start: no space left"
    assert place.run_status(job.run_id) == "FAILED"


# ---------------------------------------------------------------- cancelling


def test_a_queued_job_run_is_cancelled_at_once(make_workplace: Callable, workload) -> None:
    """Nothing was started, so nothing has to be waited for."""
    place = make_workplace(local_nodes_max=1)
    place.engine.nodes = 1
    place.submit()
    waiting = place.submit()
    place.step()
    assert place.jobs.cancel(waiting, "ada").state == "TERMINATED"
    job = place.job(waiting)
    assert (job.status, job.message, job.attempts[0].run_id) == ("CANCELED", "cancelled by ada", None)


def test_a_running_job_run_is_stopped_and_never_retried(place, workload) -> None:
    """TERMINATING until its agents are gone, then CANCELED, with who did it; the run is KILLED."""
    job_run_id = place.submit(workload(retries=3))
    place.step()
    attempt = place.job(job_run_id).attempts[0].attempt_id
    place.says(attempt)
    assert place.jobs.cancel(job_run_id, "ada").state == "TERMINATING"
    assert place.says(attempt).stop_cause == "cancelled"
    place.exits(attempt, code=143, cause=Cause.CANCELLED)
    place.step()
    job = place.job(job_run_id)
    assert (job.status, job.message, job.cancel_requested_by) == ("CANCELED", "cancelled by ada", "ada")
    assert (len(job.attempts), place.run_status(job.run_id)) == (1, "KILLED")


def test_a_job_run_that_waits_for_its_retry_is_cancelled_at_once(place, workload) -> None:
    """No further attempt is made."""
    job_run_id = place.submit(workload(retries=3))
    place.step()
    place.exits(place.job(job_run_id).attempts[0].attempt_id, code=1)
    place.step()
    place.jobs.cancel(job_run_id, "ada")
    place.clock.advance(600)
    place.step()
    job = place.job(job_run_id)
    assert (job.status, len(job.attempts)) == ("CANCELED", 1)


def test_what_ended_by_itself_before_the_cancel_reached_it_keeps_its_result(place, workload) -> None:
    """A true result is not overwritten, but nothing is retried either."""
    job_run_id = place.submit(workload(retries=3))
    place.step()
    attempt = place.job(job_run_id).attempts[0].attempt_id
    place.says(attempt)
    place.jobs.cancel(job_run_id, "ada")
    place.exits(attempt, code=1)
    place.step()
    job = place.job(job_run_id)
    assert (job.status, len(job.attempts)) == ("FAILED", 1)
    assert "before the cancel of ada" in job.message


def test_cancelling_again_or_after_the_end_changes_nothing(place, workload) -> None:
    """Cancelling is idempotent."""
    job_run_id = place.submit()
    place.step()
    attempt = place.job(job_run_id).attempts[0].attempt_id
    place.exits(attempt)
    place.step()
    before = place.job(job_run_id)
    place.jobs.cancel(job_run_id, "ada")
    assert place.job(job_run_id) == before
    with pytest.raises(ResourceDoesNotExist):
        place.jobs.cancel(999, "ada")


def test_an_agent_that_does_not_react_is_signalled_then_killed(place, workload) -> None:
    """First the engine asks it, after the grace period it kills it; the job run still ends CANCELED."""
    job_run_id = place.submit()
    place.step()
    attempt = place.job(job_run_id).attempts[0].attempt_id
    place.says(attempt)
    place.jobs.cancel(job_run_id, "ada")
    place.step()
    place.clock.advance(7)
    place.step()
    assert place.engine.stops == [(attempt, (0,), False)]
    place.clock.advance(20)
    place.step()
    assert place.engine.stops[-1] == (attempt, (0,), True)
    place.step(2)
    assert place.job(job_run_id).status == "CANCELED"


# ---------------------------------------------------------------- capacity


def test_gpus_are_leased_and_waiting_is_explained(place, workload) -> None:
    """Two GPUs, three job runs of one each: two run on different GPUs, the third says what it waits for."""
    place.engine.gpus = (Gpu("0", "NVIDIA A10"), Gpu("1", "NVIDIA A10"))
    ids = [place.submit(workload(accelerator="GPU_1xA10")) for _ in range(3)]
    place.step()
    states = [place.job(job_run_id).state for job_run_id in ids]
    assert states == ["PENDING", "PENDING", "QUEUED"]
    used = [place.job(job_run_id).attempts[0].nodes[0].gpu_ids for job_run_id in ids[:2]]
    assert sorted(gpu for gpus in used for gpu in gpus) == ["0", "1"]
    assert place.job(ids[2]).message == "waits for 1 of 1 GPU (A10): 2 in use by job runs 1, 2"
    place.exits(place.job(ids[0]).attempts[0].attempt_id)
    place.step()
    job = place.job(ids[2])
    assert (job.state, job.attempts[0].nodes[0].gpu_ids) == ("PENDING", used[0])


def test_what_can_never_run_here_is_refused_at_once(place, workload) -> None:
    """A job run that this machine can never run is not left waiting forever."""
    with pytest.raises(InvalidParameterValue, match=r"compute\.accelerator_type: .*no GPU"):
        place.submit(workload(accelerator="GPU_1xH100"))
    assert place.jobs.list(JobRunFilter(), limit=5).job_runs == []


# ---------------------------------------------------------------- submitting


def test_an_idempotency_token_gives_the_same_job_run(place, workload) -> None:
    """Also after the job run has ended."""
    text = workload(more="idempotency_token: once\n")
    first = place.submit(text)
    place.step()
    place.exits(place.job(first).attempts[0].attempt_id)
    place.step()
    again = place.jobs.submit(Submit(text))
    assert (again.job_run_id, again.existing) == (first, True)
    assert place.submit(text, idempotency_token="twice") != first


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"engine": "moon"}, "engine"),
        ({"user": " "}, "user"),
        ({"idempotency_token": "x" * 65}, "idempotency_token"),
        ({"code_digest": "abc"}, "code_digest"),
        ({"code_digest": "0" * 64}, "code_digest"),
        ({"provenance": {"diff": "x" * 3_000_000}}, "provenance"),
    ],
)
def test_a_bad_field_is_named_and_nothing_is_stored(place, workload, fields: dict, named: str) -> None:
    """Bad input is refused whole."""
    with pytest.raises(InvalidParameterValue, match=rf"^{named}:"):
        place.submit(**fields)
    assert place.jobs.list(JobRunFilter(), limit=5).job_runs == []


def test_code_must_have_been_sent(place, workload) -> None:
    """A workload with a code_source and no archive is refused."""
    with pytest.raises(InvalidParameterValue, match="code_digest"):
        place.submit(workload(more="code_source: {root_path: .}\n"))


def test_lists_are_filtered_and_paged(place, workload) -> None:
    """Newest first; filters are combined; a page token goes on where the page ended."""
    place.engine.gpus = (Gpu("0", "NVIDIA A10"), Gpu("1", "NVIDIA A10"))
    ids = [place.submit(user="ada") for _ in range(5)]
    gpu = place.submit(workload(nodes=2, accelerator="GPU_1xA10"), user="bob")
    first = place.jobs.list(JobRunFilter(user="ada"), limit=3)
    assert [row.job_run_id for row in first.job_runs] == ids[:1:-1]
    rest = place.jobs.list(JobRunFilter(user="ada"), limit=3, page_token=first.next_page_token)
    assert ([row.job_run_id for row in rest.job_runs], rest.next_page_token) == (ids[1::-1], None)
    assert _ids(place, accelerator_type="a10", num_accelerators=2) == [gpu]
    assert _ids(place, experiment="SM*L?", user="bob") == [gpu]
    assert _ids(place, experiment="sm_l%") == []
    place.jobs.cancel(gpu, "bob")
    assert gpu not in _ids(place, active=True)
    with pytest.raises(InvalidParameterValue):
        place.jobs.list(JobRunFilter(), limit=3, page_token="made-up")


def _ids(place, **wanted) -> list[int]:
    return [row.job_run_id for row in place.jobs.list(JobRunFilter(**wanted), limit=100).job_runs]
