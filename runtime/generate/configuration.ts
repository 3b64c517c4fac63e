import type { z } from "zod";
import { clientVariables, variables } from "../platform/config.ts";

/** The table of all environment variables, from the configuration schemas. */
export function configurationPage(): string {
  return `# Configuration

Environment variables, read once at start; a bad value stops the start. \`.env\` in the working folder is read too; the environment wins.

${table(variables)}

The verbs of the command line talk to a running service and read these:

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
