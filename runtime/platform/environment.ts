import { existsSync, readFileSync } from "node:fs";
import { parseEnv } from "node:util";
import type { z } from "zod";
import { isSecretVariable } from "./secret-names.ts";

export class ConfigError extends Error {
  override readonly name = "ConfigError";
}

export type Environment = Readonly<Record<string, string | undefined>>;

/** The variables in `.env`, if it exists, and in the environment, which takes precedence. Empty variables count as unset. */
export function readEnvironment(environment: Environment, file: string): Record<string, string> {
  const stored = existsSync(file) ? (parseEnv(readText(file)) as Record<string, string>) : {};
  const merged: Record<string, string> = {};
  for (const [name, value] of [...Object.entries(stored), ...Object.entries(environment)]) {
    // An empty variable counts as unset, because compose files and CI systems pass unset variables as empty ones.
    if (value !== undefined && value.trim() !== "") merged[name] = value.trim();
  }
  return merged;
}

function readText(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    throw new ConfigError(`${file}: cannot be read: ${error instanceof Error ? error.message : error}`);
  }
}

/** Throws a `ConfigError` with one line for each problem. */
export function parse<S extends z.ZodObject>(known: S, merged: Readonly<Record<string, string | undefined>>): z.output<S> {
  const parsed = known.safeParse(merged);
  if (parsed.success) return parsed.data;
  const lines = parsed.error.issues.map((issue) => {
    const name = String(issue.path[0]);
    return `${name}: ${issue.message}${isSecretVariable(name) ? "" : ` (it is ${JSON.stringify(merged[name])})`}`;
  });
  throw new ConfigError(lines.join("\n"));
}

/** The variables that begin with a prefix, by the rest of their names in lower case. */
export const withPrefix = (all: Record<string, string>, prefix: string): Record<string, string> =>
  Object.fromEntries(
    Object.entries(all)
      .filter(([name]) => name.startsWith(prefix))
      .map(([name, value]) => [name.slice(prefix.length).toLowerCase(), value]),
  );
