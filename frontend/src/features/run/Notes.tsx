import { useState } from "react";
import type { RunSummary } from "../../api/types";
import { t } from "../../messages";
import { Button, IconButton } from "../../ui/Button";
import { Markdown } from "../../ui/Markdown";
import { NOTES, useRunWrites } from "./writes";

/** Notes in Markdown, kept in MLflow's own tag so that other tools see them too. */
export function Notes({ run }: { readonly run: RunSummary }) {
  const stored = run.tags[NOTES] ?? "";
  const [draft, setDraft] = useState<string | null>(null);
  const { setTag } = useRunWrites(run.run_id);
  const save = () => {
    if (draft !== null && draft !== stored) setTag(NOTES, draft);
    setDraft(null);
  };
  return (
    <section>
      <div className="section-header">
        <h2>{t("run.notes")}</h2>
        {draft === null && <IconButton icon="pencil" label={t("run.notesEdit")} onClick={() => setDraft(stored)} />}
      </div>
      {draft === null ? (
        stored === "" ? (
          <p className="muted">{t("run.notesNone")}</p>
        ) : (
          <Markdown text={stored} />
        )
      ) : (
        <div className="notes-form">
          <textarea
            className="field"
            rows={8}
            aria-label={t("run.notes")}
            placeholder={t("run.notesHint")}
            value={draft}
            // biome-ignore lint/a11y/noAutofocus: the reader just asked for this field.
            autoFocus
            onChange={(event) => setDraft(event.target.value)}
            onKeyDown={(event) => event.key === "Enter" && (event.ctrlKey || event.metaKey) && save()}
          />
          <div className="notes-actions">
            <Button onClick={() => setDraft(null)}>{t("common.cancel")}</Button>
            <Button kind="primary" onClick={save}>
              {t("common.save")}
            </Button>
          </div>
        </div>
      )}
    </section>
  );
}
