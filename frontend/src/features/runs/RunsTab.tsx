import { useRef } from "react";
import { ApiError, apiUrl } from "../../api/client";
import type { ColumnInfo } from "../../api/types";
import { useShortcuts } from "../../lib/keys";
import { t } from "../../messages";
import { Button, IconButton } from "../../ui/Button";
import { copyText } from "../../ui/CopyButton";
import { EmptyState, ErrorState, Loading } from "../../ui/EmptyState";
import { Icon } from "../../ui/icons";
import { toast, toastError } from "../../ui/Toast";
import { ColumnChooser } from "./ColumnChooser";
import { filterOf } from "./columns";
import { FilterField } from "./FilterField";
import { RunsTable } from "./RunsTable";
import { SelectionBar } from "./SelectionBar";
import { runsQuery, type useRuns, useUnfilteredTotal } from "./useRuns";
import type { Selection } from "./useSelection";
import type { ViewControl } from "./useView";

interface RunsTabProps {
  readonly experimentIds: readonly string[];
  readonly experimentName: string;
  readonly known: readonly ColumnInfo[];
  readonly control: ViewControl;
  readonly runs: ReturnType<typeof useRuns>;
  readonly selection: Selection;
}

export function RunsTab({ experimentIds, experimentName, known, control, runs, selection }: RunsTabProps) {
  const { view, change } = control;
  const filterInput = useRef<HTMLInputElement>(null);
  useShortcuts([{ keys: "/", label: t("runs.key.filter"), run: () => filterInput.current?.focus() }]);
  const filterError = runs.error instanceof ApiError && runs.error.status === 400 ? runs.error.message : null;
  const loadMore = () => {
    if (runs.hasNextPage && !runs.isFetching) void runs.fetchNextPage();
  };
  return (
    <div className="runs-tab">
      {control.shared && <SharedNote control={control} />}
      <div className="toolbar">
        {selection.ids.size > 0 ? (
          <SelectionBar selection={selection} rows={runs.rows} lifecycle={view.lifecycle} />
        ) : (
          <FilterField
            value={view.filter}
            onChange={(filter) => change({ filter })}
            error={filterError}
            input={filterInput}
          />
        )}
        <div className="toolbar-end">
          <Count total={runs.total} experimentIds={experimentIds} control={control} />
          <select
            className="field"
            aria-label={t("runs.lifecycle")}
            value={view.lifecycle}
            onChange={(event) => {
              selection.clear();
              change({ lifecycle: event.target.value === "deleted" ? "deleted" : "active" });
            }}
          >
            <option value="active">{t("runs.active")}</option>
            <option value="deleted">{t("runs.trash")}</option>
          </select>
          <ColumnChooser view={view} change={change} known={known} />
          <ViewLinks experimentIds={experimentIds} experimentName={experimentName} control={control} />
        </div>
      </div>
      {runs.isPending && <Loading />}
      {runs.error && !filterError && runs.rows.length === 0 ? (
        <ErrorState error={runs.error} retry={() => void runs.refetch()} />
      ) : (
        <RunsTable
          rows={runs.rows}
          total={runs.total}
          view={view}
          change={change}
          selection={selection}
          onEndReached={loadMore}
          empty={runs.isSuccess && <NoRuns control={control} experimentName={experimentName} />}
        />
      )}
    </div>
  );
}

function SharedNote({ control }: { readonly control: ViewControl }) {
  return (
    <div className="shared-note" role="note">
      <span>{t("runs.shared")}</span>
      <Button onClick={control.keep}>{t("runs.keepView")}</Button>
      <Button kind="quiet" onClick={control.reset}>
        {t("runs.ownView")}
      </Button>
    </div>
  );
}

interface CountProps {
  readonly total: number | null;
  readonly experimentIds: readonly string[];
  readonly control: ViewControl;
}

function Count({ total, experimentIds, control }: CountProps) {
  const all = useUnfilteredTotal(experimentIds, control.view);
  if (total === null) return null;
  const filtered = filterOf(control.view.filter) !== "" && typeof all === "number";
  return (
    <span className="muted" aria-live="polite">
      {filtered ? t("runs.countOf", { count: total, total: all }) : t("runs.count", { count: total })}
    </span>
  );
}

interface ViewLinksProps {
  readonly experimentIds: readonly string[];
  readonly experimentName: string;
  readonly control: ViewControl;
}

function ViewLinks({ experimentIds, experimentName, control }: ViewLinksProps) {
  const query = runsQuery(experimentIds, control.view);
  const copyLink = () => copyText(location.href).then(() => toast({ message: t("runs.linkCopied") }), toastError);
  return (
    <>
      <IconButton icon="link" label={t("runs.copyLink")} onClick={copyLink} />
      <a
        className="icon-button"
        href={apiUrl("runs/export.csv", { q: JSON.stringify(query) })}
        download={`${experimentName}.csv`}
        aria-label={t("runs.export")}
        title={t("runs.export")}
      >
        <Icon name="download" />
      </a>
    </>
  );
}

function NoRuns({ control, experimentName }: { readonly control: ViewControl; readonly experimentName: string }) {
  const { view, change } = control;
  if (filterOf(view.filter)) {
    return (
      <EmptyState
        title={t("runs.noneMatch")}
        action={<Button onClick={() => change({ filter: "" })}>{t("runs.filterClear")}</Button>}
      />
    );
  }
  if (view.lifecycle === "deleted") return <EmptyState title={t("runs.noneTrash")} />;
  return (
    <EmptyState title={t("runs.none")} code={firstRunCode(experimentName)}>
      {t("runs.noneHint")}
    </EmptyState>
  );
}

/** The shortest program that fills this table. */
export function firstRunCode(experimentName: string): string {
  const address = new URL(document.baseURI).href.replace(/\/$/, "");
  return [
    "import mlflow",
    "",
    `mlflow.set_tracking_uri("${address}")`,
    `mlflow.set_experiment(${JSON.stringify(experimentName)})`,
    "with mlflow.start_run():",
    '    mlflow.log_metric("loss", 0.5, step=1)',
  ].join("\n");
}
