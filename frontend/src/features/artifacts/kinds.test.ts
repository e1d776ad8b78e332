import { expect, it } from "vitest";
import { ancestorsOf, baseName, parentOf, previewOf } from "./kinds";

it("chooses the preview by the ending, whatever its case", () => {
  expect(
    ["a.PNG", "b.csv", "c.parquet", "d.md", "e.html", "f.pdf", "g.wav", "h.mp4", "i.yaml", "x.svg"].map((p) =>
      previewOf(p, 1),
    ),
  ).toEqual(["image", "table", "table", "markdown", "html", "pdf", "audio", "video", "text", "image"]);
});

it("opens small files without a telling name as text, large ones and weights never", () => {
  expect(previewOf("model/MLmodel", 10)).toBe("text");
  expect(previewOf("notes", 100)).toBe("text");
  expect(previewOf("notes", 10_000_000)).toBe("none");
  expect(previewOf("notes", null)).toBe("none");
  expect(previewOf("model.safetensors", 100)).toBe("none");
});

it("takes paths apart", () => {
  expect([baseName("a/b.txt"), parentOf("a/b.txt"), parentOf("b.txt")]).toEqual(["b.txt", "a", ""]);
  expect(ancestorsOf("a/b/c.txt")).toEqual(["a", "a/b"]);
});
