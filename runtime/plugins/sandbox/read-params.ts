import { PluginError } from "@signalbox/sdk";
import type { z } from "zod";
import { issueText } from "../../platform/issue-text.ts";

/** The parameters of a plugin's request. Throws a `PluginError` that names the invalid ones. */
export function readParams<S extends z.ZodType>(shape: S, params: unknown): z.output<S> {
  const parsed = shape.safeParse(params);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new PluginError("invalid_input", `${issue?.path.join(".") || "params"}: ${issue && issueText(issue)}`);
}
