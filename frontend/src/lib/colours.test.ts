import { expect, it } from "vitest";
import { runColour, runStyles, SERIES_COLOURS } from "./colours";

const NON_TEXT_CONTRAST = 3;
const BACKGROUNDS = ["#ffffff", "#0f1216"];

function luminance(hex: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
    const part = Number.parseInt(hex.slice(at, at + 2), 16) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function contrast(a: string, b: string): number {
  const [dark = 0, light = 0] = [luminance(a), luminance(b)].sort((x, y) => x - y);
  return (light + 0.05) / (dark + 0.05);
}

it.each(SERIES_COLOURS)("%s can be seen on both backgrounds", (colour) => {
  for (const background of BACKGROUNDS) expect(contrast(colour, background)).toBeGreaterThanOrEqual(NON_TEXT_CONTRAST);
});

it("a run always has the same colour", () => {
  expect(runColour("4f2a")).toBe(runColour("4f2a"));
});

it("runs drawn together never share colour and dash up to four times the list", () => {
  const ids = Array.from({ length: 40 }, (_, index) => `run-${index}`);
  const styles = [...runStyles(ids).values()].map(({ colour, dash }) => `${colour} ${dash.join()}`);
  expect(new Set(styles).size).toBe(40);
});
