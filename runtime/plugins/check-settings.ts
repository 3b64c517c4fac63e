import { fieldProblem } from "@signalbox/schema/problem";
import type { z } from "zod";
import { issueText } from "../platform/issue-text.ts";
import type { Guard } from "../platform/network/guard.ts";

interface SettingsCheck {
  /** Member of the request that contains the settings, for example `credentials`. */
  readonly field: string;
  /** The owner of the settings, for example `gamma`. */
  readonly owner: string;
  readonly schema: z.ZodObject;
  /** Whether members that are not in the schema are allowed. */
  readonly others?: boolean;
  readonly guard: Pick<Guard, "check">;
}

/** Validates settings with the plugin's own schema, and refuses addresses that must not be contacted. Errors contain no value. */
export async function checkSettings(settings: Readonly<Record<string, unknown>>, check: SettingsCheck): Promise<void> {
  const { field, owner, schema } = check;
  const settingProblem = (path: readonly PropertyKey[], what: string) => {
    const name = [field, ...path].map(String).join(".");
    return fieldProblem(name, what);
  };
  const known = Object.keys(schema.shape);
  const unknown = check.others ? undefined : Object.keys(settings).find((name) => !known.includes(name));
  if (unknown !== undefined)
    throw settingProblem([unknown], `is not a setting of ${owner}; its settings are: ${known.join(", ")}`);
  const parsed = schema.safeParse(settings);
  const issue = parsed.error?.issues[0];
  const isAbsent = (name: unknown) => settings[String(name)] === undefined || settings[String(name)] === "";
  const missing = issue?.path.length === 1 && isAbsent(issue.path[0]) ? issue.path[0] : undefined;
  if (missing !== undefined) throw settingProblem([missing], `is required by ${owner}`);
  if (issue) throw settingProblem(issue.path, issueText(issue));
  for (const [name, value] of Object.entries(settings)) {
    if (typeof value !== "string" || !/^https?:/i.test(value)) continue;
    await check.guard.check(value).catch((error) => {
      throw settingProblem([name], error.message);
    });
  }
}
