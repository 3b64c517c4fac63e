import { existsSync } from "node:fs";
import { join } from "node:path";
import { raceTimeout } from "../../platform/abortable.ts";
import { Refusal } from "../admit.ts";
import { cachedFile } from "../bundle-cache.ts";
import { startChild } from "./child.ts";
import { type Isolation, launchOf, noIsolation } from "./launch.ts";
import { seccompFilter } from "./seccomp.ts";

/** One isolation layer, and why it is missing. */
export interface IsolationLayer {
  readonly layer: "limits" | "no_new_privileges" | "own_user" | "namespaces" | "seccomp";
  readonly active: boolean;
  /** `null` if it is active. */
  readonly reason: string | null;
}

/** The strongest isolation that works here, with the result for each layer. */
interface WorkingIsolation {
  readonly isolation: Isolation;
  readonly layers: readonly IsolationLayer[];
}

const isolationByFolder = new Map<string, Promise<WorkingIsolation>>();

/**
 * Finds the strongest isolation with which a process starts here. Tries once for each folder of bundles: in a container, the
 * programs may exist without being permitted, and another user may not be able to read the service's files.
 */
export function workingIsolation(bundle: string, deno?: string): Promise<WorkingIsolation> {
  const key = `${join(bundle, "..")}\0${deno ?? ""}`;
  const known = isolationByFolder.get(key) ?? strongest(bundle, deno);
  isolationByFolder.set(key, known);
  // If the machine was too busy for the trial, it is repeated.
  known.catch(() => isolationByFolder.delete(key));
  return known;
}

const find = (name: string): string | null =>
  ["/usr/bin", "/bin", "/usr/sbin", "/sbin", "/usr/local/bin"].map((folder) => join(folder, name)).find(existsSync) ?? null;

export function availableIsolation(): Isolation {
  if (process.platform !== "linux") return noIsolation;
  const [bwrap, setpriv] = [find("bwrap"), find("setpriv")];
  const filter = bwrap ? seccompFilter() : null;
  const seccomp = filter && existsSync("/bin/sh") ? cachedFile(filter, ".bpf").file : null;
  return { prlimit: find("prlimit"), setpriv, ownUser: setpriv !== null && process.getuid?.() === 0, bwrap, seccomp };
}

/** From strongest to weakest. The layers that systems forbid most often are removed first. */
function choices(available: Isolation): Isolation[] {
  const withoutFilter = { ...available, seccomp: null };
  const withoutNamespaces = { ...withoutFilter, bwrap: null };
  return [
    available,
    withoutFilter,
    { ...available, ownUser: false },
    { ...withoutFilter, ownUser: false },
    withoutNamespaces,
    { ...withoutNamespaces, ownUser: false },
    { ...withoutNamespaces, ownUser: false, setpriv: null },
    noIsolation,
  ];
}

async function strongest(bundle: string, deno?: string): Promise<WorkingIsolation> {
  const available = availableIsolation();
  const seen = new Set<string>();
  for (const one of choices(available)) {
    const key = JSON.stringify(one);
    if (seen.has(key)) continue;
    seen.add(key);
    if (await starts(bundle, one, deno)) return { isolation: one, layers: layersOf(available, one) };
  }
  // If the process does not start without any layer either, its real start reports why. If it does start, it must not run
  // with fewer layers.
  return { isolation: available, layers: layersOf(available, available) };
}

const notFound = (program: string, from: string) => `${program} was not found; install ${from}`;
const forbidden = (what: string) => `${what} is not permitted here`;

function layersOf(available: Isolation, workingLayers: Isolation): IsolationLayer[] {
  const linux = process.platform === "linux";
  const of = (layer: IsolationLayer["layer"], active: boolean, reason: string): IsolationLayer => ({
    layer,
    active,
    reason: active ? null : linux ? reason : `${process.platform} has no such layer`,
  });
  const root = process.getuid?.() === 0;
  return [
    of("limits", workingLayers.prlimit !== null, available.prlimit ? forbidden("prlimit") : notFound("prlimit", "util-linux")),
    of(
      "no_new_privileges",
      workingLayers.setpriv !== null,
      available.setpriv ? forbidden("setpriv") : notFound("setpriv", "util-linux"),
    ),
    of("own_user", workingLayers.ownUser, root ? forbidden("another user") : "the service does not run as root"),
    of(
      "namespaces",
      workingLayers.bwrap !== null,
      available.bwrap ? forbidden("a new namespace") : notFound("bwrap", "bubblewrap"),
    ),
    of("seccomp", workingLayers.seccomp !== null, seccompReason(available)),
  ];
}

/** The layers if no process of a plugin can start here, for example without Deno. */
export const unusableLayers = (reason: string): IsolationLayer[] =>
  layersOf(noIsolation, noIsolation).map(({ layer }) => ({ layer, active: false, reason }));

function seccompReason({ bwrap, seccomp }: Isolation): string {
  if (bwrap === null) return notFound("bwrap", "bubblewrap");
  return seccomp ? forbidden("a seccomp filter") : `there is no filter for ${process.arch}`;
}

/** Throws a `Refusal` that names the missing layers. A separate user is possible only for a service that runs as root. */
export function requireIsolation(layers: readonly IsolationLayer[]): void {
  const missingLayers = layers.filter(({ layer, active }) => !active && !(layer === "own_user" && process.getuid?.() !== 0));
  if (missingLayers.length === 0) return;
  const names = missingLayers.map(({ layer, reason }) => `${layer} (${reason})`).join(", ");
  throw new Refusal("NO_SANDBOX", `PLUGIN_WALLS is "require", and isolation layers are missing: ${names}.`);
}

/** A slow machine is no reason for fewer layers: each trial has more time than the previous one. */
const trialMs = [10_000, 20_000, 40_000];

/**
 * Checks that the boot file starts and can read the bundle, without loading the plugin. Throws a `Refusal` if no trial ends in
 * time.
 */
async function starts(bundle: string, isolation: Isolation, deno?: string): Promise<boolean> {
  if (!existsSync(bundle)) return true;
  for (const ms of trialMs) {
    const result = await tryStart(bundle, isolation, ms, deno);
    if (result !== "late") return result;
  }
  throw new Refusal("NO_SANDBOX", `The sandbox test timed out after ${trialMs.at(-1)} ms; the machine may be overloaded.`);
}

async function tryStart(bundle: string, isolation: Isolation, ms: number, deno?: string): Promise<boolean | "late"> {
  let heard = (_: string) => {};
  const answered = new Promise<boolean>((done) => {
    heard = (line) => done(line.includes('"result":true'));
  });
  const child = startChild({
    launch: launchOf({ deno, bundle, memoryMb: 64, isolation }),
    memoryMb: 64,
    onLine: (line) => heard(line),
  });
  child.write('{"jsonrpc":"2.0","id":1,"method":"readable"}');
  const result = await raceTimeout(Promise.race([answered, child.whenExited.then(() => false)]), ms, "late" as const);
  child.kill("the test of the sandbox is over");
  await child.whenExited;
  return result;
}
