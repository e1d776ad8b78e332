"""Limits of control groups, version 1 and 2, from fake roots."""

from __future__ import annotations

from pathlib import Path

from contrail.agent.cgroup import Cgroup, CgroupLimits


def tree(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def test_version_2(tmp_path):
    """Limits, usage and kills of a version 2 group come from its own folder."""
    root = tree(
        tmp_path / "cgroup",
        {
            "job/cpu.max": "150000 100000\n",
            "job/memory.max": "1073741824\n",
            "job/memory.current": "500000000\n",
            "job/memory.stat": "anon 1\ninactive_file 100000000\n",
            "job/cpu.stat": "usage_usec 2500000\nuser_usec 1\n",
            "job/memory.events": "low 0\noom 1\noom_kill 2\n",
        },
    )
    own = tmp_path / "self"
    own.write_text("0::/job\n")
    group = Cgroup(root, own)
    assert group.limits() == CgroupLimits(1 << 30, 1.5)
    assert group.memory_used_bytes() == 400_000_000
    assert group.cpu_used_s() == 2.5
    assert group.oom_kills() == 2


def test_version_1(tmp_path):
    """Each controller of version 1 has its own folder; inside a container that is the mount's root."""
    root = tree(
        tmp_path / "cgroup",
        {
            "memory/memory.limit_in_bytes": "2000000000\n",
            "memory/memory.usage_in_bytes": "700000000\n",
            "memory/memory.stat": "total_inactive_file 200000000\n",
            "memory/memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n",
            "cpu/cpu.cfs_quota_us": "200000\n",
            "cpu/cpu.cfs_period_us": "100000\n",
            "cpuacct/cpuacct.usage": "3000000000\n",
        },
    )
    own = tmp_path / "self"
    own.write_text("4:memory:/docker/abc\n3:cpu,cpuacct:/docker/abc\n0::/docker/abc\n")
    group = Cgroup(root, own)
    assert group.limits() == CgroupLimits(2_000_000_000, 2.0)
    assert group.memory_used_bytes() == 500_000_000
    assert group.cpu_used_s() == 3.0
    assert group.oom_kills() == 1


def test_no_limit_is_none(tmp_path):
    """`max`, -1 and numbers near 2^63 all mean that nothing is limited; a missing root means the same."""
    second = tree(tmp_path / "two", {"cpu.max": "max 100000\n", "memory.max": "max\n"})
    first = tree(
        tmp_path / "one",
        {
            "memory/memory.limit_in_bytes": "9223372036854771712\n",
            "cpu/cpu.cfs_quota_us": "-1\n",
            "cpu/cpu.cfs_period_us": "100000\n",
        },
    )
    for root in (first, second, tmp_path / "nothing"):
        assert Cgroup(root, tmp_path / "no-self").limits() == CgroupLimits()
