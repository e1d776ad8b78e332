import { ApiError } from "../../api/client";
import { t } from "../../messages";
import { Button } from "../../ui/Button";
import { EmptyState, ErrorState } from "../../ui/EmptyState";
import type { LogState } from "./session";

interface LogEmptyProps {
  readonly state: LogState;
  readonly filtering: boolean;
  readonly onClear: () => void;
}

/** Why there is nothing to read: each reason in its own sentence. */
export function LogEmpty({ state, filtering, onClear }: LogEmptyProps) {
  const { error, emptyReason, message, ended } = state;
  if (error instanceof ApiError && error.status === 403) {
    return (
      <EmptyState title={t("logs.forbidden")}>
        {error.message}
        {"\n"}
        {t("logs.forbiddenHint")}
      </EmptyState>
    );
  }
  if (error) return <ErrorState error={error} />;
  if (emptyReason === "expired") {
    return <EmptyState title={t("logs.expired")}>{message ?? t("logs.expiredHint")}</EmptyState>;
  }
  if (emptyReason === "not_started")
    return <EmptyState title={t("logs.notStarted")}>{t("logs.notStartedHint")}</EmptyState>;
  if (emptyReason === "no_match" || filtering) {
    return (
      <EmptyState title={t("logs.noMatch")} action={<Button onClick={onClear}>{t("logs.clearFilter")}</Button>}>
        {t("logs.noMatchHint")}
      </EmptyState>
    );
  }
  return ended ? (
    <EmptyState title={t("logs.noOutputEver")}>{t("logs.noOutputEverHint")}</EmptyState>
  ) : (
    <EmptyState title={t("logs.noOutput")}>{t("logs.noOutputHint")}</EmptyState>
  );
}
