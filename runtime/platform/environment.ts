import { existsSync, readFileSync } from "node:fs";
import { parseEnv } from "node:util";
import type { z } from "zod";
import { isTemplateValue } from "./config-values.ts";
import { messageOf } from "./error-text.ts";
import { issueText } from "./issue-text.ts";
import { isSecretSetting, isSecretVariable } from "./secret-names.ts";

export class ConfigError extends Error {
  override readonly name = "ConfigError";
}

export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The variables in `.env`, if it exists, and in the environment, which takes precedence. Empty variables count as unset. A secret
 * of only spaces is an empty text here, and `parse` refuses it.
 */
export function readEnvironment(environment: Environment, file: string): Record<string, string> {
  const stored = existsSync(file) ? (parseEnv(readText(file)) as Record<string, string>) : {};
  const values: Record<string, string> = {};
  for (const [name, value] of [...Object.entries(stored), ...Object.entries(environment)]) {
    // An empty variable counts as unset, because compose files and CI systems pass unset variables as empty ones.
    if (!value) continue;
    const text = value.trim();
    // A secret of only spaces is a mistake: if it counted as unset, the service would be open without a warning.
    if (text !== "" || isSecretVariable(name)) values[name] = text;
  }
  return values;
}

function readText(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    throw new ConfigError(`${file}: cannot be read: ${messageOf(error)}`);
  }
}

/** Throws a `ConfigError` with one line for each problem. */
export function parse<S extends z.ZodObject>(schema: S, values: Readonly<Record<string, string | undefined>>): z.output<S> {
  const parsed = schema.safeParse(values);
  // Other programs' variables, which this one does not read, may contain anything.
  const flaws = new Map<string, string>();
  for (const name of Object.keys(values).filter((name) => name in schema.shape || pluginSetting.test(name))) {
    if (values[name] === "") flaws.set(name, "contains only spaces");
    else if (
      isSecretSetting(name) &&
      isTemplateValue(values[name] ?? "") &&
      !parsed.error?.issues.some(({ path }) => path[0] === name)
    )
      flaws.set(name, "is a placeholder that was not replaced");
  }
  if (parsed.success && flaws.size === 0) return parsed.data;
  const lines = [...flaws].map(([name, flaw]) => `${name}: ${flaw}; set a value, or leave it empty to unset it`);
  for (const issue of parsed.error?.issues ?? []) {
    const name = String(issue.path[0]);
    if (flaws.has(name)) continue;
    const isShown = values[name] !== undefined && !isSecretVariable(name);
    lines.push(`${name}: ${issueText(issue)}${isShown ? `; it is ${JSON.stringify(values[name])}` : ""}`);
  }
  throw new ConfigError(lines.join("\n"));
}

/** A setting of a third-party plugin. */
const pluginSetting = /^PLUGIN_.*__/;

/** The variables that begin with a prefix, by the rest of their names in lower case. */
export const withPrefix = (all: Record<string, string>, prefix: string): Record<string, string> =>
  Object.fromEntries(
    Object.entries(all)
      .filter(([name]) => name.startsWith(prefix))
      .map(([name, value]) => [name.slice(prefix.length).toLowerCase(), value]),
  );
