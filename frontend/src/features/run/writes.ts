import { useQueryClient } from "@tanstack/react-query";
import { mlflowPost } from "../../api/client";
import type { RunSummary } from "../../api/types";
import { t } from "../../messages";
import { toast, toastError } from "../../ui/Toast";

/** MLflow's tag that holds a run's notes. */
export const NOTES = "mlflow.note.content";

export interface RunWrites {
  readonly rename: (name: string) => void;
  readonly remove: () => void;
  readonly restore: () => void;
  readonly setTag: (key: string, value: string) => void;
  readonly deleteTag: (key: string) => void;
}

/** Changes to one run. The page shows a change at once; a failure is said and the stored state comes back. */
export function useRunWrites(runId: string): RunWrites {
  const queries = useQueryClient();
  const key = ["run", runId];
  const write = async (path: string, body: object, change: (run: RunSummary) => RunSummary, done?: () => void) => {
    queries.setQueryData<RunSummary>(key, (run) => run && change(run));
    await mlflowPost(path, { run_id: runId, ...body }).then(done, toastError);
    // Lists of runs show the same facts.
    await queries.invalidateQueries({ predicate: ({ queryKey }) => String(queryKey[0]).startsWith("run") });
  };
  const restore = () =>
    void write(
      "runs/restore",
      {},
      (run) => ({ ...run, lifecycle: "active" }),
      () => toast({ message: t("run.restoredToast") }),
    );
  return {
    restore,
    rename: (name) => void write("runs/update", { run_name: name }, (run) => ({ ...run, name })),
    remove: () =>
      void write(
        "runs/delete",
        {},
        (run) => ({ ...run, lifecycle: "deleted" }),
        () => toast({ message: t("run.deletedToast"), action: { label: t("common.undo"), run: restore } }),
      ),
    setTag: (tag, value) =>
      void write("runs/set-tag", { key: tag, value }, (run) => ({ ...run, tags: { ...run.tags, [tag]: value } })),
    deleteTag: (tag) =>
      void write("runs/delete-tag", { key: tag }, (run) => {
        const { [tag]: _, ...tags } = run.tags;
        return { ...run, tags };
      }),
  };
}
