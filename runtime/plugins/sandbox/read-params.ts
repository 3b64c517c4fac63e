import { PluginError } from "@signalbox/sdk";
import type { z } from "zod";
import { firstProblem } from "../../platform/issue-text.ts";

/** The parameters of a plugin's request. Throws a `PluginError` that names the invalid ones. */
export function readParams<S extends z.ZodType>(shape: S, params: unknown): z.output<S> {
  const parsed = shape.safeParse(params);
  if (parsed.success) return parsed.data;
  const { path, text } = firstProblem(parsed.error);
  throw new PluginError("invalid_input", `${path || "params"}: ${text}`);
}
