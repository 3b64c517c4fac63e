import type * as plugins from "@signalbox/schema/plugins";
import type { z } from "zod";
import { UsageError } from "../arguments.ts";
import type { Given } from "../command.ts";
import type { Call } from "../request.ts";
import type { Terminal } from "../terminal.ts";

export type PluginEntity = z.output<typeof plugins.plugin>;
export interface OperatorContext extends Terminal {
  /** Sends requests to the service. */
  readonly call: Call;
  /** The usage of the command, for usage errors. */
  readonly usage: string;
}
export type OperatorCommand = (given: Given, context: OperatorContext) => Promise<number>;

/** The only argument of a command: the id of a plugin. */
export function requireId({ positionals: [id, ...more] }: Given, usage: string): string {
  if (id === undefined || more.length > 0) throw new UsageError(usage);
  return id;
}
