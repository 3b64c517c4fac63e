import { SDK_VERSION } from "@signalbox/sdk";
import { manifest } from "@signalbox/sdk/manifest";
import semver from "semver";
import { z } from "zod";
import type { Terminal } from "../run.ts";
import { singleLine } from "./messages.ts";
import { npm } from "./npm.ts";

/** Packages with this keyword are plugins. `plugin new` writes it. */
const keyword = "signalbox-plugin";
const mostShown = 20;

const hits = z.array(z.object({ name: z.string(), version: z.string(), description: z.string().optional() }));
const seen = z.object({ signalbox: z.unknown().optional(), "dist.attestations": z.unknown().optional() });

/** Plugins of the registry that npm is configured for, each with what it would ask for. Nothing is downloaded. */
export async function search(words: readonly string[], { out }: Pick<Terminal, "out">): Promise<number> {
  const args = ["search", "--json", `--searchlimit=${mostShown}`, "--", `keywords:${keyword}`, ...words];
  const found = hits.parse(JSON.parse((await npm(args, "the registry's search")) || "[]"));
  for (const { name, version, description = "" } of found) {
    out(`${singleLine(`${name} ${version}  ${description}`).trimEnd()}\n`);
    for (const line of await detailsOf(`${name}@${version}`)) out(`  ${singleLine(line)}\n`);
  }
  out(found.length === 0 ? "No plugin was found.\n" : "\nTo install one: signalbox plugin install <name>\n");
  return found.length === 0 ? 1 : 0;
}

async function detailsOf(spec: string): Promise<string[]> {
  const text = await npm(["view", "--json", spec, "signalbox", "dist.attestations"], spec).catch(() => "");
  const answer = seen.safeParse(JSON.parse(text || "{}"));
  const parsed = manifest.safeParse(answer.data?.signalbox);
  if (!answer.success || !parsed.success) return ["its package.json has no valid manifest: it cannot be installed"];
  const { kinds, sdk, needs, permissions } = parsed.data;
  const fits = semver.satisfies(SDK_VERSION, sdk, { includePrerelease: true });
  return [
    `${kinds.join(", ")}; sdk ${sdk}${fits ? "" : `, which this version (${SDK_VERSION}) does not fit`}`,
    ...permissions.http.map(({ host, methods, why }) => `http: ${methods.join(", ")} https://${host} (${why})`),
    ...permissions.operations.map(({ id, why }) => `operation: ${id} (${why})`),
    ...needs.map((need) => `capability: ${need}`),
    answer.data["dist.attestations"] ? "provenance: stated; install verifies it" : "provenance: none",
  ];
}
