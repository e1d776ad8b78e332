import { readdir, readFile, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { brotliCompress, constants, gzip, gzipSync } from "node:zlib";
import react from "@vitejs/plugin-react";
import type { Plugin } from "vite";
import { defineConfig } from "vitest/config";

const COMPRESSIBLE = /\.(js|css|html|svg|json)$/;
/** Below one packet a compressed twin saves nothing. */
const COMPRESS_MIN_BYTES = 1024;

/** The first page must be quick on a slow line: script and style of the entry and of the page that opens. */
const FIRST_PAGE_GZIP_BYTES_MAX = 160 * 1024;
const WHOLE_GZIP_BYTES_MAX = 400 * 1024;
const FIRST_PAGES = /\/features\/.+Page\.tsx$/;

/** Fails the build when a first page, or everything together, outgrows its budget. */
function budget(): Plugin {
  return {
    name: "budget",
    apply: "build",
    generateBundle(_, bundle) {
      const sizes = new Map(
        Object.entries(bundle).map(([name, item]) => [
          name,
          gzipSync(item.type === "chunk" ? item.code : item.source).length,
        ]),
      );
      const closure = (name: string, seen = new Set<string>()): Set<string> => {
        const item = bundle[name];
        if (!item || seen.has(name)) return seen;
        seen.add(name);
        if (item.type === "chunk") {
          for (const style of item.viteMetadata?.importedCss ?? []) seen.add(style);
          for (const next of item.imports) closure(next, seen);
        }
        return seen;
      };
      const total = (names: Iterable<string>) => [...names].reduce((sum, name) => sum + (sizes.get(name) ?? 0), 0);
      const entry = Object.values(bundle).find((item) => item.type === "chunk" && item.isEntry);
      for (const item of Object.values(bundle)) {
        if (item.type !== "chunk" || !FIRST_PAGES.test(item.facadeModuleId ?? "")) continue;
        const bytes = total(closure(item.fileName, closure(entry?.fileName ?? "")));
        if (bytes > FIRST_PAGE_GZIP_BYTES_MAX) this.error(`${item.name} as first page is ${bytes} bytes in gzip`);
        if (process.env.SIZES) this.info(`${item.name} as first page: ${bytes} bytes in gzip`);
      }
      const whole = total(sizes.keys());
      if (whole > WHOLE_GZIP_BYTES_MAX) this.error(`everything together is ${whole} bytes in gzip`);
      if (process.env.SIZES) this.info(`everything: ${whole} bytes in gzip`);
    },
  };
}

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
  plugins: [react(), budget(), precompress()],
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
      ["/api", "/ajax-api", "/get-artifact", "/version", "/health"].map((path) => [
        path,
        // The server refuses writes whose Origin is not its own address.
        { target: server, changeOrigin: true, headers: { origin: server } },
      ]),
    ),
  },
  test: { include: ["src/**/*.test.ts", "src/**/*.test.tsx"], environment: "node" },
});
