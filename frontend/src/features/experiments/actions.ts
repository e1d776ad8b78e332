import { useQueryClient } from "@tanstack/react-query";
import { useCallback } from "react";
import { mlflowPost } from "../../api/client";
import { t } from "../../messages";
import { toast, toastError } from "../../ui/Toast";

export interface ExperimentActions {
  readonly create: (name: string) => Promise<string | null>;
  readonly rename: (id: string, name: string) => Promise<void>;
  readonly remove: (id: string, name: string) => Promise<void>;
  readonly restore: (id: string) => Promise<void>;
}

/** What can be done to experiments. Failures are shown; lists are refreshed in any case. */
export function useExperimentActions(): ExperimentActions {
  const queries = useQueryClient();
  const write = useCallback(
    async (work: Promise<unknown>, done?: () => void) => {
      await work.then(done, toastError);
      await queries.invalidateQueries({ predicate: ({ queryKey }) => String(queryKey[0]).startsWith("experiment") });
    },
    [queries],
  );
  const restore = useCallback((id: string) => write(mlflowPost("experiments/restore", { experiment_id: id })), [write]);
  const remove = useCallback(
    (id: string, name: string) =>
      write(mlflowPost("experiments/delete", { experiment_id: id }), () =>
        toast({
          message: t("experiments.deleted", { name }),
          action: { label: t("common.undo"), run: () => void restore(id) },
        }),
      ),
    [write, restore],
  );
  const rename = useCallback(
    (id: string, name: string) => write(mlflowPost("experiments/update", { experiment_id: id, new_name: name })),
    [write],
  );
  const create = useCallback(
    async (name: string) => {
      let id: string | null = null;
      const work = mlflowPost<{ experiment_id: string }>("experiments/create", { name });
      await write(work.then((answer) => (id = answer.experiment_id)));
      return id;
    },
    [write],
  );
  return { create, rename, remove, restore };
}
