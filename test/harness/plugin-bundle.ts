import { createHash } from "node:crypto";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

const root = join(import.meta.dirname, "../..");

/** A third-party plugin as an installer sends it: its manifest and its bundle. */
export interface Built {
  readonly manifest: Record<string, unknown> & { readonly id: string; readonly version: string };
  readonly bytes: Uint8Array;
  /** Body of POST /api/plugins. */
  readonly body: { readonly manifest: Record<string, unknown>; readonly bundle: string };
}

/** Bundles the text of a module. `more`: members of its manifest besides id, version, digest and the required ones. */
export async function buildPlugin(
  source: string,
  more: { id: string; version?: string } & Record<string, unknown>,
): Promise<Built> {
  const { outputFiles } = await build({
    stdin: { contents: source, resolveDir: root, loader: "ts" },
    bundle: true,
    write: false,
    format: "esm",
    platform: "neutral",
    target: "es2024",
    minify: true,
    mainFields: ["module", "main"],
    conditions: ["import"],
    external: ["node:*"],
  });
  const bytes = outputFiles[0]?.contents ?? new Uint8Array();
  const sha256 = createHash("sha256").update(bytes).digest("hex");
  const manifest = {
    manifest: 1,
    version: "1.0.0",
    kinds: ["tools"],
    sdk: "^0.1.0",
    bundle: { sha256, bytes: bytes.byteLength },
    ...more,
  };
  return { manifest, bytes, body: { manifest, bundle: gzipSync(bytes).toString("base64") } };
}

/** A tool in a manifest. */
export const toolOf = (about: string, input: Record<string, unknown> = {}) => ({
  about,
  effect: "read",
  input: { type: "object", properties: input },
  output: {},
});
