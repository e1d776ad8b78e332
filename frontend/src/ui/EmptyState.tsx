import type { ReactNode } from "react";
import { ApiError } from "../api/client";
import { t } from "../messages";
import { Button } from "./Button";
import { CopyButton } from "./CopyButton";

interface EmptyStateProps {
  readonly title: string;
  readonly children?: ReactNode;
  /** Lines that would fill the page: shown as code with a copy button. */
  readonly code?: string;
  readonly action?: ReactNode;
}

/** Says why there is nothing here, and what would change that. */
export function EmptyState({ title, children, code, action }: EmptyStateProps) {
  return (
    <div className="empty">
      <h2>{title}</h2>
      {children && <div className="empty-text">{children}</div>}
      {code && (
        <div className="code-block">
          <pre>{code}</pre>
          <CopyButton text={code} what={t("common.copy")} />
        </div>
      )}
      {action}
    </div>
  );
}

/** The same for a failed read: the server's own words and a way to try again. */
export function ErrorState({ error, retry }: { readonly error: unknown; readonly retry?: () => void }) {
  const lost = error instanceof ApiError && error.status === 404;
  const unreachable = error instanceof ApiError && error.status === 0;
  const message = unreachable ? t("common.unreachable") : error instanceof Error ? error.message : String(error);
  return (
    <div className="empty" role="alert">
      <h2>{lost ? t("common.notFound") : t("common.failed")}</h2>
      <div className="empty-text">{message}</div>
      {retry && !lost && <Button onClick={retry}>{t("common.retry")}</Button>}
    </div>
  );
}

/** A quiet placeholder that appears only when waiting takes long enough to notice. */
export function Loading() {
  return (
    <div className="loading" role="status">
      <span className="visually-hidden">{t("common.loading")}</span>
    </div>
  );
}
