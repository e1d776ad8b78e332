import { Fragment, type ReactNode, useMemo } from "react";
import "./markdown.css";
import { type Block, type Inline, parseMarkdown } from "../lib/markdown";

/** Markdown as elements and text nodes. Its headings begin below the page's own. */
export function Markdown({ text }: { readonly text: string }) {
  const blocks = useMemo(() => parseMarkdown(text), [text]);
  return <div className="markdown">{blocks.map(renderBlock)}</div>;
}

function renderBlock(block: Block, index: number): ReactNode {
  switch (block.kind) {
    case "heading": {
      const Tag = `h${Math.min(6, block.level + 1)}` as "h2";
      return <Tag key={index}>{renderInline(block.text)}</Tag>;
    }
    case "paragraph":
      return <p key={index}>{renderInline(block.text)}</p>;
    case "code":
      return <pre key={index}>{block.text}</pre>;
    case "quote":
      return <blockquote key={index}>{block.blocks.map(renderBlock)}</blockquote>;
    case "rule":
      return <hr key={index} />;
    case "list":
      return <List key={index} block={block} />;
    case "table":
      return <Table key={index} block={block} />;
  }
}

function List({ block }: { readonly block: Extract<Block, { kind: "list" }> }) {
  const items = block.items.map((item, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: parsed text has no identity but its place.
    <li key={index}>
      {item.map((one, at) => (at === 0 && one.kind === "paragraph" ? renderInline(one.text) : renderBlock(one, at)))}
    </li>
  ));
  return block.ordered ? <ol start={block.start}>{items}</ol> : <ul>{items}</ul>;
}

function Table({ block }: { readonly block: Extract<Block, { kind: "table" }> }) {
  const cell = (text: readonly Inline[], at: number, Tag: "th" | "td") => <Tag key={at}>{renderInline(text)}</Tag>;
  return (
    <table className="table">
      <thead>
        <tr>{block.head.map((text, at) => cell(text, at, "th"))}</tr>
      </thead>
      <tbody>
        {block.rows.map((row, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: parsed text has no identity but its place.
          <tr key={at}>{row.map((text, column) => cell(text, column, "td"))}</tr>
        ))}
      </tbody>
    </table>
  );
}

function renderInline(parts: readonly Inline[]): ReactNode {
  return parts.map((part, index) => {
    if (typeof part === "string") return part;
    // biome-ignore lint/suspicious/noArrayIndexKey: parsed text has no identity but its place.
    return <Fragment key={index}>{renderToken(part)}</Fragment>;
  });
}

function renderToken(part: Exclude<Inline, string>): ReactNode {
  switch (part.kind) {
    case "code":
      return <code>{part.text}</code>;
    case "strong":
      return <strong>{renderInline(part.text)}</strong>;
    case "em":
      return <em>{renderInline(part.text)}</em>;
    case "strike":
      return <s>{renderInline(part.text)}</s>;
    case "link":
      return (
        <a href={part.href} target="_blank" rel="noreferrer noopener">
          {renderInline(part.text)}
        </a>
      );
  }
}
