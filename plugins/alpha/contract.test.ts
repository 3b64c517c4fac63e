import { readFileSync } from "node:fs";
import { callContext, type RecordedRequest, setUpPlugin } from "@signalbox/sdk/testing";
import { http } from "msw";
import { setupServer } from "msw/node";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import alpha from "./index.ts";
import { AlphaTracker } from "./test-tracker.ts";

const file = new URL("../../../shared/contracts/alpha.openapi.json", import.meta.url);

interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
  readonly schema: object;
}
interface Operation {
  readonly parameters?: readonly ({ $ref: string } | Parameter)[];
  readonly requestBody?: { content: { "application/json": { schema: { properties: object } } } };
}
interface Contract {
  readonly paths: Record<string, Record<string, Operation>>;
  readonly components: { parameters: Record<string, Parameter> };
}
const schemaOf = (schema: object) => z.fromJSONSchema(schema as never, { defaultTarget: "openapi-3.0" });

/** Compares a request with the platform's OpenAPI description. Of several matching paths, the one with the fewest parameters counts. */
function faultsOf(contract: Contract, { method, path, query, body, headers }: RecordedRequest): string[] {
  const parts = path.split("/");
  const fits = (template: string) => {
    const names = template.split("/");
    return names.length === parts.length && names.every((name, index) => name.startsWith("{") || name === parts[index]);
  };
  const template = Object.keys(contract.paths)
    .filter(fits)
    .sort((a, b) => a.split("{").length - b.split("{").length)[0];
  const operation = template && contract.paths[template]?.[method.toLowerCase()];
  if (!template || !operation) return [`${method} ${path} is not in the contract`];
  const parameters = (operation.parameters ?? []).map((entry) =>
    "$ref" in entry ? (contract.components.parameters[entry.$ref.split("/").at(-1) ?? ""] as Parameter) : entry,
  );
  const sent = new Map([...query].map(([name, value]) => [name, { in: "query", value }]));
  template.split("/").forEach((name, index) => {
    if (name.startsWith("{")) sent.set(name.slice(1, -1), { in: "path", value: decodeURIComponent(parts[index] ?? "") });
  });
  const faults: string[] = [];
  for (const [name, { in: place, value }] of sent) {
    const known = parameters.find((parameter) => parameter.name === name && parameter.in === place);
    if (!known) faults.push(`${place} parameter ${name} is not in the contract`);
    else if (![value, Number(value)].some((candidate) => schemaOf(known.schema).safeParse(candidate).success))
      faults.push(`${name}=${value}`);
  }
  for (const { name, required } of parameters) if (required && !sent.has(name)) faults.push(`parameter ${name} is missing`);
  const schema = operation.requestBody?.content["application/json"].schema;
  if (schema) {
    const parsed = schemaOf(schema).safeParse(body);
    if (!parsed.success) faults.push(z.prettifyError(parsed.error));
    faults.push(
      ...Object.keys(body as object)
        .filter((name) => !(name in schema.properties))
        .map((name) => `body member ${name} is not in the contract`),
    );
    if (!headers["content-type"]?.startsWith("application/json")) faults.push(`content-type ${headers["content-type"]}`);
  } else if (body !== undefined) faults.push("a body where the contract has none");
  return faults;
}

describe("every request matches the platform's contract", { tags: ["contracts"] }, () => {
  let tracker: AlphaTracker;
  let contract: Contract;
  beforeAll(async () => {
    contract = JSON.parse(readFileSync(file, "utf8"));
    tracker = new AlphaTracker().intercept("http://alpha.test", { http, setupServer });
    tracker.addIssue(12, "2026-01-01T00:00:00Z");
    tracker.addIssue(13, "2026-01-01T00:00:00Z", { pull_request: {} });
    for (let count = 0; count < 120; count++) tracker.addComment(12, `Comment ${count}`);
  });
  afterAll(() => tracker.close());

  test("for all methods and tools", async () => {
    const { sources, tools } = await setUpPlugin(alpha);
    const source = sources?.alpha;
    if (!source?.poll || !tools) throw new Error("alpha has no source, no poll or no tools");
    const connection = source.connection.parse({ token: "test-token-1", api_url: tracker.url });
    const subject = { project: "octo/app", issue: "12" };
    await source.account(callContext(connection));
    const posted = await source.deliver({ subject, body: "Hello" }, callContext(connection));
    await source.update?.({ subject, body: "Hello again" }, posted, callContext(connection));
    for (const sign of ["working", "done"] as const)
      await source.react?.({ subject, comment: posted.id }, sign, callContext(connection));
    await source.find({ subject, body: "Hello" }, callContext(connection));
    await source.poll({ project: "octo/app", since: "2025-12-31T00:00:00.123Z", cursor: null }, callContext(connection));
    tracker.app = true;
    await source.check(callContext(connection));
    const at = { issue: "12", project: "octo/app" };
    await tools.add_comment?.run({ ...at, body: "x" }, callContext(connection));
    await tools.update_description?.run({ ...at, description: "x" }, callContext(connection));
    await tools.get_issue?.run(at, callContext(connection));
    const label = { project: "octo/app", name: "bug", color: "#FF0000", description: "A fault" };
    for (const _ of [1, 2]) await tools.create_label?.run(label, callContext(connection));
    const asked = new Set(tracker.requests.map((request) => `${request.method} ${request.path.replace(/\d+/, "n")}`));
    expect(asked.size).toBe(15);
    for (const request of tracker.requests) expect(faultsOf(contract, request), `${request.method} ${request.path}`).toEqual([]);
  });

  test("a request that does not match is detected", () => {
    const request = {
      method: "POST",
      path: "/repos/o/r/issues/12/comments",
      query: new URLSearchParams(),
      headers: { "content-type": "application/json" },
      body: { body: "x" },
    };
    expect(faultsOf(contract, request)).toEqual([]);
    expect(faultsOf(contract, { ...request, body: { text: "x" } })).toHaveLength(2);
    expect(faultsOf(contract, { ...request, path: "/repos/o/r/issues/twelve/comments" })).toEqual(["issue_number=twelve"]);
    expect(faultsOf(contract, { ...request, path: "/repos/o/r/issue/12/comments" })).toHaveLength(1);
    expect(faultsOf(contract, { ...request, query: new URLSearchParams("draft=1") })).toHaveLength(1);
  });
});
