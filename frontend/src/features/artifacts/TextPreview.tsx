import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { formatBytes } from "../../lib/format";
import { highlight, syntaxOf } from "../../lib/highlight";
import { t } from "../../messages";
import { Button } from "../../ui/Button";
import { CopyButton } from "../../ui/CopyButton";
import { ErrorState, Loading } from "../../ui/EmptyState";
import { Markdown } from "../../ui/Markdown";
import { endingOf } from "./kinds";
import { TEXT_BYTES, textQuery } from "./queries";
import { TablePreview } from "./TablePreview";

interface TextProps {
  readonly runId: string;
  readonly path: string;
  readonly size: number | null;
}

/** Colouring more than this would be felt. */
const HIGHLIGHT_CHARS_MAX = 300_000;

/** Text with line numbers; the first part of a large file. A table that was logged as JSON shows as one. */
export function TextPreview({ runId, path, size }: TextProps) {
  const part = useText(runId, path);
  const logged = useMemo(() => endingOf(path) === "json" && isLoggedTable(part.text), [path, part.text]);
  const [asText, setAsText] = useState(false);
  if (part.error) return <ErrorState error={part.error} />;
  if (part.text === undefined) return <Loading />;
  return (
    <>
      {logged && (
        <Switch on={asText} left={t("artifacts.asTable")} right={t("artifacts.asText")} onChange={setAsText} />
      )}
      {logged && !asText ? <TablePreview runId={runId} path={path} /> : <Source text={part.text} path={path} />}
      {(!logged || asText) && <More part={part} size={size} />}
    </>
  );
}

export function MarkdownPreview({ runId, path, size }: TextProps) {
  const part = useText(runId, path);
  const [asText, setAsText] = useState(false);
  if (part.error) return <ErrorState error={part.error} />;
  if (part.text === undefined) return <Loading />;
  return (
    <>
      <Switch on={asText} left={t("artifacts.rendered")} right={t("artifacts.asText")} onChange={setAsText} />
      {asText ? <Source text={part.text} path={path} /> : <Markdown text={part.text} />}
      <More part={part} size={size} />
    </>
  );
}

interface TextPart {
  readonly text: string | undefined;
  readonly error: unknown;
  readonly limit: number;
  readonly more: () => void;
}

function useText(runId: string, path: string): TextPart {
  const [limit, setLimit] = useState(TEXT_BYTES);
  const { data, error } = useQuery({ ...textQuery(runId, path, limit), placeholderData: keepPreviousData });
  return { text: data, error, limit, more: () => setLimit(limit * 4) };
}

function More({ part, size }: { readonly part: TextPart; readonly size: number | null }) {
  if (size === null || size <= part.limit) return null;
  return (
    <p className="artifact-note">
      <span className="faint">
        {t("artifacts.partText", { size: formatBytes(part.limit), total: formatBytes(size) })}
      </span>{" "}
      <Button onClick={part.more}>{t("artifacts.moreText")}</Button>
    </p>
  );
}

function Source({ text, path }: { readonly text: string; readonly path: string }) {
  const shown = useMemo(() => readable(text, path), [text, path]);
  const syntax = syntaxOf(path);
  const pieces = useMemo(
    () => (syntax && shown.length <= HIGHLIGHT_CHARS_MAX ? highlight(shown, syntax) : [{ text: shown }]),
    [shown, syntax],
  );
  const lines = shown.split("\n").length - (shown.endsWith("\n") ? 1 : 0);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolled region must be reachable by keyboard.
    <div className="artifact-source" tabIndex={0}>
      <pre className="artifact-lines" aria-hidden="true">
        {Array.from({ length: lines }, (_, index) => index + 1).join("\n")}
      </pre>
      <pre className="artifact-text">
        {pieces.map((piece, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a piece is its place in the text.
          <span key={index} className={"tone" in piece ? `tone-${piece.tone}` : undefined}>
            {piece.text}
          </span>
        ))}
      </pre>
      <CopyButton text={text} what={path} />
    </div>
  );
}

/** JSON that was written on one line is laid out; everything else stays as it is. */
function readable(text: string, path: string): string {
  if (endingOf(path) !== "json" || text.trimEnd().includes("\n")) return text;
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

/** `mlflow.log_table` writes `{"columns": […], "data": [[…], …]}`. */
function isLoggedTable(text: string | undefined): boolean {
  return text !== undefined && /^\s*\{\s*"columns"\s*:\s*\[/.test(text) && /"data"\s*:\s*\[/.test(text);
}

interface SwitchProps {
  readonly on: boolean;
  readonly left: string;
  readonly right: string;
  readonly onChange: (on: boolean) => void;
}

function Switch({ on, left, right, onChange }: SwitchProps) {
  return (
    <div className="artifact-switch">
      <Button aria-pressed={!on} onClick={() => onChange(false)}>
        {left}
      </Button>
      <Button aria-pressed={on} onClick={() => onChange(true)}>
        {right}
      </Button>
    </div>
  );
}
