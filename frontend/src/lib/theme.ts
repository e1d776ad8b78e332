import { useSyncExternalStore } from "react";
import { readStored, writeStored } from "./storage";

export type ThemeChoice = "light" | "dark" | "system";
export type Theme = "light" | "dark";

const KEY = "contrail.theme";
const listeners = new Set<() => void>();
const systemDark = () => matchMedia("(prefers-color-scheme: dark)");

export function themeChoice(): ThemeChoice {
  const stored = readStored(KEY);
  return stored === "light" || stored === "dark" ? stored : "system";
}

export function setThemeChoice(choice: ThemeChoice): void {
  writeStored(KEY, choice === "system" ? null : choice);
  applyTheme();
}

function applyTheme(): void {
  const choice = themeChoice();
  document.documentElement.dataset.theme = choice === "system" ? (systemDark().matches ? "dark" : "light") : choice;
  for (const listener of listeners) listener();
}

/** Resolves the theme and keeps following the system's. Call once at start-up. */
export function startTheme(): void {
  applyTheme();
  systemDark().addEventListener("change", applyTheme);
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** The resolved theme; a component that draws on a canvas redraws when it changes. */
export function useTheme(): Theme {
  return useSyncExternalStore(subscribe, () => (document.documentElement.dataset.theme === "dark" ? "dark" : "light"));
}

/** The value of a colour token, e.g. `token("--line")`, for drawing outside CSS. */
export function token(name: `--${string}`): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}
