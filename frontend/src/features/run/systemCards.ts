/** System metrics as charts: per node, the GPUs of a node together. Knows MLflow's key names; a key it does not know still gets a chart. */

import type { Card } from "../../charts/cards";

interface SystemKey {
  readonly key: string;
  readonly node: string;
  readonly gpu: string | null;
  readonly name: string;
}

const PREFIX = "system/";

export function isSystemKey(key: string): boolean {
  return key.startsWith(PREFIX);
}

export function systemCards(keys: readonly string[]): Card[] {
  const groups = new Map<string, SystemKey[]>();
  for (const parsed of keys.filter(isSystemKey).map(parseKey)) {
    const id = `${parsed.node}/${parsed.gpu === null ? "" : "gpu "}${parsed.name}`;
    const members = groups.get(id);
    if (members) members.push(parsed);
    else groups.set(id, [parsed]);
  }
  return [...groups].map(([id, members]) => cardOf(id, members));
}

function parseKey(key: string): SystemKey {
  const parts = key.slice(PREFIX.length).split("/");
  const last = parts.pop() ?? "";
  const gpu = /^gpu_(\d+)_(.+)$/.exec(last);
  return { key, node: parts.join("/"), gpu: gpu?.[1] ?? null, name: gpu?.[2] ?? last };
}

function cardOf(id: string, members: readonly SystemKey[]): Card {
  const first = members[0] as SystemKey;
  const sorted = members.toSorted((a, b) => Number(a.gpu) - Number(b.gpu));
  const labels = new Map(sorted.map((member) => [member.key, `GPU ${member.gpu}`]));
  return {
    id,
    title: title(first),
    keys: sorted.map((member) => member.key),
    keyLabel: (key) => labels.get(key) ?? key,
    section: nodeName(first.node),
    ...(first.name.endsWith("_percentage") ? { atLeast: [0, 100] as const } : {}),
  };
}

const UNITS: readonly (readonly [suffix: string, unit: string])[] = [
  ["_percentage", "%"],
  ["_megabytes", "MB"],
  ["_watts", "W"],
  ["_celsius", "°C"],
];

/** `cpu_utilization_percentage` → `CPU utilization (%)`. */
function title({ gpu, name }: SystemKey): string {
  const [suffix, unit] = UNITS.find(([end]) => name.endsWith(end)) ?? ["", ""];
  const words = name
    .slice(0, name.length - suffix.length)
    .replaceAll("_", " ")
    .replace(/^cpu\b/, "CPU");
  const subject = gpu === null ? words.charAt(0).toUpperCase() + words.slice(1) : `GPU ${words}`;
  return unit ? `${subject} (${unit})` : subject;
}

/** `node_3` → `Node 3`. */
function nodeName(node: string): string {
  const numbered = /^(?:node_)?(\d+)$/.exec(node);
  return numbered ? `Node ${numbered[1]}` : node;
}
