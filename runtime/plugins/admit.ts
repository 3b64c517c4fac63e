import { CONTRACT, PLUGIN, type Plugin, SDK_VERSION } from "@signalbox/sdk";
import semver from "semver";

export type RefusalCode =
  | "NOT_A_PLUGIN"
  | "UNKNOWN_CONTRACT"
  | "SDK_RANGE"
  | "DUPLICATE_ID"
  | "UNKNOWN_NEED"
  | "BAD_CONFIG"
  | "SETUP_FAILED"
  | "SETUP_TIMEOUT"
  | "BAD_CONTRIBUTION"
  | "NOT_FOUND"
  | "NO_SANDBOX"
  | "UNKNOWN_PROTOCOL";

/** Why a plugin was not taken in: a code, and what was expected and what came. */
export class Refusal extends Error {
  override readonly name = "Refusal";
  readonly code: RefusalCode;
  constructor(code: RefusalCode, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
  }
}

/** The capabilities that this host hands out. */
export const capabilityNames: readonly string[] = ["log", "fetch", "vectors"];

/**
 * Decides whether a module's default export may be set up. `taken` are the ids of plugins admitted before it, `offered`
 * the capabilities that it may ask for.
 */
export function admit(value: unknown, taken: ReadonlySet<string>, offered: readonly string[] = capabilityNames): Plugin {
  // Symbol.for, not instanceof: an installed plugin carries its own copy of the sdk.
  const stamp = typeof value === "object" && value !== null ? (value as Plugin)[PLUGIN] : undefined;
  if (!stamp) throw new Refusal("NOT_A_PLUGIN", "Expected the default export to be the result of definePlugin(); it is not.");
  const plugin = value as Plugin;
  if (stamp.contract !== CONTRACT) {
    throw new Refusal(
      "UNKNOWN_CONTRACT",
      `Expected contract ${CONTRACT}; ${plugin.id} was built for contract ${stamp.contract}.`,
    );
  }
  if (!semver.validRange(plugin.sdk) || plugin.sdk.trim() === "*") {
    throw new Refusal("SDK_RANGE", `Expected "sdk" to be a range such as "^${SDK_VERSION}"; ${plugin.id} says "${plugin.sdk}".`);
  }
  if (!semver.satisfies(SDK_VERSION, plugin.sdk, { includePrerelease: true })) {
    throw new Refusal(
      "SDK_RANGE",
      `This host has sdk ${SDK_VERSION}; ${plugin.id} ${plugin.version} was written for ${plugin.sdk}.`,
    );
  }
  if (taken.has(plugin.id))
    throw new Refusal("DUPLICATE_ID", `Expected an id of its own; "${plugin.id}" is taken by a plugin loaded before.`);
  const unknown = plugin.needs.filter((need) => !offered.includes(need));
  if (unknown.length > 0) {
    throw new Refusal("UNKNOWN_NEED", `This host offers ${offered.join(", ")}; ${plugin.id} also needs ${unknown.join(", ")}.`);
  }
  return plugin;
}
