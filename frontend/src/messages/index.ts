import { readStored, writeStored } from "../lib/storage";
import { en } from "./en";
import type { Message } from "./types";

export type MessageKey = keyof typeof en;
export type Language = "en" | "ko";
export type Values = Readonly<Record<string, string | number>>;

const KEY = "contrail.language";
let language: Language = "en";
let messages: Readonly<Record<MessageKey, Message>> = en;

/** The reader's choice, else what the browser prefers. */
export function preferredLanguage(): Language {
  const stored = readStored(KEY);
  if (stored === "en" || stored === "ko") return stored;
  return navigator.languages.some((tag) => tag.startsWith("ko")) ? "ko" : "en";
}

/** Loads a language (Korean is its own chunk) and makes `t` speak it. The caller renders the app anew. */
export async function loadLanguage(wanted: Language): Promise<void> {
  messages = wanted === "ko" ? (await import("./ko")).ko : en;
  language = wanted;
  document.documentElement.lang = wanted;
}

export function rememberLanguage(wanted: Language): void {
  writeStored(KEY, wanted);
}

/** The language in use; also the locale for `Intl`. */
export function currentLanguage(): Language {
  return language;
}

/** The message in the reader's language, its `{holes}` filled. Plural forms are chosen by `values.count`. */
export function t(key: MessageKey, values: Values = {}): string {
  const message = messages[key];
  const text = typeof message === "string" ? message : pluralForm(message, Number(values.count));
  return text.replace(/\{(\w+)\}/g, (hole, name: string) => formatValue(values[name]) ?? hole);
}

function pluralForm(message: Exclude<Message, string>, count: number): string {
  const form = new Intl.PluralRules(language).select(count);
  return form === "one" && message.one !== undefined ? message.one : message.other;
}

function formatValue(value: string | number | undefined): string | undefined {
  return typeof value === "number" ? new Intl.NumberFormat(language).format(value) : value;
}
