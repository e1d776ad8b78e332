import { type FormEvent, useState } from "react";
import type { RunSummary } from "../../api/types";
import { t } from "../../messages";
import { Button, IconButton } from "../../ui/Button";
import { useRunWrites } from "./writes";

/** Tags that the system writes; they have their own places on the page. */
const INTERNAL = /^(mlflow|contrail)\./;

export function Tags({ run }: { readonly run: RunSummary }) {
  const { setTag, deleteTag } = useRunWrites(run.run_id);
  const [adding, setAdding] = useState(false);
  const own = Object.entries(run.tags)
    .filter(([key]) => !INTERNAL.test(key))
    .sort(([a], [b]) => a.localeCompare(b));
  return (
    <section className="section">
      <div className="section-header">
        <h2>{t("run.tags")}</h2>
        <Button kind="quiet" onClick={() => setAdding(!adding)} aria-expanded={adding}>
          {t("run.tagAdd")}
        </Button>
      </div>
      {adding && <TagForm onAdd={setTag} onClose={() => setAdding(false)} />}
      {own.length === 0 && !adding && <p className="muted">{t("run.tagsNone")}</p>}
      <ul className="tags">
        {own.map(([key, value]) => (
          <li key={key} className="tag">
            <span className="tag-key">{key}</span>
            <span>{value}</span>
            <IconButton icon="close" label={t("run.tagRemove", { key })} onClick={() => deleteTag(key)} />
          </li>
        ))}
      </ul>
    </section>
  );
}

interface TagFormProps {
  readonly onAdd: (key: string, value: string) => void;
  readonly onClose: () => void;
}

function TagForm({ onAdd, onClose }: TagFormProps) {
  const [key, setKey] = useState("");
  const [value, setValue] = useState("");
  const submit = (event: FormEvent) => {
    event.preventDefault();
    onAdd(key.trim(), value);
    onClose();
  };
  return (
    <form className="tag-form" onSubmit={submit} onKeyDown={(event) => event.key === "Escape" && onClose()}>
      <input
        className="field"
        placeholder={t("run.tagKey")}
        aria-label={t("run.tagKey")}
        value={key}
        // biome-ignore lint/a11y/noAutofocus: the reader just asked for this field.
        autoFocus
        onChange={(event) => setKey(event.target.value)}
      />
      <input
        className="field"
        placeholder={t("run.tagValue")}
        aria-label={t("run.tagValue")}
        value={value}
        onChange={(event) => setValue(event.target.value)}
      />
      <Button kind="primary" type="submit" disabled={key.trim() === ""}>
        {t("common.save")}
      </Button>
    </form>
  );
}
