"""The first schema."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Create every table."""
    op.create_table(
        "code_archives",
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("bytes", sa.BigInteger(), nullable=False),
        sa.Column("created_ms", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("digest", name="pk_code_archives"),
    )
    op.create_table(
        "experiments",
        sa.Column("id", ID, autoincrement=True, nullable=False),
        sa.Column("name", sa.String(length=500), nullable=False),
        sa.Column("artifact_location", sa.Text(), nullable=False),
        sa.Column("lifecycle", sa.String(length=10), nullable=False),
        sa.Column("created_ms", sa.BigInteger(), nullable=False),
        sa.Column("updated_ms", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_experiments"),
        sa.UniqueConstraint("name", name="uq_experiments_name"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "metric_keys",
        sa.Column("id", ID, autoincrement=True, nullable=False),
        sa.Column("name", sa.String(length=250), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_metric_keys"),
        sa.UniqueConstraint("name", name="uq_metric_keys_name"),
    )
    op.create_table(
        "datasets",
        sa.Column("id", ID, autoincrement=True, nullable=False),
        sa.Column("experiment_id", ID, nullable=False),
        sa.Column("name", sa.String(length=500), nullable=False),
        sa.Column("digest", sa.String(length=36), nullable=False),
        sa.Column("source_type", sa.String(length=36), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("schema", sa.Text(), nullable=True),
        sa.Column("profile", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(["experiment_id"], ["experiments.id"], name="fk_datasets_experiment_id"),
        sa.PrimaryKeyConstraint("id", name="pk_datasets"),
        sa.UniqueConstraint("experiment_id", "name", "digest", name="uq_datasets_experiment_id_name_digest"),
    )
    op.create_table(
        "experiment_tags",
        sa.Column("experiment_id", ID, nullable=False),
        sa.Column("key", sa.String(length=250), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["experiment_id"], ["experiments.id"], name="fk_experiment_tags_experiment_id"
        ),
        sa.PrimaryKeyConstraint("experiment_id", "key", name="pk_experiment_tags"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "job_runs",
        sa.Column("id", ID, autoincrement=True, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("user_name", sa.Text(), nullable=False),
        sa.Column("experiment_name", sa.Text(), nullable=False),
        sa.Column("experiment_id", ID, nullable=True),
        sa.Column("state", sa.String(length=20), nullable=False),
        sa.Column("result", sa.String(length=20), nullable=True),
        sa.Column("message", sa.Text(), nullable=False),
        sa.Column("engine", sa.String(length=20), nullable=False),
        sa.Column("workload_yaml", sa.Text(), nullable=False),
        sa.Column("workload_json", sa.Text(), nullable=False),
        sa.Column("accelerator_type", sa.String(length=64), nullable=False),
        sa.Column("num_accelerators", sa.Integer(), nullable=False),
        sa.Column("code_digest", sa.String(length=64), nullable=True),
        sa.Column("code_name", sa.Text(), nullable=True),
        sa.Column("provenance_json", sa.Text(), nullable=False),
        sa.Column("idempotency_token", sa.String(length=64), nullable=True),
        sa.Column("max_retries", sa.Integer(), nullable=False),
        sa.Column("created_ms", sa.BigInteger(), nullable=False),
        sa.Column("started_ms", sa.BigInteger(), nullable=True),
        sa.Column("ended_ms", sa.BigInteger(), nullable=True),
        sa.Column("retry_at_ms", sa.BigInteger(), nullable=True),
        sa.Column("cancel_requested_by", sa.Text(), nullable=True),
        sa.Column("logs_removed_ms", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(["experiment_id"], ["experiments.id"], name="fk_job_runs_experiment_id"),
        sa.PrimaryKeyConstraint("id", name="pk_job_runs"),
        sa.UniqueConstraint("idempotency_token", name="uq_job_runs_idempotency_token"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_job_runs_state", "job_runs", ["state"])
    op.create_index("ix_job_runs_user_name_id", "job_runs", ["user_name", "id"])
    op.create_table(
        "runs",
        sa.Column("id", ID, autoincrement=True, nullable=False),
        sa.Column("run_uuid", sa.String(length=64), nullable=False),
        sa.Column("experiment_id", ID, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("user_id", sa.Text(), nullable=False),
        sa.Column("status", sa.SmallInteger(), nullable=False),
        sa.Column("start_ms", sa.BigInteger(), nullable=False),
        sa.Column("end_ms", sa.BigInteger(), nullable=True),
        sa.Column("lifecycle", sa.String(length=10), nullable=False),
        sa.Column("deleted_ms", sa.BigInteger(), nullable=True),
        sa.Column("artifact_uri", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["experiment_id"], ["experiments.id"], name="fk_runs_experiment_id"),
        sa.PrimaryKeyConstraint("id", name="pk_runs"),
        sa.UniqueConstraint("run_uuid", name="uq_runs_run_uuid"),
    )
    op.create_index("ix_runs_listing", "runs", ["experiment_id", sa.text("start_ms DESC"), "run_uuid"])
    op.create_table(
        "attempts",
        sa.Column("id", ID, autoincrement=True, nullable=False),
        sa.Column("job_run_id", ID, nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("run_uuid", sa.String(length=64), nullable=True),
        sa.Column("state", sa.String(length=20), nullable=False),
        sa.Column("result", sa.String(length=20), nullable=True),
        sa.Column("cause", sa.String(length=20), nullable=True),
        sa.Column("exit_code", sa.Integer(), nullable=True),
        sa.Column("signal", sa.Integer(), nullable=True),
        sa.Column("failed_node", sa.Integer(), nullable=True),
        sa.Column("message", sa.Text(), nullable=False),
        sa.Column("num_nodes", sa.Integer(), nullable=False),
        sa.Column("handle_json", sa.Text(), nullable=True),
        sa.Column("token_sha256", sa.String(length=64), nullable=False),
        sa.Column("created_ms", sa.BigInteger(), nullable=False),
        sa.Column("started_ms", sa.BigInteger(), nullable=True),
        sa.Column("ended_ms", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(["job_run_id"], ["job_runs.id"], name="fk_attempts_job_run_id"),
        sa.PrimaryKeyConstraint("id", name="pk_attempts"),
        sa.UniqueConstraint("job_run_id", "number", name="uq_attempts_job_run_id_number"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_attempts_run_uuid", "attempts", ["run_uuid"])
    op.create_index("ix_attempts_state", "attempts", ["state"])
    op.create_index("ix_attempts_token_sha256", "attempts", ["token_sha256"])
    op.create_table(
        "input_tags",
        sa.Column("run_id", ID, nullable=False),
        sa.Column("dataset_id", ID, nullable=False),
        sa.Column("key", sa.String(length=255), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["dataset_id"], ["datasets.id"], name="fk_input_tags_dataset_id"),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name="fk_input_tags_run_id"),
        sa.PrimaryKeyConstraint("run_id", "dataset_id", "key", name="pk_input_tags"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "metric_blocks",
        sa.Column("id", ID, autoincrement=True, nullable=False),
        sa.Column("run_id", ID, nullable=False),
        sa.Column("points", sa.Integer(), nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name="fk_metric_blocks_run_id"),
        sa.PrimaryKeyConstraint("id", name="pk_metric_blocks"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_metric_blocks_run_id", "metric_blocks", ["run_id"])
    op.create_table(
        "metric_chunks",
        sa.Column("id", ID, autoincrement=True, nullable=False),
        sa.Column("run_id", ID, nullable=False),
        sa.Column("key_id", ID, nullable=False),
        sa.Column("points", sa.Integer(), nullable=False),
        sa.Column("step_min", sa.BigInteger(), nullable=False),
        sa.Column("step_max", sa.BigInteger(), nullable=False),
        sa.Column("timestamp_min_ms", sa.BigInteger(), nullable=False),
        sa.Column("timestamp_max_ms", sa.BigInteger(), nullable=False),
        sa.Column("first_step", sa.BigInteger(), nullable=False),
        sa.Column("last_step", sa.BigInteger(), nullable=False),
        sa.Column("value_min", sa.Double(), nullable=True),
        sa.Column("value_max", sa.Double(), nullable=True),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["key_id"], ["metric_keys.id"], name="fk_metric_chunks_key_id"),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name="fk_metric_chunks_run_id"),
        sa.PrimaryKeyConstraint("id", name="pk_metric_chunks"),
    )
    op.create_index(
        "ix_metric_chunks_run_id_key_id_timestamp_min_ms",
        "metric_chunks",
        ["run_id", "key_id", "timestamp_min_ms"],
    )
    op.create_table(
        "metric_latest",
        sa.Column("run_id", ID, nullable=False),
        sa.Column("key_id", ID, nullable=False),
        sa.Column("step", sa.BigInteger(), nullable=False),
        sa.Column("timestamp_ms", sa.BigInteger(), nullable=False),
        sa.Column("value", sa.Double(), nullable=False),
        sa.Column("is_nan", sa.Boolean(), nullable=False),
        sa.Column("min_value", sa.Double(), nullable=True),
        sa.Column("max_value", sa.Double(), nullable=True),
        sa.Column("first_step", sa.BigInteger(), nullable=False),
        sa.Column("first_timestamp_ms", sa.BigInteger(), nullable=False),
        sa.Column("first_value", sa.Double(), nullable=False),
        sa.Column("first_is_nan", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(["key_id"], ["metric_keys.id"], name="fk_metric_latest_key_id"),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name="fk_metric_latest_run_id"),
        sa.PrimaryKeyConstraint("run_id", "key_id", name="pk_metric_latest"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "params",
        sa.Column("run_id", ID, nullable=False),
        sa.Column("key", sa.String(length=250), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.Column("number", sa.Double(), nullable=True),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name="fk_params_run_id"),
        sa.PrimaryKeyConstraint("run_id", "key", name="pk_params"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "run_inputs",
        sa.Column("run_id", ID, nullable=False),
        sa.Column("dataset_id", ID, nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["dataset_id"], ["datasets.id"], name="fk_run_inputs_dataset_id"),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name="fk_run_inputs_run_id"),
        sa.PrimaryKeyConstraint("run_id", "dataset_id", name="pk_run_inputs"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "run_tags",
        sa.Column("run_id", ID, nullable=False),
        sa.Column("key", sa.String(length=250), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.Column("number", sa.Double(), nullable=True),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name="fk_run_tags_run_id"),
        sa.PrimaryKeyConstraint("run_id", "key", name="pk_run_tags"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "attempt_nodes",
        sa.Column("attempt_id", ID, nullable=False),
        sa.Column("node", sa.Integer(), nullable=False),
        sa.Column("state", sa.String(length=20), nullable=False),
        sa.Column("status_message", sa.Text(), nullable=False),
        sa.Column("host", sa.Text(), nullable=True),
        sa.Column("gpu_ids_json", sa.Text(), nullable=False),
        sa.Column("heartbeat_ms", sa.BigInteger(), nullable=True),
        sa.Column("relay_seq", sa.BigInteger(), nullable=False),
        sa.Column("log_bytes", sa.BigInteger(), nullable=False),
        sa.Column("exit_json", sa.Text(), nullable=True),
        sa.Column("started_ms", sa.BigInteger(), nullable=True),
        sa.Column("ended_ms", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(["attempt_id"], ["attempts.id"], name="fk_attempt_nodes_attempt_id"),
        sa.PrimaryKeyConstraint("attempt_id", "node", name="pk_attempt_nodes"),
    )
    op.create_table(
        "log_chunks",
        sa.Column("attempt_id", ID, nullable=False),
        sa.Column("node", sa.Integer(), nullable=False),
        sa.Column("offset", sa.BigInteger(), nullable=False),
        sa.Column("raw_bytes", sa.BigInteger(), nullable=False),
        sa.Column("first_line", sa.BigInteger(), nullable=False),
        sa.Column("lines", sa.BigInteger(), nullable=False),
        sa.Column("first_time_ns", sa.BigInteger(), nullable=False),
        sa.Column("last_time_ns", sa.BigInteger(), nullable=False),
        sa.Column("infos", sa.BigInteger(), nullable=False),
        sa.Column("warnings", sa.BigInteger(), nullable=False),
        sa.Column("errors", sa.BigInteger(), nullable=False),
        sa.Column("state_json", sa.Text(), nullable=False),
        sa.Column("blob", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["attempt_id"], ["attempts.id"], name="fk_log_chunks_attempt_id"),
        sa.PrimaryKeyConstraint("attempt_id", "node", "offset", name="pk_log_chunks"),
    )
    op.create_table(
        "log_tail",
        sa.Column("attempt_id", ID, nullable=False),
        sa.Column("node", sa.Integer(), nullable=False),
        sa.Column("offset", sa.BigInteger(), nullable=False),
        sa.Column("time_ns", sa.BigInteger(), nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["attempt_id"], ["attempts.id"], name="fk_log_tail_attempt_id"),
        sa.PrimaryKeyConstraint("attempt_id", "node", "offset", name="pk_log_tail"),
    )
