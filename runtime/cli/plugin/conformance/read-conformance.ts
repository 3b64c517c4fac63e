import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Conformance } from "@signalbox/sdk/testing";
import { ownPackages } from "../bundle.ts";
import { PackageFault } from "../fault.ts";

export const conformancePath = "test/conformance.ts";

/** Loads `test/conformance.ts`, bundled, so that nothing needs to be installed for it. Throws a `PackageFault`. */
export async function readConformance(folder: string): Promise<Conformance | null> {
  if (!existsSync(join(folder, conformancePath))) return null;
  const { build } = await import("esbuild");
  const work = mkdtempSync(join(tmpdir(), "signalbox-conformance-"));
  const outfile = join(work, "conformance.mjs");
  try {
    await build({
      ...{ absWorkingDir: folder, entryPoints: [conformancePath], outfile, bundle: true, format: "esm", platform: "node" },
      ...{ target: "node22", logLevel: "silent", nodePaths: ownPackages(), sourcemap: "inline" },
      banner: { js: 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);' },
    });
    const { conformance } = (await import(pathToFileURL(outfile).href)) as { conformance?: Conformance };
    if (conformance) return conformance;
  } catch (error) {
    throw new PackageFault("NO_CONFORMANCE", `${conformancePath}: ${error instanceof Error ? error.message : error}`, error);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
  throw new PackageFault("NO_CONFORMANCE", `Expected ${conformancePath} to export \`conformance\`.`);
}
