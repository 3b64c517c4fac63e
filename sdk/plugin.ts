import type { z } from "zod";
import type { CapabilityName, MaybePromise, PluginDefinition, Tool } from "./contract.ts";
import type { OffloadedFunctions } from "./offload.ts";
import { semanticVersion } from "./semantic-version.ts";

/** The shape of the contract in `contract.ts`; raised only when a plugin written for the old shape would break. */
export const CONTRACT_VERSION = 1;
/** Version of this sdk; `PluginSpec.sdk` is a range of it. */
export const SDK_VERSION = "0.1.0";
/** Brand of a plugin value. `Symbol.for`, because an installed plugin carries its own copy of the sdk. */
export const PLUGIN_BRAND: unique symbol = Symbol.for("signalbox.plugin") as never;

export interface Plugin extends Readonly<Omit<PluginDefinition<z.ZodObject, CapabilityName>, "setup">> {
  readonly [PLUGIN_BRAND]: { readonly contract: number; readonly sdk: string };
  // biome-ignore lint/suspicious/noExplicitAny: what setup is handed follows from `needs` and `config`, checked by definePlugin
  setup(context: any): MaybePromise<import("./contract.ts").Contributions>;
}

/**
 * Declares a plugin. Its life:
 *
 * 1. import: the module is loaded; it must do nothing but define.
 * 2. admit: the host checks contract, sdk range, id, needs and config; a refusal has a code and says what came.
 * 3. setup: called once with the capabilities named in `needs`; at most ten seconds.
 * 4. serve: the contributions are called, several at a time, each call with its own deadline.
 * 5. drain: no new calls; those under way may finish.
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
  const wrong: string[] = [];
  if (!/^[a-z][a-z0-9-]{0,62}$/.test(spec.id ?? "")) {
    wrong.push(`id must be lower-case letters, digits and "-", starting with a letter; it is ${JSON.stringify(spec.id)}`);
  }
  if (!semanticVersion.test(spec.version ?? "")) {
    wrong.push(`version must be a semantic version such as 1.2.0; it is ${JSON.stringify(spec.version)}`);
  }
  if (typeof spec.sdk !== "string" || spec.sdk.trim() === "") wrong.push('sdk must be a range such as "^0.1.0"');
  if (typeof spec.setup !== "function") wrong.push("setup must be a function");
  if (!Array.isArray(spec.needs)) wrong.push("needs must be an array of capability names");
  if (spec.offloaded !== undefined && !spec.needs?.includes("offload"))
    wrong.push('needs must name "offload", because offloaded has functions');
  if (spec.config?.def?.type !== "object") wrong.push("config must be a z.object");
  return wrong;
}

/** Declares a tool; gives its `run` the types of its `input` and `output`. */
export function tool<I extends z.ZodObject, O extends z.ZodType, Settings = Record<string, unknown>>(
  declared: Tool<I, O, Settings>,
): Tool<I, O, Settings> {
  if (declared.effect === "write" && !declared.idempotent && !declared.find) {
    throw new TypeError(
      "tool: a write needs `idempotent: true` (repeating it does no harm) or `find` (looks for what an earlier try with the same key left)",
    );
  }
  return Object.freeze({ ...declared });
}
