import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { mkdir, readdir, writeFile } from "node:fs/promises";
import { request } from "node:http";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { run, runtimeUnderTest } from "../harness/process.ts";
import { folderInMemory, type Service, startService } from "../harness/service.ts";
import { eventually } from "../harness/wait.ts";

/** The command line with the real service, from no keys to a service that requires them. */
let service: Service;
let folder: string;
beforeAll(async () => {
  folder = mkdtempSync(join(folderInMemory(), "signalbox-cli-"));
  service = await startService({ database: "embedded", env: { WATCHDOG_ENABLED: "true" } });
}, 180_000);
afterAll(async () => {
  await service?.close();
  rmSync(folder, { recursive: true, force: true });
});

async function signalbox(args: readonly string[], env: Record<string, string> = {}) {
  const child = run(runtimeUnderTest(), "runtime/cli/main.ts", {
    args,
    env: { SIGNALBOX_URL: service.url, ...env },
    cwd: folder,
  });
  const { code } = await child.ended;
  return { code, text: child.logs() };
}
const json = async (args: readonly string[], env?: Record<string, string>) => {
  const { code, text } = await signalbox(args, env);
  expect([code, text]).toEqual([0, expect.any(String)]);
  return JSON.parse(text);
};

/** `fetch` sets Host and Origin itself. */
const statusOf = (path: string, headers: Record<string, string>, method = "GET"): Promise<number> =>
  new Promise((done, fail) => {
    const call = request(service.url + path, { method, headers }, (response) => {
      response.resume();
      done(response.statusCode ?? 0);
    });
    call.on("error", fail).end();
  });

test("reembed, export and import say in one line what is unavailable and how to resume", { timeout: 120_000 }, async () => {
  const own = { DATA_DIR: join(folder, "own"), EMBEDDING_DIMENSION: "64" };
  writeFileSync(join(folder, "one.jsonl"), '{"key": "one", "content": "c", "scope": "organizational"}\n');
  expect((await signalbox(["migrate", "--create"], own)).code).toBe(0);
  expect(await signalbox(["memory", "import", "one.jsonl"], own)).toEqual({ code: 0, text: expect.stringMatching(/1 created/) });
  const proxy = { ...own, EMBEDDING_PROVIDER: "proxy", LLM_BASE_URL: "http://127.0.0.1:9/v1" };
  const { code, text } = await signalbox(["reembed"], proxy);
  expect([code, text.trim().split("\n").at(-1)]).toEqual([
    1,
    expect.stringMatching(/could not be reached.*`signalbox reembed` again/),
  ]);
  expect(await signalbox(["reembed", "now"], own)).toEqual({
    code: 2,
    text: expect.stringMatching(/^signalbox reembed takes no arguments/),
  });
});

describe("while there are no keys", () => {
  test("the life cycle of an agent", async () => {
    const made = await json([
      "agents",
      "create",
      "--id",
      "cli_agent",
      "--name",
      "From here",
      "--role-id",
      "pm",
      "--prompt",
      "Hi.",
    ]);
    expect(made).toMatchObject({ id: "cli_agent", role_id: "pm", responsibilities: [] });
    writeFileSync(join(folder, "change.json"), JSON.stringify({ description: "From a file", constraints: ["Never guess"] }));
    const changed = await json(["agents", "update", "cli_agent", "--json", "@change.json", "--name", "Renamed"]);
    expect(changed).toMatchObject({ name: "Renamed", description: "From a file", constraints: ["Never guess"] });
    expect(await json(["agents", "list", "--limit", "5"])).toMatchObject([{ id: "cli_agent" }]);
    const table = await signalbox(["agents", "list", "--format", "table"]);
    expect(table.text.split("\n")[0]).toMatch(/^ID +NAME +ROLE_ID/);
    expect(await signalbox(["agents", "delete", "cli_agent"])).toEqual({ code: 0, text: "" });
    expect(await signalbox(["agents", "get", "cli_agent"])).toEqual({ code: 1, text: 'There is no agent "cli_agent".\n' });
  }, 120_000);

  test("help, and usage errors", async () => {
    const wrong = [[], ["nothing"], ["agents"], ["agents", "fly"], ["agents", "create", "--id", "x"], ["start", "now"]];
    const [help, ofProjects, ...refused] = await Promise.all(
      [["--help"], ["projects", "--help"], ...wrong].map((args) => signalbox(args)),
    );
    expect(help?.code).toBe(0);
    for (const line of ["start", "migrate", "agents", "task-executions", "projects"]) expect(help?.text).toContain(`  ${line} `);
    expect(ofProjects?.text).toMatch(/signalbox projects create .*\n.*\n.*--name <text> +\(required\)/);
    expect(refused.map(({ code }) => code)).toEqual(wrong.map(() => 2));
  }, 120_000);

  test("without a service: exit code 1, and what to do", async () => {
    const { code, text } = await signalbox(["agents", "list"], { SIGNALBOX_URL: "http://127.0.0.1:1" });
    expect([code, text]).toEqual([1, expect.stringMatching(/No service answers at http:\/\/127\.0\.0\.1:1 .*signalbox start/)]);
  }, 120_000);

  test("browsers of other sites are refused by every API", async () => {
    const port = new URL(service.url).port;
    const connect = "/signalbox.api.v1.AgentService/ListAgents";
    expect(await statusOf("/api/agents", {})).toBe(200);
    expect(await statusOf("/api/agents", { host: `localhost:${port}`, origin: "http://localhost:5173" })).toBe(200);
    expect(await statusOf("/api/agents", { host: "rebound.example" })).toBe(403);
    expect(await statusOf("/api/agents/seed", { origin: "https://evil.example" }, "POST")).toBe(403);
    expect(await statusOf("/api/agents/seed", { host: `localhost:${port}`, origin: "http://localhost:5173" }, "POST")).toBe(403);
    expect(await statusOf("/webhook/alpha", { origin: "https://evil.example" }, "POST")).toBe(403);
    expect(await statusOf(connect, { host: "rebound.example", "content-type": "application/json" }, "POST")).toBe(403);
    expect(await statusOf("/health", { host: "probe.example" })).toBe(200);
    const refused = await service.get("/api/agents", { headers: { origin: "https://evil.example" } });
    expect(refused).toMatchObject({ status: 403, body: { error: expect.stringContaining("API_KEYS") } });
  });
});

