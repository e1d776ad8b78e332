import { useMemo } from "react";
import { isLive } from "../../api/queries";
import type { RunSummary } from "../../api/types";
import { ChartGrid } from "../../charts/ChartGrid";
import { t } from "../../messages";
import { EmptyState } from "../../ui/EmptyState";
import { systemCards } from "./systemCards";

export default function SystemTab({ run }: { readonly run: RunSummary }) {
  const names = run.metrics.map((metric) => metric.key).join("\n");
  const cards = useMemo(() => systemCards(names.split("\n")), [names]);
  const live = isLive(run.status);
  const runs = useMemo(() => [{ id: run.run_id, name: run.name, live }], [run.run_id, run.name, live]);
  if (cards.length > 0) return <ChartGrid runs={runs} cards={cards} timeOnly />;
  if (run.job_run_id !== null && live) {
    return <EmptyState title={t("run.systemNone")}>{t("run.systemSoon")}</EmptyState>;
  }
  return (
    <EmptyState title={t("run.systemNone")} code="mlflow.enable_system_metrics_logging()">
      {t("run.systemNoneHint")}
    </EmptyState>
  );
}
