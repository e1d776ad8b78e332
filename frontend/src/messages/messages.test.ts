import { describe, expect, it } from "vitest";
import { loadLanguage, t } from ".";
import { en } from "./en";
import { ko } from "./ko";
import type { Message } from "./types";

const holes = (text: string) => [...text.matchAll(/\{(\w+)\}/g)].map(([, name]) => name).sort();
const forms = (message: Message) => (typeof message === "string" ? [message] : Object.values(message));

describe("Korean", () => {
  it.each(Object.entries(en))("%s has the holes of the English message in every form", (key, message: Message) => {
    const wanted = holes(forms(message).at(-1) ?? "");
    for (const form of forms(ko[key as keyof typeof en])) expect(holes(form)).toEqual(wanted);
  });

  it("says something for everything", () => {
    for (const message of Object.values(ko)) for (const form of forms(message)) expect(form).not.toBe("");
  });
});

describe("t", () => {
  it("fills holes, groups digits and picks the plural form", () => {
    expect(t("runs.count", { count: 1 })).toBe("1 run");
    expect(t("runs.count", { count: 12345 })).toBe("12,345 runs");
    expect(t("jobs.id", { id: "12345" })).toBe("Job 12345");
  });

  it("speaks Korean after it was loaded", async () => {
    globalThis.document = { documentElement: {} } as Document;
    await loadLanguage("ko");
    expect(t("runs.count", { count: 2 })).toBe("실행 2개");
    await loadLanguage("en");
  });
});
