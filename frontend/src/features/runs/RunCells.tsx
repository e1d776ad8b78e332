import { Link } from "wouter";
import type { Num } from "../../api/types";
import { runColour } from "../../lib/colours";
import { exactNumber, formatNumber } from "../../lib/format";
import { t } from "../../messages";
import { Icon } from "../../ui/icons";
import { StatusBadge } from "../../ui/StatusBadge";
import { Duration, Time } from "../../ui/Time";
import { type Attribute, parseColumnId } from "./columns";
import type { TableRow } from "./useRuns";

export function RunName({ row }: { readonly row: TableRow }) {
  return (
    <span className="run-name">
      {row.parent_run_id && (
        <span className="run-child" title={t("runs.child")}>
          <Icon name="chevronRight" size={12} />
          <span className="visually-hidden">{t("runs.child")}</span>
        </span>
      )}
      <i className="run-dot" style={{ background: runColour(row.run_id) }} />
      <Link href={`/runs/${row.run_id}`} className="plain ellipsis" title={row.name}>
        {row.name || row.run_id}
      </Link>
    </span>
  );
}

export function AttributeCell({ row, attribute }: { readonly row: TableRow; readonly attribute: Attribute }) {
  switch (attribute) {
    case "status":
      return <StatusBadge status={row.status} />;
    case "started":
      return <Time ms={row.start_ms} />;
    case "ended":
      return <Time ms={row.end_ms} />;
    case "duration":
      return <Duration start_ms={row.start_ms} end_ms={row.end_ms} live={row.status === "RUNNING"} />;
    case "user":
      return row.user;
    case "job":
      return <AttemptLink row={row} />;
    case "run_id":
      return <span className="mono">{row.run_id}</span>;
  }
}

function AttemptLink({ row }: { readonly row: TableRow }) {
  if (row.job_run_id === null) return null;
  const job = String(row.job_run_id);
  const attempt = String((row.attempt_number ?? 0) + 1);
  return (
    <Link href={`/jobs/${job}`} title={t("runs.attempt", { job, attempt })}>
      {t("runs.attemptShort", { job, attempt })}
    </Link>
  );
}

export function ValueCell({ value, id }: { readonly value: Num | null; readonly id: string }) {
  if (value === null) return <span className="faint">–</span>;
  if (parseColumnId(id)?.kind !== "metric") return <span title={String(value)}>{String(value)}</span>;
  return <span title={exactNumber(value)}>{formatNumber(value)}</span>;
}
