import { describe, expect, it } from "vitest";
import { markHits, paletteColour, parse, plain } from "./ansi";

const E = "\u001b";

describe("parse", () => {
  it("gives a line without escapes as one span", () => {
    expect(parse("loss=0.25")).toEqual([{ text: "loss=0.25" }]);
    expect(parse("")).toEqual([]);
  });

  it("names the sixteen colours by number and keeps weights", () => {
    expect(parse(`${E}[1;31mError${E}[0m: no`)).toEqual([{ text: "Error", fg: 1, bold: true }, { text: ": no" }]);
    expect(parse(`${E}[92mok${E}[39m`)[0]).toMatchObject({ text: "ok", fg: 10 });
    expect(parse(`${E}[2;3;4;9mx`)[0]).toEqual({ text: "x", dim: true, italic: true, underline: true, strike: true });
  });

  it("resolves 256 colours and true colours to red, green, blue", () => {
    expect(parse(`${E}[38;5;208mx`)[0]?.fg).toBe("255, 135, 0");
    expect(parse(`${E}[38;5;9mx`)[0]?.fg).toBe(9);
    expect(parse(`${E}[48;2;1;2;3mx`)[0]?.bg).toBe("1, 2, 3");
  });

  it("swaps the colours of reverse video", () => {
    expect(parse(`${E}[7mx`)[0]).toMatchObject({ fg: 0, bg: 7 });
  });

  it("drops cursor movement, titles and links but keeps their text", () => {
    expect(plain(`${E}[2K${E}[1Gdone`)).toBe("done");
    expect(plain(`${E}]0;title\u0007body`)).toBe("body");
    expect(plain(`${E}]8;;https://x${E}\\link${E}]8;;${E}\\`)).toBe("link");
    expect(plain(`a${E}(Bb`)).toBe("ab");
  });

  it("never lets markup through as anything but text", () => {
    const evil = `${E}[31m<img src=x onerror=alert(1)>${E}[0m`;
    expect(parse(evil)).toEqual([{ text: "<img src=x onerror=alert(1)>", fg: 1 }]);
  });

  it("survives broken and cut escapes", () => {
    for (const broken of [`x${E}`, `x${E}[`, `x${E}[3`, `x${E}[38;5`, `x${E}[999m`, `x${E}]0;t`, `${E}[38;2;1mx`]) {
      const text = parse(broken)
        .map((s) => s.text)
        .join("");
      expect(text).not.toContain(E);
      expect(text.startsWith("x")).toBe(true);
    }
  });

  it("gives the same text as `plain`", () => {
    for (const line of [`a${E}[31mb${E}[0mc`, "tab\there", `${E}[1mx${E}[22my`, `${E}[2Kq`]) {
      expect(
        parse(line)
          .map((s) => s.text)
          .join(""),
      ).toBe(plain(line));
    }
  });
});

describe("markHits", () => {
  it("cuts spans at the hits and numbers them", () => {
    const spans = parse(`${E}[31mabc${E}[0mdef`);
    expect(markHits(spans, [[1, 5]])).toEqual([
      { text: "a", fg: 1 },
      { text: "bc", fg: 1, hit: 0 },
      { text: "de", hit: 0 },
      { text: "f" },
    ]);
  });

  it("keeps the text whole whatever the hits", () => {
    const spans = parse("one two two");
    const marked = markHits(spans, [
      [0, 3],
      [4, 7],
      [8, 11],
    ]);
    expect(marked.map((s) => s.text).join("")).toBe("one two two");
    expect(marked.filter((s) => s.hit !== undefined).map((s) => s.text)).toEqual(["one", "two", "two"]);
  });
});

it("knows the palette's cube and greys", () => {
  expect(paletteColour(16)).toBe("0, 0, 0");
  expect(paletteColour(231)).toBe("255, 255, 255");
  expect(paletteColour(244)).toBe("128, 128, 128");
});
