import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { freePorts } from "../../sdk/testing/free-ports.ts";
import { blackBoxFiles } from "../runner/black-box-files.ts";
import { issueClosed, issueCommented, issueEdited, issueOpened, pullRequestClosed, pullRequestOpened } from "./alpha-payloads.ts";
import { freshDatabase } from "./databases.ts";
import { jsonClient } from "./json-client.ts";
import { eventually, waitForExecutions } from "./wait.ts";
import { deliver, signature } from "./webhooks.ts";

const members = (value: unknown): number =>
  typeof value === "object" && value !== null ? Object.values(value).reduce((sum: number, one) => sum + 1 + members(one), 0) : 0;

describe("payloads", () => {
  test("are real ones, about the subject that was asked for", () => {
    const opened = issueOpened(
      { repo: "acme/shop", number: 7, title: "T", body: null, sender: "ana" },
      { issue: { state: "open", labels: [] } },
    );
    expect(opened).toMatchObject({
      action: "opened",
      issue: { number: 7, title: "T", body: null, user: { login: "ana" }, labels: [] },
      repository: { full_name: "acme/shop", name: "shop", owner: { login: "acme" } },
      sender: { login: "ana" },
    });
    expect(members(opened)).toBeGreaterThan(150);
    expect(JSON.stringify(opened)).not.toContain("Hello-World");
    expect(issueClosed()).toMatchObject({ action: "closed", issue: { state: "closed", number: 1 } });
    expect(issueEdited()).toMatchObject({ action: "edited", changes: expect.any(Object) });
    expect(issueCommented({ comment: "hi" })).toMatchObject({
      action: "created",
      comment: { body: "hi", user: { login: "mona" } },
    });
    expect(pullRequestOpened({ number: 3 })).toMatchObject({
      action: "opened",
      pull_request: { number: 3, head: { ref: expect.any(String) } },
    });
    expect(pullRequestClosed({ merged: true })).toMatchObject({
      action: "closed",
      pull_request: { merged: true, state: "closed" },
    });
  });

  test("are copies: changing one changes no other", () => {
    const first = issueOpened() as { issue: { user: { login: string } } };
    first.issue.user.login = "changed";
    expect(issueOpened()).toMatchObject({ issue: { user: { login: "mona" } } });
  });
});

test("the signature is the platform's: its own published example", () => {
  expect(signature("Hello, World!", "It's a Secret to Everybody")).toBe(
    "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17",
  );
});

describe("the JSON client", () => {
  const seen: { method: string; url: string; headers: Record<string, unknown>; body: string }[] = [];
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    seen.push({ method: request.method ?? "", url: request.url ?? "", headers: request.headers, body });
    if (request.url?.startsWith("/api/task-executions")) return response.end(JSON.stringify(executions.shift() ?? last));
    response.statusCode = 418;
    response.end(request.method === "DELETE" ? "" : request.method === "GET" ? "plain" : '{"a":1}');
  });
  const last = [{ task_id: "a", state: "succeeded", attempts: 1, error: null }];
  const executions: unknown[] = [[], [{ task_id: "a", state: "queued", attempts: 0, error: null }]];
  let base = "";
  beforeAll(async () => {
    await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
    base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterAll(() => void server.close());

  test("returns the answer, whatever its status is", async () => {
    const client = jsonClient(base, "key");
    expect(await client.post("/x", { b: 2 })).toMatchObject({ status: 418, body: { a: 1 } });
    expect(await client.get("/x")).toMatchObject({ status: 418, body: "plain" });
    expect(await client.del("/x")).toMatchObject({ status: 418, body: null });
    expect(seen[0]).toMatchObject({ method: "POST", body: '{"b":2}', headers: { authorization: "Bearer key" } });
  });

  test("delivers signed webhooks under the platform's headers", async () => {
    await deliver(jsonClient(base), issueCommented(), { secret: "s", delivery: "d1", action: "deleted" });
    const sent = seen.at(-1);
    expect(sent).toMatchObject({
      url: "/webhook/alpha",
      headers: { "x-alpha-event": "issue_comment", "x-alpha-delivery": "d1" },
    });
    expect(sent?.headers["x-hub-signature-256"]).toBe(signature(sent?.body ?? "", "s"));
    expect(JSON.parse(sent?.body ?? "")).toMatchObject({ action: "deleted" });
  });

  test("waits for executions, and reports their states at the time limit", async () => {
    expect(await waitForExecutions(jsonClient(base), { interval: 1 })).toMatchObject([{ state: "succeeded" }]);
    await expect(waitForExecutions(jsonClient(base), { count: 2, timeout: 20, interval: 5 })).rejects.toThrow(
      /of 2 executions 1 have ended: a succeeded/,
    );
  });
});

test("eventually retries, and at the time limit throws the last error", async () => {
  let calls = 0;
  expect(await eventually(() => (++calls < 3 ? null : calls), { interval: 1 })).toBe(3);
  await expect(eventually(() => Promise.reject(new Error("still wrong")), { timeout: 20, interval: 5 })).rejects.toThrow(
    /Not within 20 ms .*still wrong/,
  );
});

test("free ports are different and can be used", async () => {
  const ports = await freePorts(3);
  expect(new Set(ports).size).toBe(3);
  for (const port of ports) {
    const server = createServer();
    await new Promise<void>((done, fail) => server.once("error", fail).listen(port, "127.0.0.1", done));
    await new Promise((done) => server.close(done));
  }
});

test("a fresh database is empty, its own, and gone when dropped", { tags: ["postgres"] }, async () => {
  const database = await freshDatabase();
  const tables = "select count(*)::int as n from information_schema.tables where table_schema = 'public'";
  expect(await database.query(tables)).toMatchObject([{ n: 0 }]);
  await database.drop();
  await expect(database.query(tables)).rejects.toThrow(/does not exist/);
});

test("which files run on each runtime: those that start the service, through any file of the harness", () => {
  const files = blackBoxFiles();
  // By service.ts, by world.ts, by statuses/world.ts, and by none of them.
  expect(files).toEqual(
    expect.arrayContaining(["test/api/api.test.ts", "test/api/mcp-server.test.ts", "test/api/statuses.test.ts"]),
  );
  for (const other of ["test/architecture.test.ts", "test/harness/pieces.test.ts"]) expect(files).not.toContain(other);
});
