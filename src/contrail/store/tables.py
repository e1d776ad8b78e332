"""All tables. SQLite and PostgreSQL both hold them; a change here needs a migration (a test compares)."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Double,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    SmallInteger,
    String,
    Table,
    Text,
    UniqueConstraint,
)

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)

# SQLite only counts up by itself for a column of exactly INTEGER.
Id = BigInteger().with_variant(Integer, "sqlite")


# `sqlite_with_rowid=False` stores rows in the order of the primary key, so that what belongs to a run lies together.


def _id() -> Column[int]:
    return Column("id", Id, primary_key=True, autoincrement=True)


def _ref(name: str, target: str, *, primary_key: bool = False, nullable: bool = False) -> Column[int]:
    return Column(name, Id, ForeignKey(target), primary_key=primary_key, nullable=nullable)


# ---------------------------------------------------------------- tracking

experiments = Table(
    "experiments",
    metadata,
    _id(),
    Column("name", String(500), nullable=False, unique=True),
    Column("artifact_location", Text, nullable=False),
    Column("lifecycle", String(10), nullable=False),
    Column("created_ms", BigInteger, nullable=False),
    Column("updated_ms", BigInteger, nullable=False),
    sqlite_autoincrement=True,
)

experiment_tags = Table(
    "experiment_tags",
    metadata,
    _ref("experiment_id", "experiments.id", primary_key=True),
    Column("key", String(250), primary_key=True),
    Column("value", Text, nullable=False),
    sqlite_with_rowid=False,
)

runs = Table(
    "runs",
    metadata,
    _id(),
    Column("run_uuid", String(64), nullable=False, unique=True),
    _ref("experiment_id", "experiments.id"),
    Column("name", Text, nullable=False),
    Column("user_id", Text, nullable=False),
    Column("status", SmallInteger, nullable=False),
    Column("start_ms", BigInteger, nullable=False),
    Column("end_ms", BigInteger),
    Column("lifecycle", String(10), nullable=False),
    Column("deleted_ms", BigInteger),
    Column("artifact_uri", Text, nullable=False),
)
# The order in which runs are listed when nothing else is asked.
Index("ix_runs_listing", runs.c.experiment_id, runs.c.start_ms.desc(), runs.c.run_uuid)

params = Table(
    "params",
    metadata,
    _ref("run_id", "runs.id", primary_key=True),
    Column("key", String(250), primary_key=True),
    Column("value", Text, nullable=False),
    Column("number", Double),  # the value as a number where it is one: numeric compare and sort
    sqlite_with_rowid=False,
)

run_tags = Table(
    "run_tags",
    metadata,
    _ref("run_id", "runs.id", primary_key=True),
    Column("key", String(250), primary_key=True),
    Column("value", Text, nullable=False),
    Column("number", Double),
    sqlite_with_rowid=False,
)

metric_keys = Table(
    "metric_keys",
    metadata,
    _id(),
    Column("name", String(250), nullable=False, unique=True),
)

# The first and the latest point per (run, key) by (step, timestamp, value), and the extremes over all points.
# NaN is `is_nan` with value 0, because SQLite would store it as NULL; extremes leave NaN out (NULL if there is
# nothing else).
metric_latest = Table(
    "metric_latest",
    metadata,
    _ref("run_id", "runs.id", primary_key=True),
    _ref("key_id", "metric_keys.id", primary_key=True),
    Column("step", BigInteger, nullable=False),
    Column("timestamp_ms", BigInteger, nullable=False),
    Column("value", Double, nullable=False),
    Column("is_nan", Boolean, nullable=False),
    Column("min_value", Double),
    Column("max_value", Double),
    Column("first_step", BigInteger, nullable=False),
    Column("first_timestamp_ms", BigInteger, nullable=False),
    Column("first_value", Double, nullable=False),
    Column("first_is_nan", Boolean, nullable=False),
    sqlite_with_rowid=False,
)

# Points as they arrived, one packed block per (commit, run); compaction turns them into chunks.
metric_blocks = Table(
    "metric_blocks",
    metadata,
    _id(),
    _ref("run_id", "runs.id"),
    Column("points", Integer, nullable=False),
    Column("data", LargeBinary, nullable=False),
    Index(None, "run_id"),
    sqlite_autoincrement=True,
)

# Points of one (run, key) in order of (timestamp, step, value), each once. The chunks of a series do not overlap in
# (timestamp, step): a later chunk starts after the last point of the one before. So history is their concatenation.
metric_chunks = Table(
    "metric_chunks",
    metadata,
    _id(),
    _ref("run_id", "runs.id"),
    _ref("key_id", "metric_keys.id"),
    Column("points", Integer, nullable=False),
    Column("step_min", BigInteger, nullable=False),
    Column("step_max", BigInteger, nullable=False),
    Column("timestamp_min_ms", BigInteger, nullable=False),
    Column("timestamp_max_ms", BigInteger, nullable=False),
    Column("first_step", BigInteger, nullable=False),
    Column("last_step", BigInteger, nullable=False),
    Column("value_min", Double),
    Column("value_max", Double),
    Column("data", LargeBinary, nullable=False),
    Index(None, "run_id", "key_id", "timestamp_min_ms"),
)

datasets = Table(
    "datasets",
    metadata,
    _id(),
    _ref("experiment_id", "experiments.id"),
    Column("name", String(500), nullable=False),
    Column("digest", String(36), nullable=False),
    Column("source_type", String(36), nullable=False),
    Column("source", Text, nullable=False),
    Column("schema", Text),
    Column("profile", Text),
    UniqueConstraint("experiment_id", "name", "digest"),
)

run_inputs = Table(
    "run_inputs",
    metadata,
    _ref("run_id", "runs.id", primary_key=True),
    _ref("dataset_id", "datasets.id", primary_key=True),
    Column("position", Integer, nullable=False),
    sqlite_with_rowid=False,
)

input_tags = Table(
    "input_tags",
    metadata,
    _ref("run_id", "runs.id", primary_key=True),
    _ref("dataset_id", "datasets.id", primary_key=True),
    Column("key", String(255), primary_key=True),
    Column("value", Text, nullable=False),
    sqlite_with_rowid=False,
)

# ---------------------------------------------------------------- jobs

job_runs = Table(
    "job_runs",
    metadata,
    _id(),
    Column("name", Text, nullable=False),
    Column("user_name", Text, nullable=False),
    Column("experiment_name", Text, nullable=False),
    _ref("experiment_id", "experiments.id", nullable=True),
    Column("state", String(20), nullable=False),
    Column("result", String(20)),
    Column("message", Text, nullable=False),  # why it waits, or how it ended, in words
    Column("engine", String(20), nullable=False),
    Column("workload_yaml", Text, nullable=False),  # as submitted, overrides applied
    Column("workload_json", Text, nullable=False),  # the validated workload
    Column("accelerator_type", String(64), nullable=False),
    Column("num_accelerators", Integer, nullable=False),
    Column("code_digest", String(64)),
    Column("code_name", Text),
    Column("provenance_json", Text, nullable=False),  # git state and the like
    Column("idempotency_token", String(64), unique=True),
    Column("max_retries", Integer, nullable=False),
    Column("created_ms", BigInteger, nullable=False),
    Column("started_ms", BigInteger),
    Column("ended_ms", BigInteger),
    Column("retry_at_ms", BigInteger),
    Column("cancel_requested_by", Text),
    Column("logs_removed_ms", BigInteger),
    Index(None, "state"),
    Index(None, "user_name", "id"),
    sqlite_autoincrement=True,
)

attempts = Table(
    "attempts",
    metadata,
    _id(),
    _ref("job_run_id", "job_runs.id"),
    Column("number", Integer, nullable=False),
    Column("run_uuid", String(64)),
    Column("state", String(20), nullable=False),
    Column("result", String(20)),
    Column("cause", String(20)),
    Column("exit_code", Integer),
    Column("signal", Integer),
    Column("failed_node", Integer),
    Column("message", Text, nullable=False),
    Column("num_nodes", Integer, nullable=False),
    Column("handle_json", Text),  # what the engine needs to find it again; written before the work starts
    Column("token_sha256", String(64), nullable=False),
    Column("created_ms", BigInteger, nullable=False),
    Column("started_ms", BigInteger),
    Column("ended_ms", BigInteger),
    UniqueConstraint("job_run_id", "number"),
    Index(None, "state"),
    Index(None, "run_uuid"),
    Index(None, "token_sha256"),
    sqlite_autoincrement=True,
)

attempt_nodes = Table(
    "attempt_nodes",
    metadata,
    _ref("attempt_id", "attempts.id", primary_key=True),
    Column("node", Integer, primary_key=True),
    Column("state", String(20), nullable=False),
    Column("status_message", Text, nullable=False),  # "preparing environment" and the like
    Column("host", Text),
    Column("gpu_ids_json", Text, nullable=False),
    Column("heartbeat_ms", BigInteger),
    Column("relay_seq", BigInteger, nullable=False),  # last spool item that was applied
    Column("log_bytes", BigInteger, nullable=False),  # raw bytes received
    Column("exit_json", Text),
    Column("started_ms", BigInteger),
    Column("ended_ms", BigInteger),
)

code_archives = Table(
    "code_archives",
    metadata,
    Column("digest", String(64), primary_key=True),
    Column("name", Text, nullable=False),
    Column("bytes", BigInteger, nullable=False),
    Column("created_ms", BigInteger, nullable=False),
)

# ---------------------------------------------------------------- logs

# Raw bytes that are not sealed into a chunk yet, in the pieces in which they arrived.
log_tail = Table(
    "log_tail",
    metadata,
    _ref("attempt_id", "attempts.id", primary_key=True),
    Column("node", Integer, primary_key=True),
    Column("offset", BigInteger, primary_key=True),
    Column("time_ns", BigInteger, nullable=False),
    Column("data", LargeBinary, nullable=False),
)

# Sealed chunks; the bytes are a blob. Chunks end at a line end where there is one.
log_chunks = Table(
    "log_chunks",
    metadata,
    _ref("attempt_id", "attempts.id", primary_key=True),
    Column("node", Integer, primary_key=True),
    Column("offset", BigInteger, primary_key=True),
    Column("raw_bytes", BigInteger, nullable=False),
    Column("first_line", BigInteger, nullable=False),
    Column("lines", BigInteger, nullable=False),
    Column("first_time_ns", BigInteger, nullable=False),
    Column("last_time_ns", BigInteger, nullable=False),
    Column("infos", BigInteger, nullable=False),
    Column("warnings", BigInteger, nullable=False),
    Column("errors", BigInteger, nullable=False),
    Column(
        "state_json", Text, nullable=False
    ),  # what the next chunk's parser goes on with (traceback, open line)
    Column("blob", Text, nullable=False),
)
