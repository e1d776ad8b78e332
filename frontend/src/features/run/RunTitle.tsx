import { type KeyboardEvent, useState } from "react";
import type { RunSummary } from "../../api/types";
import { t } from "../../messages";
import { IconButton } from "../../ui/Button";
import { useRunWrites } from "./writes";

/** The run's name; a click on the pencil makes it a field. Enter keeps, Escape forgets. */
export function RunTitle({ run }: { readonly run: RunSummary }) {
  const [draft, setDraft] = useState<string | null>(null);
  const { rename } = useRunWrites(run.run_id);
  if (draft === null) {
    return (
      <>
        <span className="run-name">{run.name}</span>
        <IconButton icon="pencil" label={t("run.rename")} onClick={() => setDraft(run.name)} />
      </>
    );
  }
  const keep = () => {
    const name = draft.trim();
    setDraft(null);
    if (name !== "" && name !== run.name) rename(name);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Enter") keep();
    if (event.key === "Escape") setDraft(null);
  };
  return (
    <input
      className="field run-name-field"
      aria-label={t("run.name")}
      value={draft}
      // biome-ignore lint/a11y/noAutofocus: the reader just asked for this field.
      autoFocus
      onFocus={(event) => event.target.select()}
      onChange={(event) => setDraft(event.target.value)}
      onBlur={keep}
      onKeyDown={onKeyDown}
    />
  );
}
