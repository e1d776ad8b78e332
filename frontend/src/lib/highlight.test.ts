import { expect, it } from "vitest";
import { highlight, syntaxOf } from "./highlight";

const tones = (source: string, syntax: Parameters<typeof highlight>[1]) =>
  highlight(source, syntax)
    .filter((piece) => piece.tone)
    .map((piece) => `${piece.tone}:${piece.text}`);

it("never loses a character", () => {
  for (const syntax of ["json", "yaml", "python", "code"] as const) {
    for (const source of [
      '{"a": [1, "x#y", null]}',
      "# c\na: 1 # d\nb: 'q",
      "def f(x='#'):\n  return 1e-3 # no",
      "/* open",
      '"""open',
    ]) {
      expect(
        highlight(source, syntax)
          .map((piece) => piece.text)
          .join(""),
      ).toBe(source);
    }
  }
});

it("tells keys from strings in JSON", () => {
  expect(tones('{"lr": 0.1, "name": "lr"}', "json")).toEqual(['key:"lr"', "number:0.1", 'key:"name"', 'string:"lr"']);
});

it("takes no # inside a string for a comment", () => {
  expect(tones("x = '#1'  # one", "python")).toEqual(["string:'#1'", "comment:# one"]);
});

it("reads keys and comments of YAML", () => {
  expect(tones("a.b: true # why\n- c: 3", "yaml")).toEqual([
    "key:a.b",
    "word:true",
    "comment:# why",
    "key:c",
    "number:3",
  ]);
});

it("knows files by their names", () => {
  expect([syntaxOf("model/MLmodel"), syntaxOf("a/b.PY"), syntaxOf("notes.txt")]).toEqual(["yaml", "python", null]);
});
