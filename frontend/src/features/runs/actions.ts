import { useQueryClient } from "@tanstack/react-query";
import { useCallback } from "react";
import { mlflowPost } from "../../api/client";
import { t } from "../../messages";
import { toast, toastError } from "../../ui/Toast";

/** Writes sent side by side; each is one small request. */
const PARALLEL_MAX = 8;

/** Runs `write` for each id, a few at a time; throws the first failure after the others are done. */
async function forEach(ids: readonly string[], write: (id: string) => Promise<unknown>): Promise<void> {
  const rest = [...ids];
  const failures: unknown[] = [];
  const worker = async () => {
    for (let id = rest.pop(); id !== undefined; id = rest.pop()) await write(id).catch((error) => failures.push(error));
  };
  await Promise.all(Array.from({ length: PARALLEL_MAX }, worker));
  if (failures.length > 0) throw failures[0];
}

export interface RunActions {
  readonly remove: (runIds: readonly string[]) => Promise<void>;
  readonly restore: (runIds: readonly string[]) => Promise<void>;
  readonly rename: (runId: string, name: string) => Promise<void>;
  readonly tag: (runIds: readonly string[], key: string, value: string) => Promise<void>;
}

/** What can be done to runs. Failures are shown; lists are refreshed in any case. */
export function useRunActions(): RunActions {
  const queries = useQueryClient();
  const write = useCallback(
    async (work: Promise<unknown>, done?: () => void) => {
      await work.then(done, toastError);
      await queries.invalidateQueries({ predicate: ({ queryKey }) => String(queryKey[0]).startsWith("run") });
    },
    [queries],
  );

  const restore = useCallback(
    (runIds: readonly string[]) =>
      write(
        forEach(runIds, (run_id) => mlflowPost("runs/restore", { run_id })),
        () => toast({ message: t("runs.restored", { count: runIds.length }) }),
      ),
    [write],
  );
  const remove = useCallback(
    (runIds: readonly string[]) =>
      write(
        forEach(runIds, (run_id) => mlflowPost("runs/delete", { run_id })),
        () =>
          toast({
            message: t("runs.deleted", { count: runIds.length }),
            action: { label: t("common.undo"), run: () => void restore(runIds) },
          }),
      ),
    [write, restore],
  );
  const rename = useCallback(
    (run_id: string, run_name: string) => write(mlflowPost("runs/update", { run_id, run_name })),
    [write],
  );
  const tag = useCallback(
    (runIds: readonly string[], key: string, value: string) =>
      write(
        forEach(runIds, (run_id) => mlflowPost("runs/set-tag", { run_id, key, value })),
        () => toast({ message: t("runs.tagged", { count: runIds.length }) }),
      ),
    [write],
  );
  return { remove, restore, rename, tag };
}
