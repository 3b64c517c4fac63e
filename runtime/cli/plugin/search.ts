import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SDK_VERSION } from "@signalbox/sdk";
import { manifest } from "@signalbox/sdk/manifest";
import semver from "semver";
import { z } from "zod";
import { sha256Of } from "../../platform/digest.ts";
import { messageOf } from "../../platform/error-text.ts";
import type { Given } from "../command.ts";
import type { Terminal } from "../terminal.ts";
import { packageSpec } from "./fetch-package.ts";
import { singleLine } from "./messages.ts";
import { npm } from "./npm.ts";
import { unpack } from "./tarball.ts";

/** The keyword of packages that are plugins. `plugin new` writes it. */
const keyword = "signalbox-plugin";
const maxShown = 20;

const hits = z.array(z.object({ name: z.string(), version: z.string(), description: z.string().optional() }));
const packageDetails = z.object({ signalbox: z.unknown().optional(), "dist.attestations": z.unknown().optional() });

const conformanceReport = z.object({
  plugin: z.object({ sha256: z.string() }),
  suites: z.string(),
  passed: z.number(),
  failed: z.number(),
});

/**
 * Plugins of the registry that npm is configured for, each with the permissions that it would request. Downloads them only with
 * `--reports`.
 */
export async function search({ positionals, flags }: Given, { out }: Pick<Terminal, "out">): Promise<number> {
  const args = ["search", "--json", `--searchlimit=${maxShown}`, "--", `keywords:${keyword}`, ...positionals];
  const packages = hits.parse(JSON.parse((await npm(args, "the registry's search")) || "[]"));
  for (const { name, version, description = "" } of packages) {
    out(`${singleLine(`${name} ${version}  ${description}`).trimEnd()}\n`);
    const spec = `${name}@${version}`;
    const lines = [...(await detailsOf(spec)), ...(flags.has("reports") ? [await reportOf(spec)] : [])];
    for (const line of lines) out(`  ${singleLine(line)}\n`);
  }
  out(packages.length === 0 ? "No plugins found.\n" : "\nTo install one: signalbox plugin install <name>\n");
  return packages.length === 0 ? 1 : 0;
}

async function detailsOf(spec: string): Promise<string[]> {
  // `name` is requested too, because it always exists: if a package has only one of the requested members, npm prints its value
  // without its name.
  const text = await npm(["view", "--json", spec, "name", "signalbox", "dist.attestations"], spec).catch(() => "");
  const answer = packageDetails.safeParse(JSON.parse(text || "{}"));
  const parsed = manifest.safeParse(answer.data?.signalbox);
  if (!answer.success || !parsed.success) return ["its package.json has no valid manifest, so it cannot be installed"];
  const { kinds, sdk, needs, permissions } = parsed.data;
  const fits = semver.satisfies(SDK_VERSION, sdk, { includePrerelease: true });
  return [
    `${kinds.join(", ")}; sdk ${sdk}${fits ? "" : `, incompatible with this version (${SDK_VERSION})`}`,
    ...permissions.http.map(({ host, methods, why }) => `http: ${methods.join(", ")} https://${host} (${why})`),
    ...permissions.operations.map(({ id, why }) => `operation: ${id} (${why})`),
    ...needs.map((need) => `capability: ${need}`),
    answer.data["dist.attestations"] ? "provenance: attested; install verifies it" : "provenance: none",
  ];
}

/** The report of the author's conformance suites for exactly this bundle. No code of the package runs. */
async function reportOf(spec: string): Promise<string> {
  if (!packageSpec.test(spec)) return "conformance: unknown (its package name is invalid)";
  const work = mkdtempSync(join(tmpdir(), "signalbox-report-"));
  try {
    await npm(["pack", "--ignore-scripts", "--json", "--pack-destination", work, "--", spec], spec);
    const [file = ""] = readdirSync(work);
    const files = await unpack(readFileSync(join(work, file)));
    const bundle = files.get("dist/plugin.js");
    const report = conformanceReport.safeParse(JSON.parse(files.get("dist/conformance.json")?.toString("utf8") ?? "null"));
    if (!bundle || !report.success || report.data.plugin.sha256 !== sha256Of(bundle))
      return "conformance: no report for this bundle";
    const { passed, failed, suites } = report.data;
    return `conformance: ${passed} passed, ${failed} failed with the suites of sdk ${suites}, as its author reports`;
  } catch (error) {
    return `conformance: unknown (${messageOf(error)})`;
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}
