import { Link } from "wouter";
import type { Num } from "../../api/types";
import { runColour } from "../../lib/colours";
import { exactNumber, formatNumber } from "../../lib/format";
import { t } from "../../messages";
import { Icon } from "../../ui/icons";
import { StatusBadge } from "../../ui/StatusBadge";
import { Duration, Time } from "../../ui/Time";
import { type Attribute, parseColumnId } from "./columns";
import type { TreeRow } from "./tree";
import type { Folding } from "./useFolding";
import type { TableRow } from "./useRuns";

const INDENT_PX = 18;

interface RunNameProps {
  readonly row: TreeRow;
  /** Whether any row can be folded: then all names leave room for the button. */
  readonly families: boolean;
  readonly folding: Folding;
}

export function RunName({ row, families, folding }: RunNameProps) {
  const name = row.name || row.run_id;
  const folded = folding.ids.has(row.run_id);
  return (
    <span className="run-name" style={row.depth > 0 ? { paddingInlineStart: row.depth * INDENT_PX } : undefined}>
      {row.children > 0 ? (
        <button
          type="button"
          className="run-fold"
          aria-expanded={!folded}
          aria-label={t("runs.childrenOf", { name, count: row.children })}
          onClick={() => folding.toggle(row.run_id)}
        >
          <Icon name={folded ? "chevronRight" : "chevronDown"} size={12} />
        </button>
      ) : (
        families && <span className="run-fold" />
      )}
      <i className="run-dot" style={{ background: runColour(row.run_id) }} />
      <Link href={`/runs/${row.run_id}`} className="plain ellipsis" title={row.name}>
        {name}
      </Link>
      {folded && row.children > 0 && <span className="faint">{row.children}</span>}
      {row.parent_run_id && row.depth === 0 && (
        <Link href={`/runs/${row.parent_run_id}`} className="run-parent" title={t("runs.parentOpen")}>
          {t("runs.child")}
        </Link>
      )}
      {row.depth > 0 && <span className="visually-hidden">{t("runs.child")}</span>}
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
