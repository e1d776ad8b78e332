import { useSyncExternalStore } from "react";
import { t } from "../messages";
import { Button, IconButton } from "./Button";

export interface Toast {
  readonly message: string;
  readonly kind?: "info" | "error";
  readonly action?: { readonly label: string; readonly run: () => void };
}

const SHOWN_MS = 8000;
const SHOWN_MAX = 3;

let toasts: readonly (Toast & { readonly id: number })[] = [];
let nextId = 1;
const listeners = new Set<() => void>();

function change(next: typeof toasts): void {
  toasts = next;
  for (const listener of listeners) listener();
}

/** Shows a short message; errors stay until dismissed. */
export function toast(message: Toast): void {
  const id = nextId++;
  change([...toasts, { ...message, id }].slice(-SHOWN_MAX));
  if (message.kind !== "error") setTimeout(() => dismiss(id), SHOWN_MS);
}

export function toastError(error: unknown): void {
  toast({ kind: "error", message: error instanceof Error ? error.message : String(error) });
}

function dismiss(id: number): void {
  change(toasts.filter((item) => item.id !== id));
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function Toasts() {
  const shown = useSyncExternalStore(subscribe, () => toasts);
  return (
    <div className="toasts" role="status" aria-live="polite">
      {shown.map(({ id, message, kind = "info", action }) => (
        <div key={id} className={`toast toast-${kind}`}>
          <span className="toast-text">{message}</span>
          {action && (
            <Button
              kind="quiet"
              onClick={() => {
                dismiss(id);
                action.run();
              }}
            >
              {action.label}
            </Button>
          )}
          <IconButton icon="close" label={t("common.dismiss")} onClick={() => dismiss(id)} />
        </div>
      ))}
    </div>
  );
}
