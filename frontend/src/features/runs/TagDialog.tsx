import { type FormEvent, useId, useState } from "react";
import { t } from "../../messages";
import { Dialog } from "../../ui/Dialog";
import { FormButtons } from "../../ui/NameDialog";

interface TagDialogProps {
  readonly count: number;
  readonly onTag: (key: string, value: string) => void;
  readonly onClose: () => void;
}

export function TagDialog({ count, onTag, onClose }: TagDialogProps) {
  const [key, setKey] = useState("");
  const [value, setValue] = useState("");
  const form = useId();
  const submit = (event: FormEvent) => {
    event.preventDefault();
    onClose();
    onTag(key.trim(), value);
  };
  return (
    <Dialog
      title={t("runs.tagTitle", { count })}
      onClose={onClose}
      footer={<FormButtons form={form} disabled={!key.trim()} close={onClose} />}
    >
      <form id={form} onSubmit={submit} className="form-rows">
        <label className="form-row">
          {t("runs.tagKey")}
          <input className="field" value={key} onChange={(event) => setKey(event.target.value)} />
        </label>
        <label className="form-row">
          {t("runs.tagValue")}
          <input className="field" value={value} onChange={(event) => setValue(event.target.value)} />
        </label>
      </form>
    </Dialog>
  );
}
