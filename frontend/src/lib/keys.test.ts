import { expect, it } from "vitest";
import { keyName } from "./keys";

const NO_MODIFIERS = { ctrlKey: false, metaKey: false, altKey: false, shiftKey: false };

it.each([
  [{ key: "x" }, "x"],
  [{ key: "X", shiftKey: true }, "shift+x"],
  [{ key: "?", shiftKey: true }, "?"],
  [{ key: "k", ctrlKey: true }, "mod+k"],
  [{ key: "k", metaKey: true }, "mod+k"],
  [{ key: "ArrowDown" }, "ArrowDown"],
  [{ key: "Enter", shiftKey: true }, "shift+Enter"],
])("%j is named %s", (event, name) => {
  expect(keyName({ ...NO_MODIFIERS, ...event })).toBe(name);
});
