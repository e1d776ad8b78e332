import { useInfiniteQuery } from "@tanstack/react-query";
import { t } from "../../messages";
import { EmptyState, ErrorState, Loading } from "../../ui/EmptyState";
import { ArtifactPreview } from "./ArtifactPreview";
import { ArtifactTree } from "./ArtifactTree";
import "./artifacts.css";
import { folderQuery } from "./queries";

interface ArtifactsViewProps {
  readonly runId: string;
  /** The chosen file or folder; empty for none. */
  readonly path: string;
  /** Where a path is shown, e.g. `/runs/abc/artifacts/plots/a.png`. */
  readonly hrefOf: (path: string) => string;
}

/** The files of a run: a tree, and beside it what the chosen one holds. */
export function ArtifactsView({ runId, path, hrefOf }: ArtifactsViewProps) {
  const root = useInfiniteQuery(folderQuery(runId, ""));
  if (root.isError) return <ErrorState error={root.error} retry={() => void root.refetch()} />;
  if (!root.data) return <Loading />;
  if (root.data.pages.every((page) => page.artifacts.length === 0)) {
    return (
      <EmptyState title={t("artifacts.none")} code={EXAMPLE}>
        {t("artifacts.noneHint")}
      </EmptyState>
    );
  }
  return (
    <div className="artifacts">
      <ArtifactTree runId={runId} current={path} hrefOf={hrefOf} />
      <div className="artifacts-view">
        {path === "" ? (
          <p className="muted artifacts-hint">{t("artifacts.choose")}</p>
        ) : (
          <ArtifactPreview key={path} runId={runId} path={path} hrefOf={hrefOf} />
        )}
      </div>
    </div>
  );
}

const EXAMPLE = `mlflow.log_artifact("confusion_matrix.png")
mlflow.log_table(predictions, "predictions.json")`;
