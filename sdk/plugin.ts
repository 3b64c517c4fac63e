import type { z } from "zod";
import type { CapabilityName, PluginDefinition } from "./contract.ts";
import type { OffloadedFunctions } from "./offload.ts";
import type { MaybePromise } from "./source-event.ts";
import type { Tool, ToolDeclaration } from "./tool.ts";

/** A version in the format of semver.org. */
export const semanticVersion: RegExp =
  /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-(0|[1-9]\d*|\d*[a-zA-Z-][\da-zA-Z-]*)(\.(0|[1-9]\d*|\d*[a-zA-Z-][\da-zA-Z-]*))*)?(\+[\da-zA-Z-]+(\.[\da-zA-Z-]+)*)?$/;

/** Version of the contract in `contract.ts`. It changes only with changes that break existing plugins. */
export const CONTRACT_VERSION = 1;
/** Version of this SDK. `PluginDefinition.sdk` must include it. */
export const SDK_VERSION = "0.1.0";
/** Brand of a plugin value. Uses `Symbol.for`, because an installed plugin has its own copy of the SDK. */
export const PLUGIN_BRAND: unique symbol = Symbol.for("signalbox.plugin") as never;

/** A plugin, as `definePlugin` returns it. */
export interface Plugin extends Readonly<Omit<PluginDefinition<z.ZodObject, CapabilityName>, "setup">> {
  readonly [PLUGIN_BRAND]: { readonly contract: number; readonly sdk: string };
  // biome-ignore lint/suspicious/noExplicitAny: what setup receives follows from `needs` and `config`, checked by definePlugin
  setup(context: any): MaybePromise<import("./contract.ts").Contributions>;
}

/**
 * Defines a plugin. Throws a `TypeError` that lists all invalid members. Its lifecycle:
 *
 * 1. import: the module is loaded. It must only define the plugin.
 * 2. admit: the host checks the contract, the SDK range, the id, `needs` and the configuration.
 * 3. setup: called once with the capabilities in `needs`; at most ten seconds.
 * 4. serve: the contributions are called concurrently, each call with its own deadline.
 * 5. drain: no new calls; running calls may finish.
 * 6. dispose: called once, in reverse order of setup.
 */
export function definePlugin<
  C extends z.ZodObject,
  const N extends CapabilityName,
  F extends OffloadedFunctions = Record<never, never>,
>(spec: PluginDefinition<C, N, F>): Plugin {
  const wrong = faults(spec as unknown as PluginDefinition<z.ZodObject, CapabilityName>);
  if (wrong.length > 0) throw new TypeError(`definePlugin: ${wrong.join("; ")}`);
  const plugin = { ...spec, [PLUGIN_BRAND]: Object.freeze({ contract: CONTRACT_VERSION, sdk: SDK_VERSION }) };
  return Object.freeze(plugin) as unknown as Plugin;
}

function faults(spec: PluginDefinition<z.ZodObject, CapabilityName>): string[] {
  const problems: string[] = [];
  if (!/^[a-z][a-z0-9-]{0,62}$/.test(spec.id ?? "")) {
    problems.push(
      `id must start with a lower-case letter and contain only lower-case letters, digits and "-"; it is ${JSON.stringify(spec.id)}`,
    );
  }
  if (!semanticVersion.test(spec.version ?? "")) {
    problems.push(`version must be a semantic version such as 1.2.0; it is ${JSON.stringify(spec.version)}`);
  }
  if (typeof spec.sdk !== "string" || spec.sdk.trim() === "") problems.push('sdk must be a range such as "^0.1.0"');
  if (typeof spec.setup !== "function") problems.push("setup must be a function");
  if (!Array.isArray(spec.needs)) problems.push("needs must be an array of capability names");
  if (spec.offloaded !== undefined && !spec.needs?.includes("offload"))
    problems.push('needs must name "offload", because offloaded has functions');
  if (spec.config?.def?.type !== "object") problems.push("config must be a z.object");
  return problems;
}

/**
 * Defines a tool, with `run` typed by `input` and `output`. Throws a `TypeError` if `input` or `output` is not a schema, and for
 * a write that is not idempotent and has no `find`.
 */
export function tool<I extends z.ZodObject, O extends z.ZodType, Settings = Record<string, unknown>>(
  declaration: ToolDeclaration<I, O, Settings>,
): Tool<I, O, Settings> {
  const wrong = (["input", "output"] as const).filter((name) => declaration[name]?.["~standard"] === undefined);
  if (wrong.length > 0) throw new TypeError(`tool: ${wrong.join(" and ")} must be a schema of zod, such as z.object({})`);
  if (declaration.effect === "write" && !declaration.idempotent && !declaration.find) {
    throw new TypeError(
      "tool: a write needs `idempotent: true` (it can be repeated) or `find` (finds the result of an earlier call with the same key)",
    );
  }
  return Object.freeze({ ...declaration });
}
