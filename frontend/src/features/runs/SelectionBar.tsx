import { useState } from "react";
import { useLocation } from "wouter";
import { useShortcuts } from "../../lib/keys";
import type { View } from "../../lib/viewState";
import { t } from "../../messages";
import { Button, IconButton } from "../../ui/Button";
import { NameDialog } from "../../ui/NameDialog";
import { useRunActions } from "./actions";
import { TagDialog } from "./TagDialog";
import type { TableRow } from "./useRuns";
import type { Selection } from "./useSelection";

interface SelectionBarProps {
  readonly selection: Selection;
  readonly rows: readonly TableRow[];
  readonly lifecycle: View["lifecycle"];
}

/** What can be done with the selected runs; takes the place of the toolbar's left side. */
export function SelectionBar({ selection, rows, lifecycle }: SelectionBarProps) {
  const [, navigate] = useLocation();
  const [dialog, setDialog] = useState<"tag" | "rename" | null>(null);
  const actions = useRunActions();
  const ids = [...selection.ids];
  const count = ids.length;
  const compare = () => navigate(`/compare?runs=${ids.join(",")}`);
  useShortcuts([{ keys: "c", label: t("runs.key.compare"), run: compare }]);
  const only = count === 1 ? rows.find((row) => row.run_id === ids[0]) : undefined;
  const leaveWith = (work: Promise<void>) => void work.then(selection.clear);
  return (
    <div className="selection-bar">
      <IconButton icon="close" label={t("runs.clear")} onClick={selection.clear} />
      <strong>{t("runs.selected", { count })}</strong>
      {lifecycle === "deleted" ? (
        <Button onClick={() => leaveWith(actions.restore(ids))}>{t("common.restore")}</Button>
      ) : (
        <>
          <Button kind="primary" onClick={compare}>
            {t("runs.compare")}
          </Button>
          <Button onClick={() => setDialog("tag")}>{t("runs.tag")}</Button>
          {only && <Button onClick={() => setDialog("rename")}>{t("common.rename")}</Button>}
          <Button icon="trash" onClick={() => leaveWith(actions.remove(ids))}>
            {t("common.delete")}
          </Button>
        </>
      )}
      {dialog === "tag" && (
        <TagDialog
          count={count}
          onTag={(key, value) => void actions.tag(ids, key, value)}
          onClose={() => setDialog(null)}
        />
      )}
      {dialog === "rename" && only && (
        <NameDialog
          label={t("runs.newName")}
          title={t("runs.rename")}
          name={only.name}
          onName={(name) => void actions.rename(only.run_id, name)}
          onClose={() => setDialog(null)}
        />
      )}
    </div>
  );
}
