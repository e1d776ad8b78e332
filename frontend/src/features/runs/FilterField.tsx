import { type RefObject, useEffect, useId, useRef, useState } from "react";
import { t } from "../../messages";
import { IconButton } from "../../ui/Button";
import { Icon } from "../../ui/icons";

interface FilterFieldProps {
  readonly value: string;
  readonly onChange: (value: string) => void;
  /** What the server says is wrong with it. */
  readonly error: string | null;
  readonly input: RefObject<HTMLInputElement | null>;
}

/** Long enough to finish a word, short enough to feel live. */
const TYPING_MS = 400;

/** Applies while typing; Enter applies at once, Escape leaves the field. */
export function FilterField({ value, onChange, error, input }: FilterFieldProps) {
  const [draft, setDraft] = useState(value);
  const [typing, setTyping] = useState(false);
  const errorId = useId();
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => setDraft(value), [value]);
  useEffect(() => () => clearTimeout(timer.current), []);
  const apply = (text: string) => {
    clearTimeout(timer.current);
    setTyping(false);
    onChange(text);
  };
  const type = (text: string) => {
    setDraft(text);
    setTyping(true);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => apply(text), TYPING_MS);
  };
  return (
    <div className="filter">
      <Icon name="filter" />
      <input
        ref={input}
        className="filter-input"
        aria-label={t("runs.filter")}
        placeholder={t("runs.filterHint")}
        aria-invalid={error !== null}
        aria-describedby={error ? errorId : undefined}
        spellCheck={false}
        autoComplete="off"
        value={draft}
        onChange={(event) => type(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === "Enter") apply(draft);
          if (event.key === "Escape") event.currentTarget.blur();
        }}
      />
      {draft && <IconButton icon="close" label={t("runs.filterClear")} onClick={() => apply("")} />}
      {error && !typing && (
        <p id={errorId} className="filter-error" role="alert">
          {error}
        </p>
      )}
    </div>
  );
}
