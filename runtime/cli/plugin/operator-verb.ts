import type * as plugins from "@signalbox/schema/plugins";
import type { z } from "zod";
import { UsageError } from "../arguments.ts";
import type { Call } from "../request.ts";
import type { Terminal } from "../terminal.ts";
import { type operatorVerbs, usageOf } from "./verbs.ts";

export type PluginEntity = z.output<typeof plugins.plugin>;
export type OperatorVerbName = keyof typeof operatorVerbs;
export interface OperatorContext extends Terminal {
  /** Sends requests to the service. */
  readonly call: Call;
}
export type OperatorVerb = (args: readonly string[], context: OperatorContext) => Promise<number>;

/** The only argument of a verb: the id of a plugin. */
export function id(args: readonly string[], name: OperatorVerbName): string {
  if (args.length !== 1) throw new UsageError(`Usage: signalbox plugin ${usageOf(name)}`);
  return args[0] as string;
}
