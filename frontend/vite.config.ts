import { readdir, readFile, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";
import react from "@vitejs/plugin-react";
import type { Plugin } from "vite";
import { defineConfig } from "vitest/config";

const COMPRESSIBLE = /\.(js|css|html|svg|json)$/;
/** Below one packet a compressed twin saves nothing. */
const COMPRESS_MIN_BYTES = 1024;

/** Writes `.gz` and `.br` beside each asset, so that the server never compresses the same file twice. */
function precompress(): Plugin {
  let outDir = "";
  return {
    name: "precompress",
    apply: "build",
    configResolved(config) {
      outDir = resolve(config.root, config.build.outDir);
    },
    async closeBundle() {
      const names = await readdir(outDir, { recursive: true });
      await Promise.all(names.filter((name) => COMPRESSIBLE.test(name)).map((name) => compress(join(outDir, name))));
    },
  };
}

async function compress(path: string): Promise<void> {
  const bytes = await readFile(path);
  // index.html is filled in with the base path on each answer, so a stored twin would be wrong.
  if (bytes.length < COMPRESS_MIN_BYTES || path.endsWith("index.html")) return;
  await writeFile(`${path}.gz`, await promisify(gzip)(bytes, { level: 9 }));
  await writeFile(
    `${path}.br`,
    await promisify(brotliCompress)(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } }),
  );
}

const server = process.env.CONTRAIL_SERVER ?? "http://127.0.0.1:5000";

export default defineConfig({
  // Relative addresses resolve against <base href>, which is how a path prefix works.
  base: "./",
  plugins: [react(), precompress()],
  build: {
    outDir: "../src/contrail/web/dist",
    emptyOutDir: true,
    target: "es2023",
    // The content security policy forbids data: addresses.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
  server: {
    proxy: Object.fromEntries(
      ["/api", "/ajax-api", "/get-artifact", "/version", "/health"].map((path) => [path, server]),
    ),
  },
  test: { include: ["src/**/*.test.ts", "src/**/*.test.tsx"], environment: "node" },
});
