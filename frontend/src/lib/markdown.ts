/**
 * The Markdown that people write in notes and READMEs, as data. Rendered to elements and text nodes only, so nothing in it
 * can become markup; HTML in the source is shown as written.
 *
 * Headings, paragraphs, lists (nested), quotes, fenced code, tables, rules; bold, italic, strike, code, links.
 */

export type Block =
  | { readonly kind: "heading"; readonly level: number; readonly text: readonly Inline[] }
  | { readonly kind: "paragraph"; readonly text: readonly Inline[] }
  | { readonly kind: "code"; readonly text: string }
  | { readonly kind: "quote"; readonly blocks: readonly Block[] }
  | {
      readonly kind: "list";
      readonly ordered: boolean;
      readonly start: number;
      readonly items: readonly (readonly Block[])[];
    }
  | {
      readonly kind: "table";
      readonly head: readonly (readonly Inline[])[];
      readonly rows: readonly (readonly (readonly Inline[])[])[];
    }
  | { readonly kind: "rule" };

export type Inline =
  | string
  | { readonly kind: "strong" | "em" | "strike"; readonly text: readonly Inline[] }
  | { readonly kind: "code"; readonly text: string }
  | { readonly kind: "link"; readonly href: string; readonly text: readonly Inline[] };

const DEPTH_MAX = 8;
/** Longer stretches are shown as they are: nobody emphasises in them, and looking would take long. */
const INLINE_CHARS_MAX = 20_000;

export function parseMarkdown(source: string): readonly Block[] {
  return blocks(source.replaceAll("\r\n", "\n").split("\n"), 0);
}

