"""The workload YAML: schema, validation, overrides, help, and the code that goes with it."""

from contrail.workloads.overrides import Change, apply_overrides, override
from contrail.workloads.problems import Problem, WorkloadInvalid
from contrail.workloads.workload import CodeSource, Workload, load

__all__ = [
    "Change",
    "CodeSource",
    "Problem",
    "Workload",
    "WorkloadInvalid",
    "apply_overrides",
    "load",
    "override",
]
