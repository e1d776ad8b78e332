import { renderToStaticMarkup } from "react-dom/server";
import { expect, it } from "vitest";
import { Markdown } from "./Markdown";

it("renders HTML in Markdown as text", () => {
  const html = renderToStaticMarkup(<Markdown text={"<img src=x onerror=alert(1)>\n\n[x](javascript:alert(1))"} />);
  expect(html).not.toContain("<img");
  expect(html).not.toContain("href");
});

it("renders links so that they cannot reach back", () => {
  const html = renderToStaticMarkup(<Markdown text="[x](https://a.b)" />);
  expect(html).toContain('rel="noreferrer noopener"');
});
