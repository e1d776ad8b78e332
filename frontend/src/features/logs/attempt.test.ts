import { expect, it } from "vitest";
import { readAttempt } from "./LogView";

it("shows the newest attempt unless the address names one that exists", () => {
  const read = (text: string) => readAttempt(new URLSearchParams(text), [0, 1, 2]);
  expect(read("")).toBeNull();
  expect(read("attempt=")).toBeNull();
  expect(read("attempt=7")).toBeNull();
  expect(read("attempt=x")).toBeNull();
  expect(read("attempt=0")).toBe(0);
  expect(readAttempt(new URLSearchParams("attempt=0"), undefined)).toBeNull();
});
