import { currentCall, type Facts } from "./capabilities.ts";
import { type CallParams, Contract1, type Plugin } from "./contract-1.ts";
import { BootError, plainMessage, unexpectedStack } from "./errors.ts";
import { highestCommon } from "./highest-common.ts";
import { ask, notify, serve } from "./peer.ts";
import { args, exit, isReadable, takeConsole } from "./stdio.ts";

// The first code of a sandboxed process. It communicates with the host, also for the plugin. It provides no protection, because
// it shares its realm with the plugin. The protection is in the isolation of the process and in the host's checks of its
// messages.

/** Major versions of the protocol between this file and the host, and of the contract between this file and a plugin. */
const protocols = [1];
const contracts: Readonly<Record<number, new (plugin: Plugin) => Contract1>> = { 1: Contract1 };

interface Initialize {
  readonly protocols: readonly number[];
  /** `null`: the settings are requested from the host with the plugin's id. */
  readonly config: unknown;
  readonly facts: Facts;
}

takeConsole();
let servingContract: Contract1 | null = null;
const runningCalls = new Map<number, AbortController>();

async function initialize(params: Initialize) {
  const protocol = highestCommon(protocols, params.protocols);
  if (protocol === undefined)
    throw new BootError(
      "UNKNOWN_PROTOCOL",
      `The protocol must be ${protocols.join(" or ")}; the host offers ${params.protocols.join(", ")}.`,
    );
  // Computed, because a literal would be resolved with this file, before any permission is checked.
  const module = await import(args[0] as string).catch((error: unknown) => {
    throw new BootError("NOT_FOUND", `The bundle could not be loaded: ${plainMessage(error)}`);
  });
  const plugin = module.default as (Plugin & Record<symbol, { contract: number; sdk: string }>) | undefined;
  const stamp = plugin?.[Symbol.for("signalbox.plugin")];
  if (!plugin || !stamp) throw new BootError("NOT_A_PLUGIN", "The default export must be the result of definePlugin().");
  const Contract = contracts[stamp.contract];
  if (!Contract)
    throw new BootError(
      "UNKNOWN_CONTRACT",
      `The contract of ${plugin.id} must be ${Object.keys(contracts).join(" or ")}; it is ${stamp.contract}.`,
    );
  const contract = new Contract(plugin);
  await contract.setUp(params.config ?? (await ask("settings", { id: plugin.id })), params.facts);
  servingContract = contract;
  return { protocol, contract: stamp.contract, stamped_sdk: stamp.sdk, ...contract.declaration() };
}

async function call(params: CallParams, id: number) {
  if (!servingContract) throw new BootError("failed", "Not initialized.");
  const stop = new AbortController();
  runningCalls.set(id, stop);
  const late = setTimeout(
    () => stop.abort(new DOMException("The deadline of the call has passed.", "TimeoutError")),
    params.deadline_ms,
  );
  try {
    const contract = servingContract;
    return await currentCall.run(id, () => contract.run(params, id, stop.signal));
  } catch (error) {
    const stack = stop.signal.aborted ? null : unexpectedStack(error, args[0] as string);
    if (stack) notify("log", { message: `${params.kind}.${params.name}.${params.method} threw`, fields: { stack } });
    throw error;
  } finally {
    clearTimeout(late);
    runningCalls.delete(id);
  }
}

await serve({
  initialize: (params) => initialize(params as Initialize),
  call: (params, id) => call(params as CallParams, id),
  cancel: (params) =>
    runningCalls.get((params as { id: number }).id)?.abort(new DOMException("The call was cancelled.", "AbortError")),
  ping: () => ({}),
  readable: () => isReadable(),
  dispose: () => servingContract?.dispose(),
});
exit(0);