const FENCE = /^ {0,3}(```+|~~~+)/;
const HEADING = /^ {0,3}(#{1,6})\s+(.*?)\s*#*\s*$/;
const RULE = /^ {0,3}([-*_])(?:\s*\1){2,}\s*$/;
const ITEM = /^( {0,3})([-*+]|\d{1,9}[.)])(\s+|$)(.*)$/;
const TABLE_RULE = /^ {0,3}\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$/;

function blocks(lines: readonly string[], depth: number): Block[] {
  const out: Block[] = [];
  let at = 0;
  while (at < lines.length) {
    const line = lines[at] as string;
    if (line.trim() === "") {
      at++;
      continue;
    }
    const [block, next] = blockAt(lines, at, depth);
    out.push(block);
    at = next;
  }
  return out;
}

/** The block that begins at a line, and the line after it. */
function blockAt(lines: readonly string[], at: number, depth: number): [Block, number] {
  const line = lines[at] as string;
  const fence = FENCE.exec(line)?.[1];
  if (fence) return fenced(lines, at, fence);
  const heading = HEADING.exec(line);
  if (heading) return [{ kind: "heading", level: heading[1]?.length ?? 1, text: inline(heading[2] ?? "") }, at + 1];
  if (RULE.test(line)) return [{ kind: "rule" }, at + 1];
  if (depth < DEPTH_MAX) {
    if (/^ {0,3}>/.test(line)) return quote(lines, at, depth);
    if (ITEM.test(line)) return list(lines, at, depth);
  }
  if (line.includes("|") && TABLE_RULE.test(lines[at + 1] ?? "") && (lines[at + 1] ?? "").includes("-")) {
    return table(lines, at);
  }
  return paragraph(lines, at);
}

function fenced(lines: readonly string[], at: number, fence: string): [Block, number] {
  let end = at + 1;
  while (end < lines.length && !(lines[end] as string).trimStart().startsWith(fence)) end++;
  return [{ kind: "code", text: lines.slice(at + 1, end).join("\n") }, end + 1];
}

function quote(lines: readonly string[], at: number, depth: number): [Block, number] {
  let end = at;
  while (end < lines.length && /^ {0,3}>/.test(lines[end] as string)) end++;
  const inner = lines.slice(at, end).map((line) => line.replace(/^ {0,3}> ?/, ""));
  return [{ kind: "quote", blocks: blocks(inner, depth + 1) }, end];
}

function list(lines: readonly string[], at: number, depth: number): [Block, number] {
  const marker = ITEM.exec(lines[at] as string)?.[2] ?? "-";
  const ordered = /\d/.test(marker);
  const items: Block[][] = [];
  let end = at;
  while (end < lines.length) {
    const match = ITEM.exec(lines[end] as string);
    if (!match || /\d/.test(match[2] ?? "") !== ordered || RULE.test(lines[end] as string)) break;
    const indent = (match[1] ?? "").length + (match[2] ?? "").length + 1;
    const inner = [match[4] ?? ""];
    end++;
    while (end < lines.length && belongs(lines, end, indent))
      inner.push((lines[end++] as string).replace(new RegExp(`^ {0,${indent}}`), ""));
    items.push(blocks(inner, depth + 1));
  }
  return [{ kind: "list", ordered, start: Number.parseInt(marker, 10) || 1, items }, end];
}

/** Whether a line continues the item: indented, or blank before something indented, or plain text right below. */
function belongs(lines: readonly string[], at: number, indent: number): boolean {
  const line = lines[at] as string;
  const pad = " ".repeat(Math.min(indent, 2));
  if (line.trim() === "") return (lines[at + 1] ?? "").startsWith(pad);
  if (line.startsWith(pad)) return true;
  return (lines[at - 1] ?? "").trim() !== "" && !startsBlock(line);
}

function startsBlock(line: string): boolean {
  return FENCE.test(line) || HEADING.test(line) || RULE.test(line) || ITEM.test(line) || /^ {0,3}>/.test(line);
}

function table(lines: readonly string[], at: number): [Block, number] {
  let end = at + 2;
  while (end < lines.length && (lines[end] as string).includes("|")) end++;
  const head = cells(lines[at] as string);
  const rows = lines.slice(at + 2, end).map((line) => head.map((_, column) => cells(line)[column] ?? []));
  return [{ kind: "table", head, rows }, end];
}

function cells(line: string): (readonly Inline[])[] {
  const trimmed = line.trim().replace(/^\|/, "").replace(/\|$/, "");
  return trimmed.split(/(?<!\\)\|/).map((cell) => inline(cell.trim().replaceAll("\\|", "|")));
}

function paragraph(lines: readonly string[], at: number): [Block, number] {
  let end = at + 1;
  while (end < lines.length && (lines[end] as string).trim() !== "" && !startsBlock(lines[end] as string)) end++;
  return [
    {
      kind: "paragraph",
      text: inline(
        lines
          .slice(at, end)
          .map((line) => line.trim())
          .join("\n"),
      ),
    },
    end,
  ];
}

// ---------------------------------------------------------------------------- inside a line

const INLINE =
  /(\\[\\`*_{}[\]()#+\-.!|~<>])|(`+)([\s\S]*?[^`])\2(?!`)|!?\[([^\]]*)\]\(\s*<?([^\s)>]*)>?(?:\s+"[^"]*")?\s*\)|\*\*(?=\S)([\s\S]*?\S)\*\*|__(?=\S)([\s\S]*?\S)__(?!\w)|~~(?=\S)([\s\S]*?\S)~~|\*(?=\S)([\s\S]*?\S)\*|(?<!\w)_(?=\S)([\s\S]*?\S)_(?!\w)|(https?:\/\/[^\s<>()]*[^\s<>().,;:!?'"])/g;

export function inline(text: string, depth = 0): readonly Inline[] {
  if (depth > DEPTH_MAX || text.length > INLINE_CHARS_MAX) return [text];
  const out: Inline[] = [];
  let last = 0;
  for (const match of text.matchAll(INLINE)) {
    if (match.index > last) out.push(text.slice(last, match.index));
    out.push(token(match, depth + 1));
    last = match.index + match[0].length;
  }
  if (last < text.length) out.push(text.slice(last));
  return out;
}

function token(match: RegExpMatchArray, depth: number): Inline {
  const [whole, escaped, , code, label, href, strong, strong2, strike, em, em2, url] = match;
  if (escaped) return escaped.slice(1);
  if (code !== undefined) return { kind: "code", text: code.trim() };
  if (href !== undefined) return link(whole, label ?? "", href, depth);
  if (strong ?? strong2) return { kind: "strong", text: inline((strong ?? strong2) as string, depth) };
  if (strike) return { kind: "strike", text: inline(strike, depth) };
  if (em ?? em2) return { kind: "em", text: inline((em ?? em2) as string, depth) };
  return { kind: "link", href: url ?? "", text: [url ?? ""] };
}

/** Only web and mail addresses become links: `javascript:` and relative ones would lead somewhere else than meant. */
function link(whole: string, label: string, href: string, depth: number): Inline {
  if (!/^(https?:|mailto:)/i.test(href)) return label || whole;
  return { kind: "link", href, text: label === "" ? [href] : inline(label, depth) };
}
