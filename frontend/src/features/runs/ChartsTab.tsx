import { useMemo } from "react";
import { isLive } from "../../api/queries";
import type { ColumnInfo } from "../../api/types";
import { ChartGrid } from "../../charts/ChartGrid";
import { t } from "../../messages";
import { EmptyState } from "../../ui/EmptyState";
import type { TableRow } from "./useRuns";
import type { Selection } from "./useSelection";

interface ChartsTabProps {
  readonly rows: readonly TableRow[];
  readonly known: readonly ColumnInfo[];
  readonly selection: Selection;
}

/** More lines than this cannot be told apart; a selection may still ask for them. */
const CHARTED_RUNS = 10;

/** Charts of the selected runs, else of the first ten in the table's order. */
export function ChartsTab({ rows, known, selection }: ChartsTabProps) {
  const chosen = useMemo(() => {
    const selected = rows.filter((row) => selection.ids.has(row.run_id));
    return selected.length > 0 ? selected : rows.slice(0, CHARTED_RUNS);
  }, [rows, selection.ids]);
  const runs = useMemo(
    () =>
      chosen.map((row) => ({
        id: row.run_id,
        name: row.name,
        live: isLive(row.status),
        ...(row.attempt_number !== null && { detail: t("run.attempt", { n: row.attempt_number + 1 }) }),
      })),
    [chosen],
  );
  const keys = useMemo(() => known.filter(({ kind }) => kind === "metric").map(({ key }) => key), [known]);
  if (rows.length === 0 || keys.length === 0)
    return (
      <EmptyState title={t("runs.nothingToDraw")} code={'mlflow.log_metric("loss", 0.5, step=1)'}>
        {t("charts.noneHint")}
      </EmptyState>
    );
  const count = selection.ids.size;
  return (
    <ChartGrid
      runs={runs}
      keys={keys}
      actions={
        <span className="muted">
          {count > 0 ? t("runs.chartsSelected", { count }) : t("runs.chartsWhich", { count: runs.length })}
        </span>
      }
    />
  );
}
