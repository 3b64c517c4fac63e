import { type Capabilities, type Plugin, PluginError } from "@signalbox/sdk";
import type { Log } from "../platform/log.ts";
import { siblingFile } from "../platform/sibling-file.ts";
import { type JobData, WorkerFailure, WorkerPool } from "../platform/worker-pool.ts";

/** The capability `offload` for plugins in this process. `module`: URL of a plugin that is not built in. */
export type OffloadFor = (plugin: Plugin, module?: string) => Capabilities["offload"];

/**
 * Worker threads for the capability `offload`, ended by `closing`. Deadlines and waits are those of `WorkerPool`, unless given.
 * The first failure of each plugin, function, code and size of input (to a power of two) is logged: plugins then use a plainer
 * result.
 */
export function openOffload(
  closing: { add(close: () => Promise<void>): void },
  log: Log,
  limits: { readonly deadlineMs?: number; readonly queueMs?: number } = {},
): { readonly offloadFor: OffloadFor } {
  const pool = new WorkerPool({ entry: siblingFile(import.meta.url, "offload-worker"), ...limits });
  closing.add(() => pool.close());
  const logged = new Set<string>();
  const warn = (plugin: string, name: string, characters: number, { code, message }: PluginError) => {
    const cause = `${plugin} ${name} ${code} ${Math.ceil(Math.log2(characters + 1))}`;
    if (logged.has(cause)) return;
    logged.add(cause);
    log.warn("an offloaded function failed", { plugin, function: name, code, characters, error: message });
  };
  const offloadFor: OffloadFor =
    (plugin, module = plugin.id) =>
    async (name, ...input) => {
      if (!Object.hasOwn(plugin.offloaded ?? {}, name))
        throw new PluginError("failed", `${plugin.id} has no offloaded function "${name}"`);
      let characters = 0;
      try {
        const data = jobDataOf(plugin.id, name, input);
        characters = "texts" in data ? data.texts.reduce((sum, { length }) => sum + length, 0) : data.json.length;
        const result = await pool.run(module, name, data);
        return "texts" in result ? result.texts[0] : JSON.parse(result.json);
      } catch (error) {
        const failure = error instanceof WorkerFailure ? new PluginError(error.code, `${plugin.id}: ${error.message}`) : error;
        if (failure instanceof PluginError) warn(plugin.id, name, characters, failure);
        throw failure;
      }
    };
  return { offloadFor };
}

/** Throws for values that are not JSON, and for values nested so deeply that they overflow the stack. */
function jobDataOf(plugin: string, name: string, input: readonly unknown[]): JobData {
  if (input.every((one) => typeof one === "string")) return { texts: input };
  try {
    return { json: JSON.stringify(input) };
  } catch (error) {
    throw new PluginError("invalid_input", `${plugin}: the input of ${name} is not JSON: ${(error as Error).message}`);
  }
}
