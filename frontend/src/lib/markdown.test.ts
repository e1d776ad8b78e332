import { describe, expect, it } from "vitest";
import { inline, parseMarkdown } from "./markdown";

describe("blocks", () => {
  it("reads headings, paragraphs, rules and code", () => {
    expect(parseMarkdown("# Title\n\none\ntwo\n\n---\n```py\nx = '<b>'\n```")).toEqual([
      { kind: "heading", level: 1, text: ["Title"] },
      { kind: "paragraph", text: ["one\ntwo"] },
      { kind: "rule" },
      { kind: "code", text: "x = '<b>'" },
    ]);
  });

  it("reads nested and numbered lists", () => {
    expect(parseMarkdown("- a\n  - b\n- c\n\n3. x\n4. y")).toEqual([
      {
        kind: "list",
        ordered: false,
        start: 1,
        items: [
          [
            { kind: "paragraph", text: ["a"] },
            { kind: "list", ordered: false, start: 1, items: [[{ kind: "paragraph", text: ["b"] }]] },
          ],
          [{ kind: "paragraph", text: ["c"] }],
        ],
      },
      {
        kind: "list",
        ordered: true,
        start: 3,
        items: [[{ kind: "paragraph", text: ["x"] }], [{ kind: "paragraph", text: ["y"] }]],
      },
    ]);
  });

  it("reads tables, and fills short rows", () => {
    expect(parseMarkdown("| a | b |\n|---|--:|\n| 1 | 2 |\n| 3 |")).toEqual([
      {
        kind: "table",
        head: [["a"], ["b"]],
        rows: [
          [["1"], ["2"]],
          [["3"], []],
        ],
      },
    ]);
  });

  it("reads quotes, and ends an unclosed fence with the text", () => {
    expect(parseMarkdown("> q\n> r")).toEqual([{ kind: "quote", blocks: [{ kind: "paragraph", text: ["q\nr"] }] }]);
    expect(parseMarkdown("```\nopen")).toEqual([{ kind: "code", text: "open" }]);
  });

  it("ends on any input", () => {
    for (const odd of [">".repeat(500), "- ".repeat(500), "*".repeat(999), "[".repeat(999), "|\n-", "`".repeat(99)]) {
      expect(parseMarkdown(odd).length).toBeGreaterThanOrEqual(0);
    }
  });
});

describe("inside a line", () => {
  it("reads weights, code and links", () => {
    expect(inline("**b** *i* ~~s~~ `c` [t](https://x.y)")).toEqual([
      { kind: "strong", text: ["b"] },
      " ",
      { kind: "em", text: ["i"] },
      " ",
      { kind: "strike", text: ["s"] },
      " ",
      { kind: "code", text: "c" },
      " ",
      { kind: "link", href: "https://x.y", text: ["t"] },
    ]);
  });

  it("leaves snake_case names and escaped signs alone", () => {
    expect(inline("learning_rate_max")).toEqual(["learning_rate_max"]);
    expect(inline("\\*no\\*")).toEqual(["*", "no", "*"]);
  });

  it("makes no link of anything but web and mail addresses", () => {
    expect(inline("[x](javascript:alert(1))")[0]).toBe("x");
    expect(inline("[x](data:text/html,hi)")).toEqual(["x"]);
    expect(inline("see https://a.b/c.")[1]).toEqual({ kind: "link", href: "https://a.b/c", text: ["https://a.b/c"] });
  });

  it("shows HTML as it is written", () => {
    expect(inline("<script>alert(1)</script>")).toEqual(["<script>alert(1)</script>"]);
  });
});
