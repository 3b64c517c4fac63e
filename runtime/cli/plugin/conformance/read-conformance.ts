import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Conformance } from "@signalbox/sdk/testing";
import { z } from "zod";
import { messageOf } from "../../../platform/error-text.ts";
import { issueText } from "../../../platform/issue-text.ts";
import { ownPackages } from "../bundle.ts";
import { PackageError } from "../package-error.ts";

export const conformancePath = "test/conformance.ts";

const recordOf = <S extends z.ZodType>(of: S) => z.record(z.string(), of).optional();
/** Checks only the members whose errors a suite could not explain; a mistyped one would be ignored. */
const shape = z.strictObject({
  config: recordOf(z.unknown()),
  secrets: recordOf(z.string()),
  tools: z
    .strictObject({
      tools: z.record(z.string(), z.looseObject({ inputs: z.array(z.unknown()).min(1) })),
      connection: z.unknown(),
      tracker: z.unknown(),
    })
    .partial({ connection: true, tracker: true })
    .optional(),
  routes: recordOf(z.looseObject({})),
  sources: recordOf(z.looseObject({})),
  memories: recordOf(z.looseObject({})),
  knowledge: recordOf(z.looseObject({})),
  queues: recordOf(z.looseObject({})),
  useCases: recordOf(z.looseObject({})),
});

function checkConformance(conformance: Conformance): Conformance {
  const [issue] = shape.safeParse(conformance).error?.issues ?? [];
  if (!issue) return conformance;
  throw new Error(`${["conformance", ...issue.path].join(".")}: ${issueText(issue)}; see the type Conformance`);
}

/** Loads `test/conformance.ts`, bundled, so that nothing needs to be installed for it. Throws a `PackageError`. */
export async function readConformance(folder: string): Promise<Conformance | null> {
  if (!existsSync(join(folder, conformancePath))) return null;
  const { build } = await import("esbuild");
  const work = mkdtempSync(join(tmpdir(), "signalbox-conformance-"));
  const outfile = join(work, "conformance.mjs");
  try {
    await build({
      absWorkingDir: folder,
      entryPoints: [conformancePath],
      outfile,
      bundle: true,
      format: "esm",
      platform: "node",
      target: "node22",
      logLevel: "silent",
      nodePaths: ownPackages(),
      sourcemap: "inline",
      banner: { js: 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);' },
    });
    const { conformance } = (await import(pathToFileURL(outfile).href)) as { conformance?: Conformance };
    if (conformance) return checkConformance(conformance);
  } catch (error) {
    throw new PackageError("NO_CONFORMANCE", `${conformancePath}: ${messageOf(error)}`, error);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
  throw new PackageError("NO_CONFORMANCE", `${conformancePath} must export \`conformance\`.`);
}