test("the commands for operators: status, why, runs, cost, storage, pause and resume", async () => {
  const said = async (...args: string[]) => {
    const { code, text } = await signalbox(args);
    return `${code} ${text}`;
  };
  expect(await said("status")).toMatch(/^[01] Signalbox \S+: (ok|degraded)\nQueue: 0 queued/);
  expect(await said("why", "octo/app#99999")).toMatch(
    /^1 No stored event is about octo\/app#99999\. No webhook was refused in the last day either/,
  );
  expect(await said("runs", "--json")).toBe("0 []\n");
  expect(await said("runs")).toBe("0 No executions found.\n");
  expect(await said("runs", "--state", "faild")).toMatch(/^1 state: must be queued, held, running, .*failed or cancelled/);
  expect(await said("runs", "--from", "2026-02-01T00:00:00Z", "--to", "2026-01-01T00:00:00Z")).toMatch(
    /^1 to: must be .* after from/,
  );
  expect(await said("runs", "--finished-from", "2026-02-01T00:00:00Z", "--finished-to", "2026-01-01T00:00:00Z")).toMatch(
    /^1 finished_to: must be .* after finished_from/,
  );
  expect(await said("runs", "--sate", "failed")).toMatch(
    /^2 unknown option --sate; did you mean --state\?\nUsage: signalbox runs /,
  );
  // An option of another command would have no effect.
  expect(await said("status", "--state", "failed")).toMatch(/^2 unknown option --state\nUsage: signalbox status/);
  expect(await said("cost", "month")).toMatch(/^2 unexpected argument "month"/);
  expect(await said("task-executions", "list", "--sate", "failed")).toMatch(/^2 unknown option --sate; did you mean --state\?/);
  expect(await said("webhook-events", "list", "--format", "table")).toBe("0 Nothing found.\n");
  expect(await said("cost")).toMatch(/^0 /);
  expect(await said("storage")).toMatch(/^0 The database is [\d.]+ MB\. .*\nTABLE +ROWS +SIZE/);
  expect(await said("storage")).toMatch(
    / {2}transcripts and results of executions: kept for 90 days \(RETENTION_TRANSCRIPT_DAYS\)\n/,
  );
  expect(await said("resume")).toBe("1 Nothing is paused.\n");
  expect(await said("pause")).toMatch(/^2 missing --reason/);
  expect(await said("pause", "all", "--reason", "night")).toBe(
    "0 Paused: all. Webhooks are still stored.\nTo end it, run: signalbox resume\n",
  );
  expect(await said("status")).toMatch(/Paused: all since .*: night/);
  expect(await said("resume")).toBe("0 Resumed: all.\n");
  expect(await said("pause", "source", "alpha", "--reason", "moved")).toBe(
    "0 Paused: source alpha. Webhooks are still stored.\nTo end it, run: signalbox resume source alpha\n",
  );
  expect(await said("resume")).toBe('1 Not everything is paused, only: source "alpha".\n');
  expect(await said("resume", "source", "alpha")).toBe("0 Resumed: source alpha.\n");
}, 120_000);

