/** Source text as coloured pieces: comments, strings, numbers and words of the language. A reading aid, not a parser. */

export type Tone = "comment" | "string" | "number" | "word" | "key";

export interface Piece {
  readonly text: string;
  readonly tone?: Tone;
}

export type Syntax = "json" | "yaml" | "python" | "code";

const STRING = /"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'/.source;
const NUMBER = /(?<![\w.])-?(?:\d[\d_]*\.?\d*(?:[eE][+-]?\d+)?|\.\d+)(?!\w)/.source;
const PYTHON_STRING = `"""[\\s\\S]*?"""|'''[\\s\\S]*?'''|${STRING}`;
const PYTHON_WORDS =
  "and|as|assert|async|await|break|class|continue|def|del|elif|else|except|False|finally|for|from|global|if|import|in|is|lambda|None|nonlocal|not|or|pass|raise|return|True|try|while|with|yield";
const CODE_WORDS =
  "async|await|break|case|catch|class|const|continue|default|do|done|else|enum|export|extends|false|fi|finally|fn|for|function|if|import|in|interface|let|mut|new|null|of|pub|return|static|struct|switch|then|this|throw|true|try|type|use|var|void|while";

/** Alternatives in the order of the tones given beside them. */
const RULES: Readonly<Record<Syntax, readonly (readonly [Tone, string])[]>> = {
  json: [
    ["key", `(?:${STRING})(?=\\s*:)`],
    ["string", STRING],
    ["number", NUMBER],
    ["word", "\\b(?:true|false|null|NaN|Infinity)\\b"],
  ],
  yaml: [
    ["comment", "(?<=^|\\s)#[^\\n]*"],
    ["key", "(?<=^[ \\t]*(?:- +)?)[\\w.$/-]+(?=:(?:\\s|$))"],
    ["string", STRING],
    ["number", NUMBER],
    ["word", "(?<=[:\\-] +)(?:true|false|null|yes|no)\\b"],
  ],
  python: [
    ["string", PYTHON_STRING],
    ["comment", "#[^\\n]*"],
    ["number", NUMBER],
    ["word", `\\b(?:${PYTHON_WORDS})\\b`],
  ],
  code: [
    ["comment", "/\\*[\\s\\S]*?\\*/|(?<=^|\\s)(?://|#)[^\\n]*"],
    ["string", STRING],
    ["number", NUMBER],
    ["word", `\\b(?:${CODE_WORDS})\\b`],
  ],
};

export function highlight(source: string, syntax: Syntax): readonly Piece[] {
  const rules = RULES[syntax];
  const pattern = new RegExp(rules.map(([, rule]) => `(${rule})`).join("|"), "gm");
  const out: Piece[] = [];
  let last = 0;
  for (const match of source.matchAll(pattern)) {
    if (match.index > last) out.push({ text: source.slice(last, match.index) });
    const rule = rules.findIndex((_, index) => match[index + 1] !== undefined);
    out.push({ text: match[0], tone: rules[rule]?.[0] ?? "word" });
    last = match.index + match[0].length;
  }
  if (last < source.length) out.push({ text: source.slice(last) });
  return out;
}

const SYNTAXES: Readonly<Record<string, Syntax>> = {
  json: "json",
  ipynb: "json",
  jsonl: "json",
  yaml: "yaml",
  yml: "yaml",
  mlmodel: "yaml",
  py: "python",
  toml: "yaml",
  ini: "yaml",
  cfg: "yaml",
  js: "code",
  ts: "code",
  sh: "code",
  c: "code",
  cpp: "code",
  h: "code",
  cu: "code",
  rs: "code",
  go: "code",
  java: "code",
  sql: "code",
  r: "code",
};

/** By the ending of a file's name; null for prose and whatever else. */
export function syntaxOf(path: string): Syntax | null {
  const name = path.slice(path.lastIndexOf("/") + 1).toLowerCase();
  return SYNTAXES[name.slice(name.lastIndexOf(".") + 1)] ?? null;
}
