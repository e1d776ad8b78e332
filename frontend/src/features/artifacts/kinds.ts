/** How an artifact can be looked at, by the ending of its name. Pure. */

export type Preview = "image" | "table" | "text" | "markdown" | "html" | "pdf" | "audio" | "video" | "none";

const BY_ENDING: Readonly<Record<Exclude<Preview, "none" | "text">, readonly string[]>> = {
  image: ["png", "jpg", "jpeg", "gif", "webp", "bmp", "ico", "avif", "svg"],
  table: ["csv", "tsv", "parquet"],
  markdown: ["md", "markdown"],
  html: ["html", "htm"],
  pdf: ["pdf"],
  audio: ["wav", "mp3", "ogg", "flac", "m4a", "opus"],
  video: ["mp4", "webm", "mov", "m4v"],
};

const TEXT = [
  "txt",
  "log",
  "json",
  "jsonl",
  "ipynb",
  "yaml",
  "yml",
  "toml",
  "ini",
  "cfg",
  "conf",
  "env",
  "properties",
  "py",
  "r",
  "js",
  "ts",
  "css",
  "sh",
  "c",
  "cc",
  "cpp",
  "h",
  "hpp",
  "cu",
  "rs",
  "go",
  "java",
  "scala",
  "sql",
  "xml",
  "rst",
  "tex",
  "diff",
  "patch",
  "mlmodel",
  "mlproject",
  "dockerfile",
  "makefile",
  "license",
  "readme",
  "lock",
];

/** Endings that are never worth opening as text. */
const BINARY = [
  "pt",
  "pth",
  "bin",
  "ckpt",
  "safetensors",
  "onnx",
  "pkl",
  "pickle",
  "joblib",
  "npy",
  "npz",
  "h5",
  "hdf5",
  "tflite",
  "pb",
  "gz",
  "tgz",
  "tar",
  "zip",
  "zst",
  "xz",
  "bz2",
  "7z",
  "whl",
  "so",
  "exe",
  "arrow",
  "feather",
  "tfrecord",
  "model",
];

/** A file without a telling name is opened as text when it is this small. */
const GUESS_BYTES_MAX = 64 * 1024;

export function previewOf(path: string, size: number | null): Preview {
  const ending = endingOf(path);
  for (const [preview, endings] of Object.entries(BY_ENDING)) {
    if (endings.includes(ending)) return preview as Preview;
  }
  if (TEXT.includes(ending)) return "text";
  if (BINARY.includes(ending)) return "none";
  return size !== null && size <= GUESS_BYTES_MAX ? "text" : "none";
}

/** `a/B.CSV` → `csv`, `a/MLmodel` → `mlmodel`. */
export function endingOf(path: string): string {
  return baseName(path).toLowerCase().split(".").at(-1) ?? "";
}

export function baseName(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

export function parentOf(path: string): string {
  return path.includes("/") ? path.slice(0, path.lastIndexOf("/")) : "";
}

/** `a/b/c` → `a`, `a/b`: the folders that must be open to see it. */
export function ancestorsOf(path: string): string[] {
  const parts = path.split("/");
  return parts.slice(0, -1).map((_, index) => parts.slice(0, index + 1).join("/"));
}
