import { read } from "./pages.ts";

interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly description?: string;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
}
interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  readonly tags: readonly string[];
  readonly security?: readonly Readonly<Record<string, readonly string[]>>[];
  readonly parameters?: readonly { name: string; in: string; required?: boolean; description?: string; schema: Schema }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { schema: Schema }>> };
  readonly responses: Readonly<Record<string, { description: string; content?: Readonly<Record<string, { schema: Schema }>> }>>;
}
interface Description {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

const nameOf = ($ref: string): string => $ref.replace(/^.*\//, "");
const cell = (text: string): string =>
  text
    .replace(/\s*\n\s*/g, " ")
    .replaceAll("|", "\\|")
    .replaceAll("<", "&lt;")
    .replaceAll("{{", "{ {");

/** The API of openapi.json as pages: one for each noun, and one for the schemas that they share. */
export function referencePages(): Map<string, string> {
  const { paths, components } = JSON.parse(read("schema/gen/openapi.json")) as Description;
  const all = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  );
  const nouns = [...Map.groupBy(all, ({ operation }) => operation.tags[0] ?? "others")].sort(([a], [b]) => (a < b ? -1 : 1));
  const pages = new Map<string, string>();
  pages.set("api/index.md", overview(nouns.map(([noun, of]) => [noun, of.map(({ operation }) => operation.summary)])));
  for (const [noun, of] of nouns)
    pages.set(`api/${noun}.md`, `# ${noun}\n\n${of.map((one) => section(one.method, one.path, one.operation)).join("\n\n")}\n`);
  const named = Object.entries(components.schemas).sort(([a], [b]) => (a < b ? -1 : 1));
  const schemas = named.map(([name, schema]) => `## ${name}\n\n${schema.description ?? ""}\n\n${members(schema)}`);
  pages.set("api/schemas.md", `# Schemas\n\nThe values that requests and responses have.\n\n${schemas.join("\n\n")}\n`);
  return pages;
}

const overview = (nouns: readonly (readonly [string, readonly string[]])[]): string => `# API reference

Every operation over HTTP, from [openapi.json](../schema/gen/openapi.json). The same operations are available over gRPC, MCP and the command line. The running service shows this reference at \`/docs\`, where you can also send requests.

| Noun | Operations |
|---|---|
${nouns.map(([noun, summaries]) => `| [${noun}](/api/${noun}) | ${cell(summaries.join(" · "))} |`).join("\n")}

[Schemas](/api/schemas) lists the members of all values.
`;

function section(method: string, path: string, { operationId, summary, description, security, ...rest }: Operation): string {
  const scopes = security?.flatMap((one) => one.apiKey ?? []) ?? [];
  const parameters = rest.parameters ?? [];
  const rows = parameters.map(
    ({ name, in: where, required, description: about, schema }) =>
      `| \`${name}\` | ${where} | ${typeOf(schema)}${required ? ", required" : ""} | ${cell(about ?? schema.description ?? "")} |`,
  );
  const body = Object.entries(rest.requestBody?.content ?? {})[0];
  const responses = Object.entries(rest.responses).map(([status, response]) => {
    const [, content] = Object.entries(response.content ?? {})[0] ?? [];
    return `| ${status} | ${content ? typeOf(content.schema) : ""} | ${cell(response.description)} |`;
  });
  return [
    `## ${summary} {#${operationId.replaceAll(".", "-")}}`,
    `\`${method.toUpperCase()} ${path}\`${scopes.length > 0 ? ` — scope \`${scopes.join("`, `")}\`` : ""}`,
    cell(description ?? ""),
    rows.length > 0 ? `| Parameter | In | Type | Description |\n|---|---|---|---|\n${rows.join("\n")}` : "",
    body ? `**Body** (\`${body[0]}\`): ${typeOf(body[1].schema)}\n\n${body[1].schema.$ref ? "" : members(body[1].schema)}` : "",
    `| Status | Body | Meaning |\n|---|---|---|\n${responses.join("\n")}`,
  ]
    .filter((part) => part.trim() !== "")
    .join("\n\n");
}

function members(schema: Schema): string {
  const rows = Object.entries(schema.properties ?? {}).map(([name, one]) => {
    const needed = schema.required?.includes(name) ? ", required" : "";
    return `| \`${name}\` | ${typeOf(one)}${needed} | ${cell(one.description ?? "")} |`;
  });
  return rows.length === 0 ? typeOf(schema) : `| Member | Type | Description |\n|---|---|---|\n${rows.join("\n")}`;
}

function typeOf(schema: Schema): string {
  if (schema.$ref) return `[${nameOf(schema.$ref)}](/api/schemas#${nameOf(schema.$ref).toLowerCase()})`;
  if (schema.const !== undefined) return cell(`\`${JSON.stringify(schema.const)}\``);
  if (schema.enum) return cell(schema.enum.map((one) => `\`${JSON.stringify(one)}\``).join(" or "));
  if (schema.anyOf) return [...new Set(schema.anyOf.map(typeOf))].join(" or ");
  const type = [schema.type ?? "any value"].flat().join(" or ");
  return schema.items ? `${type} of ${typeOf(schema.items)}` : type;
}
