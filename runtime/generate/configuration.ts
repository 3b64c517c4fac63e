import type { z } from "zod";
import { variables } from "../config.ts";

/** The table of all environment variables, from their schemas. */
export function configurationPage(): string {
  const rows = Object.entries(variables as Record<string, z.ZodType>).map(
    ([name, schema]) => `| \`${name}\` | ${defaultOf(schema)} | ${schema.description ?? ""} |`,
  );
  return `# Configuration

Environment variables, read once at start; a bad value stops the start. \`.env\` in the working folder is read too; the environment wins.

| Variable | Default | What it is for |
|---|---|---|
${rows.join("\n")}
`;
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
