import type { RunSummary } from "../../api/types";
import { t } from "../../messages";
import { IconButton } from "../../ui/Button";
import { copyText } from "../../ui/CopyButton";
import { Menu } from "../../ui/Menu";
import { toast, toastError } from "../../ui/Toast";
import { useRunWrites } from "./writes";

export function RunMenu({ run }: { readonly run: RunSummary }) {
  const { remove, restore } = useRunWrites(run.run_id);
  const copyId = () => copyText(run.run_id).then(() => toast({ message: t("run.idCopied") }), toastError);
  const deleted = run.lifecycle === "deleted";
  return (
    <Menu
      label={t("run.actions")}
      align="end"
      items={[
        { label: t("run.copyId"), icon: "copy", onSelect: () => void copyId() },
        "line",
        deleted
          ? { label: t("common.restore"), onSelect: restore }
          : { label: t("run.delete"), icon: "trash", danger: true, onSelect: remove },
      ]}
      trigger={(trigger) => <IconButton icon="more" label={t("run.actions")} {...trigger} />}
    />
  );
}
