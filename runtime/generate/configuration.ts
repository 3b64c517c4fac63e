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
  const rows = Object.entries(of).map(
    ([name, schema]) => `| \`${name}\` | ${defaultText(schema)} | ${schema.description ?? ""} |`,
  );
  return `| Variable | Default | Description |\n|---|---|---|\n${rows.join("\n")}`;
}

function defaultText(schema: z.ZodType): string {
  const empty = schema.safeParse(undefined);
  if (!empty.success) return "(required)";
  if (empty.data === undefined || (Array.isArray(empty.data) && empty.data.length === 0)) return "";
  return `\`${String(empty.data)}\``;
}
