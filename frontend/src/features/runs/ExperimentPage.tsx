import { useQuery } from "@tanstack/react-query";
import { lazy, Suspense, useMemo, useState } from "react";
import { useLocation, useParams, useSearch } from "wouter";
import { mlflowUrl, request } from "../../api/client";
import { columnsQuery } from "../../api/queries";
import type { ColumnInfo } from "../../api/types";
import { t } from "../../messages";
import { IconButton } from "../../ui/Button";
import { CopyButton } from "../../ui/CopyButton";
import { ErrorState, Loading } from "../../ui/EmptyState";
import { Menu } from "../../ui/Menu";
import { NameDialog } from "../../ui/NameDialog";
import { PageHeader } from "../../ui/Page";
import { Tabs } from "../../ui/Tabs";
import { useExperimentActions } from "../experiments/actions";
import { RunsTab } from "./RunsTab";
import "./runs.css";
import { useRuns } from "./useRuns";
import { useSelection } from "./useSelection";
import { useView } from "./useView";

// The table must not wait for the charts' code.
const ChartsTab = lazy(() => import("./ChartsTab").then((module) => ({ default: module.ChartsTab })));

interface Experiment {
  readonly experiment_id: string;
  readonly name: string;
  readonly lifecycle_stage: string;
  readonly artifact_location: string;
}

const NO_COLUMNS: readonly ColumnInfo[] = [];

export default function ExperimentPage() {
  const { id = "" } = useParams<{ id: string }>();
  return <ExperimentView key={id} id={id} />;
}

function ExperimentView({ id }: { readonly id: string }) {
  const experimentIds = useMemo(() => [id], [id]);
  const experiment = useQuery({
    queryKey: ["experiment", id],
    queryFn: ({ signal }) =>
      request<{ experiment: Experiment }>(mlflowUrl("experiments/get", { experiment_id: id }), { signal }),
    select: (answer) => answer.experiment,
  });
  const columns = useQuery({ ...columnsQuery(experimentIds), refetchInterval: 15_000 });
  if (experiment.isError) return <ErrorState error={experiment.error} retry={() => void experiment.refetch()} />;
  if (!experiment.data) return <Loading />;
  const known = columns.data?.columns ?? (columns.isError ? NO_COLUMNS : undefined);
  return <Loaded experiment={experiment.data} known={known} experimentIds={experimentIds} />;
}

interface LoadedProps {
  readonly experiment: Experiment;
  /** Undefined while it is being asked for. */
  readonly known: readonly ColumnInfo[] | undefined;
  readonly experimentIds: readonly string[];
}

function Loaded({ experiment, known, experimentIds }: LoadedProps) {
  const id = experiment.experiment_id;
  const [, navigate] = useLocation();
  const search = new URLSearchParams(useSearch());
  const tab = search.get("tab") === "charts" ? "charts" : "runs";
  const control = useView(id, known);
  // On the first visit the suggested columns decide what the first request asks for.
  const runs = useRuns(experimentIds, control.view, control.view.columns.length > 0 || known !== undefined);
  const selection = useSelection();
  const href = (to: string) => {
    const next = new URLSearchParams(search);
    if (to === "runs") next.delete("tab");
    else next.set("tab", to);
    const text = next.toString();
    return `/experiments/${id}${text && `?${text}`}`;
  };
  return (
    <div className={tab === "runs" ? "page-full" : "page-wide"}>
      <PageHeader
        title={experiment.name}
        documentTitle={experiment.name}
        crumbs={[{ label: t("nav.experiments"), href: "/experiments" }]}
        facts={
          <span className="fact-id">
            <span>{t("experiments.id", { id })}</span>
            <CopyButton text={id} what={t("experiments.idName")} />
          </span>
        }
        actions={<ExperimentMenu experiment={experiment} />}
      />
      <Tabs
        label={experiment.name}
        current={tab}
        navigate={navigate}
        items={[
          { id: "runs", label: t("runs.tab"), href: href("runs") },
          { id: "charts", label: t("runs.charts"), href: href("charts") },
        ]}
      />
      {tab === "charts" ? (
        <Suspense fallback={<Loading />}>
          <ChartsTab rows={runs.rows} known={known ?? NO_COLUMNS} selection={selection} />
        </Suspense>
      ) : (
        <RunsTab
          experimentIds={experimentIds}
          experimentName={experiment.name}
          known={known ?? NO_COLUMNS}
          control={control}
          runs={runs}
          selection={selection}
        />
      )}
    </div>
  );
}

function ExperimentMenu({ experiment }: { readonly experiment: Experiment }) {
  const [renaming, setRenaming] = useState(false);
  const [, navigate] = useLocation();
  const actions = useExperimentActions();
  const { experiment_id: id, name } = experiment;
  const deleted = experiment.lifecycle_stage === "deleted";
  return (
    <>
      <Menu
        label={t("common.more")}
        align="end"
        trigger={(trigger) => <IconButton icon="more" label={t("common.more")} {...trigger} />}
        items={[
          { label: t("common.rename"), onSelect: () => setRenaming(true) },
          deleted
            ? { label: t("common.restore"), onSelect: () => void actions.restore(id) }
            : {
                label: t("common.delete"),
                icon: "trash",
                danger: true,
                onSelect: () => void actions.remove(id, name).then(() => navigate("/experiments")),
              },
        ]}
      />
      {renaming && (
        <NameDialog
          label={t("runs.newName")}
          title={t("experiments.rename")}
          name={name}
          onName={(next) => void actions.rename(id, next)}
          onClose={() => setRenaming(false)}
        />
      )}
    </>
  );
}
