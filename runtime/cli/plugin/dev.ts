import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { isServiceNamed, readClientConfig } from "../../platform/config.ts";
import { messageOf } from "../../platform/error-text.ts";
import { UsageError } from "../arguments.ts";
import type { Given } from "../command.ts";
import { callerOf } from "../request.ts";
import type { Terminal } from "../terminal.ts";
import { build, type PluginBuild } from "./build.ts";
import { readConformance } from "./conformance/read-conformance.ts";
import type { CaseResult } from "./conformance/report.ts";
import { runConformance } from "./conformance/run.ts";
import { type DevService, installDevVersion } from "./dev-install.ts";
import { replayLastWebhook } from "./dev-replay.ts";
import { folderOf } from "./folder.ts";
import { PackageError } from "./package-error.ts";
import { requirePackageFile } from "./package-file.ts";
import { watchSaves } from "./saves.ts";

/** Limits of the output, so that it fits on one screen: the number of failures, and the lines of each. */
const shownFailures = 4;
const shownLines = 6;
/** Time for running processes to end. */
const endMs = 2_000;

interface Round extends Pick<Terminal, "out" | "err"> {
  readonly folder: string;
  readonly service: DevService | null;
  readonly replays: boolean;
  readonly signal: AbortSignal;
}

/**
 * Builds the plugin and runs the quick cases of its suites after each save. If a running service is named, installs each build in
 * it. Ends when the process receives a signal.
 */
export async function dev(given: Given, terminal: Terminal): Promise<number> {
  const stop = new AbortController();
  const options = await optionsOf(given, terminal);
  const context: Round = { ...options, out: terminal.out, err: terminal.err, signal: stop.signal };
  const { folder, out } = context;
  const path = join(folder, "package.json");
  requirePackageFile(path);
  let ownPackageFile = "";
  const packageFile = () => (existsSync(path) ? readFileSync(path, "utf8") : "");
  // The build writes the values of the declaration into package.json, which is not a save. A change by the author is one.
  const isOwn = (path: string) => path === "package.json" && packageFile() === ownPackageFile;
  const all = watchSaves(folder, isOwn, stop.signal);
  // The address may come from an environment that was set up for another purpose.
  if (context.service) out(`Builds that pass are installed at ${context.service.url}\n`);
  const work = (async () => {
    ownPackageFile = await round(context, packageFile);
    for await (const names of all) {
      out(`\n${names.join(", ") || "Something"} ${names.length > 1 ? "were" : "was"} saved\n`);
      ownPackageFile = await round(context, packageFile);
    }
  })();
  const ended = new Promise<void>((done) => {
    stop.signal.addEventListener("abort", () => done(), { once: true });
    for (const name of ["SIGINT", "SIGTERM"] as const) process.once(name, () => stop.abort());
  });
  await Promise.race([work, ended]);
  await Promise.race([work, sleep(endMs, null, { ref: false })]);
  return 0;
}

async function optionsOf(given: Given, terminal: Terminal) {
  const folder = folderOf(given);
  const { texts, flags } = given;
  const clientConfig = readClientConfig();
  const url = texts.url ?? (isServiceNamed() ? clientConfig.SIGNALBOX_URL : undefined);
  const needing = (["key", "approve", "replay"] as const).find((name) => flags.has(name) || texts[name] !== undefined);
  if (url === undefined && needing) throw new UsageError(`--${needing} needs a running service: set --url or SIGNALBOX_URL`);
  if (url !== undefined && !/^https?:$/.test(URL.parse(url)?.protocol ?? ""))
    throw new UsageError(`--url: must be an address such as http://localhost:8000; it is ${JSON.stringify(url)}`);
  const apiKey = texts.key === undefined ? clientConfig.SIGNALBOX_API_KEY : await keyIn(texts.key, terminal);
  const service: DevService | null =
    url === undefined
      ? null
      : {
          url,
          approves: flags.has("approve"),
          call: callerOf({ url, apiKey }, terminal.out),
        };
  return { folder, service, replays: flags.has("replay") };
}

async function keyIn(from: string, { read }: Terminal): Promise<string> {
  // Everyone who can list this machine's processes sees their arguments.
  if (!/^(@.|-$)/.test(from))
    throw new UsageError("--key: must be @file, which contains the key, or - for standard input. Or set SIGNALBOX_API_KEY.");
  return (await read(from)).trim();
}

/** Returns package.json as the build wrote it. */
async function round(context: Round, packageFile: () => string): Promise<string> {
  const { folder, service, replays, signal, out, err } = context;
  let ownPackageFile = "";
  try {
    const config = (await readConformance(folder))?.config ?? {};
    const pluginBuild = await build(folder, config);
    ownPackageFile = packageFile();
    const isGood = await passes(pluginBuild, context);
    if (!isGood || service === null || signal.aborted) return ownPackageFile;
    const serves = await installDevVersion({ pluginBuild, folder, service, out, signal });
    if (serves && replays) await replayLastWebhook({ pluginBuild, service, out, signal });
  } catch (error) {
    if (!signal.aborted) err(`${errorText(error)}\n`);
  }
  return ownPackageFile;
}

const errorText = (error: unknown): string =>
  error instanceof PackageError ? `${error.code}: ${error.message}` : messageOf(error);

async function passes(pluginBuild: PluginBuild, { folder, signal, out }: Round): Promise<boolean> {
  const startedAt = performance.now();
  const failures: CaseResult[] = [];
  const { cases, skippedCases } = await runConformance({
    folder,
    pluginBuild,
    record: false,
    quick: true,
    signal,
    onCase: (result) => !result.ok && !signal.aborted && failures.push(result),
  });
  if (signal.aborted) return false;
  for (const { name, error = "" } of failures.slice(0, shownFailures)) {
    const lines = error.trimEnd().split("\n");
    out(
      `FAIL ${name}\n${lines
        .slice(0, shownLines)
        .map((line) => `     ${line}\n`)
        .join("")}`,
    );
    if (lines.length > shownLines) out(`     … ${lines.length - shownLines} more lines\n`);
  }
  if (failures.length > shownFailures)
    out(`… and ${failures.length - shownFailures} more failed; to see them: signalbox plugin test\n`);
  const { id, version } = pluginBuild.manifest;
  const slow = skippedCases === 0 ? "" : `; ${skippedCases} slow cases run only in signalbox plugin test`;
  const verdict = failures.length === 0 ? `good, ${cases.length} cases` : `${failures.length} of ${cases.length} cases failed`;
  out(`${id} ${version}: ${verdict}, ${Math.round(performance.now() - startedAt)} ms${slow}\n`);
  return failures.length === 0;
}