describe("keys", () => {
  let key = "";
  test("the database of a running service is locked, and the error names the alternative", async () => {
    const dataDir = join(service.folder, "data");
    const { code, text } = await signalbox(["keys", "list"], { DATA_DIR: dataDir });
    expect([code, text]).toEqual([1, expect.stringMatching(/in use by another Signalbox process.*--remote/s)]);
    expect((await signalbox(["migrate"], { DATA_DIR: dataDir })).code).toBe(1);
  }, 120_000);

  test("through the service, which then requires a key", async () => {
    const { code, text } = await signalbox(["keys", "create", "--remote", "--name", "first", "--scope", "read,write"]);
    expect(code).toBe(0);
    expect(text).toContain("not shown again");
    key = /"key": "(\S+)"/.exec(text)?.[1] ?? "";
    const without = await signalbox(["agents", "list"]);
    expect([without.code, without.text]).toEqual([1, expect.stringContaining("SIGNALBOX_API_KEY")]);
    expect(await json(["agents", "seed"], { SIGNALBOX_API_KEY: key })).toEqual({ created: 5, skipped: 0 });
    const listing = await signalbox(["keys", "list", "--remote"], { SIGNALBOX_API_KEY: key });
    expect([listing.code, listing.text]).toEqual([1, expect.stringContaining("needs the scope admin")]);
    expect(await statusOf("/health", {})).toBe(200);
    // A key identifies the caller, by whatever name the service is reached.
    expect(await statusOf("/api/agents", { host: "signalbox.example", authorization: `Bearer ${key}` })).toBe(200);
  }, 120_000);

  test("directly in the database while the service is stopped; it then starts closed", async () => {
    await service.stop();
    const env = { DATA_DIR: join(service.folder, "data") };
    const made = await signalbox(["keys", "create", "--name", "boss", "--scopes", "admin"], env);
    const admin = /"key": "(\S+)"/.exec(made.text)?.[1] ?? "";
    const [first] = await json(["keys", "list"], env);
    expect(first).toMatchObject({ name: "first", scopes: ["read", "write"] });
    expect((await signalbox(["keys", "create", "--name", "boss", "--scope", "read"], env)).code).toBe(1);
    expect((await signalbox(["keys", "revoke", String(first.id)], env)).code).toBe(0);
    expect((await signalbox(["migrate"], env)).text).toContain("up to date");
    await service.restart();
    expect(await statusOf("/api/agents", { authorization: `Bearer ${key}` })).toBe(401);
    expect(await statusOf("/api/agents", { authorization: `Bearer ${admin}` })).toBe(200);
    await eventually(() => service.logs().includes("listens on http://0.0.0.0:"));
  }, 240_000);
});

test("keys can be created before the first start, in an empty folder or with --create", async () => {
  const env = { DATA_DIR: join(folder, "new") };
  const lines = join(folder, "memories.jsonl");
  await writeFile(lines, "");
  const commands: [string[], RegExp][] = [
    [["keys", "create", "--name", "a", "--scope", "read"], /add --create/],
    [["migrate"], /add --create/],
    [["memory", "import", lines], /run signalbox migrate --create first/],
    // An export of a new database would be empty, as if there were no memories.
    [["memory", "export"], /set DATA_DIR or DATABASE_URL/],
    [["reembed"], /set DATA_DIR or DATABASE_URL/],
  ];
  for (const [words, remedy] of commands) {
    const refused = await signalbox(words, env);
    expect([refused.code, refused.text]).toEqual([
      1,
      expect.stringMatching(/no database in .*new\. Run this in the service's folder/),
    ]);
    expect(refused.text).toMatch(remedy);
    expect(existsSync(env.DATA_DIR)).toBe(false);
  }
  // The data folder of another program is no database.
  const other = join(folder, "other");
  await mkdir(other);
  await writeFile(join(other, "file"), "");
  expect((await signalbox(["migrate"], { DATA_DIR: other })).text).toContain(`no database in ${other}.`);
  expect(await readdir(other)).toEqual(["file"]);
  // An empty folder, such as a new volume, was made for the database.
  const empty = join(folder, "empty");
  await mkdir(empty);
  for (const words of [
    ["keys", "list"],
    ["memory", "export"],
  ])
    expect((await signalbox(words, { DATA_DIR: empty })).text).toContain(`no database in ${empty}.`);
  expect(await readdir(empty)).toEqual([]);
  expect((await signalbox(["keys", "create", "--name", "a", "--scope", "read,write,admin"], { DATA_DIR: empty })).code).toBe(0);
  const made = ["keys", "create", "--create", "--name", "first", "--scope", "read"];
  expect((await signalbox(made, { DATA_DIR: join(folder, "newer") })).code).toBe(0);
  expect((await signalbox(["migrate", "--create"], env)).text).toMatch(/\d+ migrations applied/);
  expect((await signalbox(["keys", "create", "--name", "a", "--scope", "read"], env)).code).toBe(0);
}, 360_000);
