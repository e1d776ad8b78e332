"""Starting the command: its environment, its session, its output."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from contrail.agent import tree
from contrail.agent.prepare import Prepared
from contrail.model.jobs import AgentSpec

MARK = "CONTRAIL_WORK_DIR"  # every process of the workload carries it
OOM_SCORE = "500"  # when memory runs out, the workload goes before the agent and the server

# What a workload gets from the environment that the agent was started in. Everything else may be a secret
# of the server: users pass what they need by `env_variables`.
_INHERITED = frozenset(
    [
        *("HOME", "USER", "LOGNAME", "SHELL", "HOSTNAME", "PATH", "TMPDIR", "TEMP", "TMP"),
        *("LANG", "LANGUAGE", "TZ", "TERM", "LD_LIBRARY_PATH", "LIBRARY_PATH"),
        *("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"),
        *("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"),
        *("http_proxy", "https_proxy", "all_proxy", "no_proxy"),
        *("HF_HOME", "TORCH_HOME"),
    ]
)
_INHERITED_PREFIXES = (
    "LC_",
    "XDG_",
    "CUDA_",
    "NVIDIA_",
    "NCCL_",
    "OMP_",
    "MKL_",
    "OPENBLAS_",
    "NUMEXPR_",
    "GLOO_",
)
_PROXIES = frozenset({"http_proxy", "https_proxy", "all_proxy"})


def workload_environment(
    spec: AgentSpec, prepared: Prepared, tracking_uri: str, inherited: Mapping[str, str]
) -> dict[str, str]:
    """Every variable of the command. The user's `env_variables` win over all of them."""
    environ = {
        name: value
        for name, value in inherited.items()
        if name in _INHERITED or name.startswith(_INHERITED_PREFIXES)
    }
    path = inherited.get("PATH", os.defpath)
    environ["PATH"] = f"{prepared.bin_dir}{os.pathsep}{path}"
    if prepared.environment is not None:
        environ["VIRTUAL_ENV"] = str(prepared.environment)
    _reach_loopback_directly(environ)
    environ |= _rendezvous(spec) | _tracking(spec, tracking_uri) | _places(prepared)
    environ |= {"PYTHONUNBUFFERED": "1", "CUDA_VISIBLE_DEVICES": ",".join(spec.gpu_ids)}
    if spec.gpu_ids and all(gpu.isdecimal() for gpu in spec.gpu_ids):
        environ["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID"  # numbers mean the driver's order
    return environ | spec.env


def _rendezvous(spec: AgentSpec) -> dict[str, str]:
    """How processes find each other. LOCAL_RANK stays unset: it would tell frameworks that a launcher runs."""
    return {
        "MASTER_ADDR": spec.master_addr,
        "MASTER_PORT": str(spec.master_port),
        "NUM_NODES": str(spec.num_nodes),
        "NODE_RANK": str(spec.node),
        "RANK": str(spec.node),  # a launcher overwrites it; without one, only node 0 passes a rank guard
        "WORLD_SIZE": str(spec.num_nodes * spec.local_world_size),
        "LOCAL_WORLD_SIZE": str(spec.local_world_size),
        # torchrun's defaults, so that a plain `torchrun train.py` spans the nodes
        "PET_NNODES": str(spec.num_nodes),
        "PET_NODE_RANK": str(spec.node),
        "PET_NPROC_PER_NODE": str(spec.local_world_size),
        "PET_MASTER_ADDR": spec.master_addr,
        "PET_MASTER_PORT": str(spec.master_port),
    }


def _tracking(spec: AgentSpec, tracking_uri: str) -> dict[str, str]:
    """The run to log to. SERVERLESS_GPU_COMPUTE_ASSOCIATED_JOB_RUN_ID stays unset on purpose.

    With it, MLflow's client resumes the job's first run in every later `start_run`, nested ones included.
    """
    return {
        "MLFLOW_TRACKING_URI": tracking_uri,
        "MLFLOW_TRACKING_TOKEN": spec.token,
        "MLFLOW_RUN_ID": spec.run_id,
        "MLFLOW_EXPERIMENT_ID": spec.experiment_id,
        "MLFLOW_ENABLE_SYSTEM_METRICS_LOGGING": "false",  # the agent samples, once per node
        "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",  # they would lead to the relay, which ends with the job
        "CONTRAIL_JOB_RUN_ID": str(spec.job_run_id),
        "CONTRAIL_ATTEMPT_NUMBER": str(spec.attempt_number),
        MARK: spec.work_dir,
    }


def _places(prepared: Prepared) -> dict[str, str]:
    places = {}
    if prepared.code is not None:
        places["CODE_SOURCE_PATH"] = str(prepared.code)
    if prepared.hyperparameters is not None:
        places["HYPERPARAMETERS_PATH"] = str(prepared.hyperparameters)
    return places


def _reach_loopback_directly(environ: dict[str, str]) -> None:
    """A proxy cannot reach the relay."""
    if not any(name.lower() in _PROXIES for name in environ):
        return
    given = environ.get("no_proxy") or environ.get("NO_PROXY") or ""
    hosts = ",".join(filter(None, [given, "127.0.0.1", "localhost"]))
    environ["no_proxy"] = environ["NO_PROXY"] = hosts


def start(
    prepared: Prepared, cwd: Path, environ: Mapping[str, str], output_fd: int
) -> subprocess.Popen[bytes]:
    """Start the command in a session of its own; it is killed when the agent is. Raises `OSError`.

    Must be called from the main thread: the kernel ties the child's life to the thread that started it.
    """
    agent = os.getpid()

    def in_child() -> None:
        tree.die_with_parent(agent)
        with suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:
            file.write(OOM_SCORE)

    return subprocess.Popen(
        ["bash", str(prepared.command)],
        cwd=cwd,
        env=dict(environ),
        stdin=subprocess.DEVNULL,
        stdout=output_fd,
        stderr=output_fd,
        start_new_session=True,
        preexec_fn=in_child,
    )
