import { Refusal, type RefusalCode } from "./admit.ts";
import type { LoadedThirdParty } from "./load-third-party.ts";
import type { PluginRow, VersionRow } from "./queries.ts";
import type { ProcessState, ProcessStatus, SupervisedProcess } from "./sandbox/supervise.ts";

export type Settings = Readonly<Record<string, string>>;

/** A loaded third-party plugin that is in the database: approved, with its row at the time of loading. */
export interface InstalledPlugin extends LoadedThirdParty {
  readonly row: PluginRow;
}

/** Whether a process in this state accepts calls. */
export const acceptsCalls = (state: ProcessState): boolean => state === "ready" || state === "degraded";

export const isServing = (process: SupervisedProcess): boolean => acceptsCalls(process.status().state);

/** A trusted plugin has no process, and is available while it is loaded. */
export const isAvailable = ({ process }: LoadedThirdParty): boolean => process === null || isServing(process);

/** Throws a `Refusal` if the process is not running. */
export function requireReady(status: ProcessStatus | undefined): void {
  if (status && status.state !== "ready")
    throw new Refusal((status.code ?? "SETUP_FAILED") as RefusalCode, status.reason ?? "The plugin did not start.");
}

/** Throws a `Refusal` if the bytes are not those of the version. */
export function requireDigest({ manifest: { bundle } }: VersionRow, sha256: string): void {
  if (sha256 === bundle.sha256) return;
  throw new Refusal("MODIFIED", `The SHA-256 of the bundle in the database must be ${bundle.sha256}; it is ${sha256}.`);
}

/** Whether two rows of a plugin result in the same load: the same version, settings and denied permissions. */
export const loadsTheSame = (one: PluginRow, other: PluginRow): boolean =>
  one.version === other.version && one.settings === other.settings && JSON.stringify(one.denied) === JSON.stringify(other.denied);
