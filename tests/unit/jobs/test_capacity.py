"""Who starts, who waits, and what they are told."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from contrail.engines.base import Capacity, Gpu
from contrail.jobs.capacity import Supply, Want, infeasible, plan
from contrail.model.jobs import Accelerators

MACHINE = Capacity(
    4, tuple(Gpu(str(n), "NVIDIA A10" if n < 2 else "NVIDIA H100 80GB HBM3") for n in range(4))
)


def _want(number: int, total: int, model: str | None = None, per_node: int = 1) -> Want:
    kind = f"GPU_{per_node}x{model}" if model else "CPU"
    return Want(number, number * 10, Accelerators(kind, total, per_node, model))


def test_gpus_are_given_by_model_and_node() -> None:
    """Two nodes of one H100 each get one H100 each."""
    made = plan([_want(1, 2, "H100")], Supply(MACHINE))
    assert (made.starts[0].attempt_id, made.starts[0].gpu_ids) == (10, (("2",), ("3",)))


def test_a_big_job_run_is_not_starved_by_small_ones() -> None:
    """What the first one waits for is kept for it; who needs something else passes."""
    wants = [_want(1, 2, "A10"), _want(2, 1, "A10"), _want(3, 1, "H100"), _want(4, 1)]
    made = plan(wants, Supply(MACHINE, nodes_held=1, leases={"0": 7}))
    assert [start.attempt_id for start in made.starts] == [30, 40]
    assert made.waits == {
        1: "waits for 1 of 2 GPUs (A10): 1 in use by job run 7",
        2: "waits for 1 of 1 GPU (A10): 1 in use by job run 7, 1 kept for job run 1",
    }


def test_node_slots_are_counted() -> None:
    """Nodes without GPUs are limited too."""
    made = plan([_want(1, 3), _want(2, 1)], Supply(MACHINE, nodes_held=2))
    assert made.waits == {
        1: "waits for 1 of 3 nodes: 2 of 4 in use",
        2: "waits for 1 of 1 node: 2 of 4 in use, job run 1 is first",
    }


def test_what_is_missing_for_good_blocks_nobody() -> None:
    """A GPU that has gone away keeps its job run waiting, not the others."""
    made = plan([_want(1, 3, "A10"), _want(2, 2, "A10")], Supply(MACHINE))
    assert [start.attempt_id for start in made.starts] == [20]
    assert "more than there is" in made.waits[1]


def test_infeasible_says_what_there_is() -> None:
    """The way out is part of the message."""
    words = infeasible(Accelerators("GPU_8xH100", 8, 8, "H100"), MACHINE)
    assert words is not None
    assert "2 x NVIDIA A10, 2 x NVIDIA H100" in words
    assert infeasible(Accelerators("CPU", 5, 1, None), MACHINE) == "5 x CPU is 5 nodes, and there are 4"
    assert infeasible(Accelerators("CPU", 4, 1, None), MACHINE) is None


wanted = st.tuples(st.integers(1, 4), st.sampled_from([None, "A10", "H100"]))


@given(st.lists(wanted, max_size=8), st.sets(st.sampled_from("0123")), st.integers(0, 4))
def test_nothing_is_ever_given_twice(
    asked: list[tuple[int, str | None]], leased: set[str], held: int
) -> None:
    """However much is asked: no GPU that is leased or given, no node beyond the last; all others are told why."""
    wants = [_want(number, total, model) for number, (total, model) in enumerate(asked, 1)]
    made = plan(wants, Supply(MACHINE, held, dict.fromkeys(leased, 99)))
    given_out = [gpu for start in made.starts for gpus in start.gpu_ids for gpu in gpus]
    assert len(given_out) == len(set(given_out))
    assert not set(given_out) & leased
    started = {start.attempt_id for start in made.starts}
    nodes = sum(want.accelerators.nodes for want in wants if want.attempt_id in started)
    assert not made.starts or held + nodes <= MACHINE.nodes
    assert set(made.waits) == {want.job_run_id for want in wants if want.attempt_id not in started}
