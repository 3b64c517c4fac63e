import type { Problem } from "@signalbox/schema/problem";
import { CONTRACT_VERSION, PLUGIN_BRAND, type Plugin, SDK_VERSION } from "@signalbox/sdk";
import semver from "semver";
import { CodedError } from "../platform/coded-error.ts";

export type RefusalCode =
  | "NOT_A_PLUGIN"
  | "UNKNOWN_CONTRACT"
  | "UNKNOWN_PROTOCOL"
  | "SDK_RANGE"
  | "DUPLICATE_ID"
  | "UNKNOWN_NEED"
  | "BAD_CONFIG"
  | "SETUP_FAILED"
  | "SETUP_TIMEOUT"
  | "BAD_CONTRIBUTION"
  | "BAD_MANIFEST"
  | "NOT_BUILT"
  | "MODIFIED"
  | "NOT_FOUND"
  | "NO_SANDBOX";

/** Why a plugin was refused: a code, and a sentence with the expected and the actual value. */
export class Refusal extends CodedError<RefusalCode> {
  override readonly name = "Refusal";
}

/** A handler for `catch` that throws a refusal as the problem that `toProblem` makes of it, and every other error unchanged. */
export const throwRefusalAs =
  (toProblem: (refusal: Refusal) => Problem) =>
  (error: unknown): never => {
    throw error instanceof Refusal ? toProblem(error) : error;
  };

/**
 * Major versions of the contract that this host supports, with the newest sdk of each: the current one and, if there is one, the
 * previous one. The range of a plugin is compared with the sdk of its own major version.
 */
export const contracts: ReadonlyMap<number, string> = new Map([[CONTRACT_VERSION, SDK_VERSION]]);

/** The capabilities of every plugin; `sql` and `redis` are for built-in plugins only. */
export const capabilityNames: readonly string[] = [
  "log",
  "fetch",
  "tcp",
  "throttle",
  "secret",
  "embed",
  "vectors",
  "operations",
  "trackers",
  "offload",
];

/** The declarations of a plugin, from its code or its manifest. */
interface PluginDeclaration {
  readonly id: string;
  readonly version: string;
  readonly sdk: string;
  readonly needs: readonly string[];
  readonly contract: number;
}

/** Decides whether the default export of a module may be set up. `takenIds`: the ids of plugins admitted before. */
export function admit(
  value: unknown,
  takenIds: ReadonlySet<string>,
  offeredCapabilities: readonly string[] = capabilityNames,
): Plugin {
  // Uses Symbol.for instead of instanceof, because an installed plugin has its own copy of the sdk.
  const stamp = typeof value === "object" && value !== null ? (value as Plugin)[PLUGIN_BRAND] : undefined;
  if (!stamp) throw new Refusal("NOT_A_PLUGIN", "The default export must be the result of definePlugin().");
  const plugin = value as Plugin;
  admitDeclared({ ...plugin, contract: stamp.contract }, takenIds, offeredCapabilities);
  return plugin;
}

/** The same for a declaration without code. Throws a `Refusal`. */
export function admitDeclared(
  { id, version, sdk, needs, contract }: PluginDeclaration,
  takenIds: ReadonlySet<string>,
  offeredCapabilities: readonly string[] = capabilityNames,
  servedContracts: ReadonlyMap<number, string> = contracts,
): void {
  if (/--|-$/.test(id))
    throw new Refusal(
      "BAD_MANIFEST",
      `${id}: an id must not contain "--" or end with "-", because the variables of its settings would be ambiguous.`,
    );
  const host = servedContracts.get(contract);
  if (host === undefined)
    throw new Refusal(
      "UNKNOWN_CONTRACT",
      `The contract of ${id} must be ${[...servedContracts.keys()].join(" or ")}; it is ${contract}.`,
    );
  if (!semver.validRange(sdk) || sdk.trim() === "*")
    throw new Refusal("SDK_RANGE", `The sdk of ${id} must be a range such as "^${SDK_VERSION}"; it is "${sdk}".`);
  if (!semver.satisfies(host, sdk, { includePrerelease: true }))
    throw new Refusal("SDK_RANGE", `This host has sdk ${host}; ${id} ${version} was written for ${sdk}.`);
  if (takenIds.has(id)) throw new Refusal("DUPLICATE_ID", `The id must be unique; another plugin already has the id "${id}".`);
  const unknown = needs.filter((need) => !offeredCapabilities.includes(need));
  if (unknown.length > 0)
    throw new Refusal(
      "UNKNOWN_NEED",
      `This host offers ${offeredCapabilities.join(", ")}; ${id} also needs ${unknown.join(", ")}.`,
    );
}
