import { useEffect, useRef, useSyncExternalStore } from "react";
import { readStored, writeStored } from "./storage";

/** Keyboard shortcuts: `"g e"` is a sequence, `"shift+x"` and `"mod+k"` (Ctrl or Cmd) are chords. */

export interface Shortcut {
  readonly keys: string;
  /** What it does, in the reader's language; shown on the `?` sheet. */
  readonly label: string;
  readonly run: (event: KeyboardEvent) => void;
}

const SEQUENCE_MS = 1000;
const SETTING = "contrail.keys";

const scopes = new Set<{ readonly current: readonly Shortcut[] }>();
const listeners = new Set<() => void>();
let prefix = "";
let prefixAt = 0;

export function shortcutsEnabled(): boolean {
  return readStored(SETTING) !== "off";
}

export function setShortcutsEnabled(enabled: boolean): void {
  writeStored(SETTING, enabled ? null : "off");
  for (const listener of listeners) listener();
}

/** `mod+k`, `shift+x`, `?`: letters carry `shift+`, signs are already shifted by the keyboard. */
export function keyName(event: Pick<KeyboardEvent, "key" | "ctrlKey" | "metaKey" | "altKey" | "shiftKey">): string {
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  const letter = /^[a-z]$/.test(key) || key.length > 1;
  return [
    event.ctrlKey || event.metaKey ? "mod+" : "",
    event.altKey ? "alt+" : "",
    event.shiftKey && letter ? "shift+" : "",
    key,
  ].join("");
}

function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target.isContentEditable || target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement)
    return true;
  return target instanceof HTMLInputElement && !["checkbox", "radio", "button", "range"].includes(target.type);
}

function find(keys: string): Shortcut | undefined {
  // The scope mounted last is the innermost one.
  for (const scope of [...scopes].reverse()) {
    const hit = scope.current.find((shortcut) => shortcut.keys === keys);
    if (hit) return hit;
  }
  return undefined;
}

function onKeyDown(event: KeyboardEvent): void {
  if (event.defaultPrevented || event.isComposing) return;
  const name = keyName(event);
  const chord = name.startsWith("mod+");
  if (!chord && (!shortcutsEnabled() || isTyping(event.target) || document.querySelector("dialog[open]"))) return;
  const sequence = prefix && event.timeStamp - prefixAt < SEQUENCE_MS ? find(`${prefix} ${name}`) : undefined;
  // A key may act by itself and begin a sequence too.
  prefix = sequence ? "" : name;
  prefixAt = event.timeStamp;
  const hit = sequence ?? find(name);
  if (!hit) return;
  event.preventDefault();
  hit.run(event);
}

/** Binds shortcuts while the component is mounted. Single keys rest while a field has focus or a dialog is open. */
export function useShortcuts(shortcuts: readonly Shortcut[]): void {
  const scope = useRef(shortcuts);
  useEffect(() => {
    scope.current = shortcuts;
  });
  useEffect(() => {
    if (scopes.size === 0) document.addEventListener("keydown", onKeyDown);
    scopes.add(scope);
    for (const listener of listeners) listener();
    return () => {
      scopes.delete(scope);
      if (scopes.size === 0) document.removeEventListener("keydown", onKeyDown);
    };
  }, []);
}

/** Everything bound right now, outermost scope first: what the `?` sheet shows. */
export function activeShortcuts(): Shortcut[] {
  return [...scopes].flatMap((scope) => [...scope.current]);
}

export function useShortcutsEnabled(): boolean {
  return useSyncExternalStore((listener) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  }, shortcutsEnabled);
}
