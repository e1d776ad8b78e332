import { t } from "../messages";
import { en } from "../messages/en";

type Tone = "live" | "wait" | "ok" | "error" | "warn" | "off";

const TONES: Readonly<Record<string, Tone>> = {
  RUNNING: "live",
  PENDING: "live",
  TERMINATING: "live",
  SCHEDULED: "wait",
  QUEUED: "wait",
  WAITING_FOR_RETRY: "wait",
  FINISHED: "ok",
  SUCCESS: "ok",
  FAILED: "error",
  INTERNAL_ERROR: "error",
  TIMEDOUT: "warn",
  KILLED: "off",
  CANCELED: "off",
  TERMINATED: "off",
};

/** The state in words; a state this build does not know is shown as it came. */
export function stateLabel(status: string): string {
  const key = `state.${status}`;
  return key in en ? t(key as keyof typeof en) : status;
}

/** A mark whose shape and colour both say the state, and the word. `compact` leaves the word to the title. */
export function StatusBadge({ status, compact = false }: { readonly status: string; readonly compact?: boolean }) {
  const tone = TONES[status] ?? "off";
  const label = stateLabel(status);
  return (
    <span className={`status status-${tone}`} title={compact ? label : undefined}>
      <StatusMark tone={tone} />
      {compact ? <span className="visually-hidden">{label}</span> : label}
    </span>
  );
}

function StatusMark({ tone }: { readonly tone: Tone }) {
  return (
    <svg className="status-mark" width="12" height="12" viewBox="0 0 12 12" fill="none" aria-hidden="true">
      {tone === "wait" && <circle cx="6" cy="6" r="4.2" strokeDasharray="2.2 2.2" />}
      {tone === "live" && (
        <>
          <circle cx="6" cy="6" r="4.2" opacity=".35" />
          <path d="M6 1.8A4.2 4.2 0 0 1 10.2 6" className="status-spin" />
        </>
      )}
      {tone === "ok" && <path d="m2.2 6.4 2.5 2.5 5.1-5.6" />}
      {tone === "error" && <path d="m2.8 2.8 6.4 6.4m0-6.4-6.4 6.4" />}
      {tone === "warn" && <path d="M6 2v5M6 9.6v.1" />}
      {tone === "off" && <path d="M2.5 6h7" />}
    </svg>
  );
}
