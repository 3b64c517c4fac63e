import type { z } from "zod";
import { clientVariables, variables } from "../platform/config.ts";

/** The table of all environment variables, from the configuration schemas. */
export function configurationPage(): string {
  return `# Configuration

Signalbox reads these environment variables once, at startup, and the file \`.env\` in the working folder; the environment takes precedence. If a value is invalid, the service does not start.

${table(variables)}

The command line reads these variables to reach a running service:

${table(clientVariables)}
`;
}

function table(of: Readonly<Record<string, z.ZodType>>): string {
  const rows = Object.entries(of).map(([name, schema]) => `| \`${name}\` | ${defaultOf(schema)} | ${schema.description ?? ""} |`);
  return `| Variable | Default | Description |\n|---|---|---|\n${rows.join("\n")}`;
}

function defaultOf(schema: z.ZodType): string {
  let empty: unknown;
  try {
    empty = schema.parse(undefined);
  } catch {
    return "(required)";
  }
  if (empty === undefined || (Array.isArray(empty) && empty.length === 0)) return "";
  return `\`${String(empty)}\``;
}
