import { type FormEvent, useId, useState } from "react";
import { t } from "../messages";
import { Button } from "./Button";
import { Dialog } from "./Dialog";

interface NameDialogProps {
  readonly title: string;
  readonly label: string;
  readonly name: string;
  readonly onName: (name: string) => void;
  readonly onClose: () => void;
}

/** Asks for one name, of something new or something to rename. */
export function NameDialog({ title, label, name, onName, onClose }: NameDialogProps) {
  const [text, setText] = useState(name);
  const form = useId();
  const submit = (event: FormEvent) => {
    event.preventDefault();
    onClose();
    if (text.trim() !== name) onName(text.trim());
  };
  return (
    <Dialog
      title={title}
      onClose={onClose}
      footer={<FormButtons form={form} disabled={!text.trim()} close={onClose} />}
    >
      <form id={form} onSubmit={submit}>
        <label className="form-row">
          {label}
          <input className="field" value={text} onChange={(event) => setText(event.target.value)} />
        </label>
      </form>
    </Dialog>
  );
}

/** Cancel and Save of a form in a dialog. */
export function FormButtons(props: { readonly form: string; readonly disabled: boolean; readonly close: () => void }) {
  return (
    <>
      <Button onClick={props.close}>{t("common.cancel")}</Button>
      <Button kind="primary" type="submit" form={props.form} disabled={props.disabled}>
        {t("common.save")}
      </Button>
    </>
  );
}
