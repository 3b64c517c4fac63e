import { spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { freePorts } from "../../sdk/testing/free-ports.ts";
import { issueOpened } from "../harness/alpha-payloads.ts";
import { jsonClient } from "../harness/json-client.ts";
import { quickEmbedded, type Running, root, runProgram } from "../harness/process.ts";
import { eventually } from "../harness/wait.ts";

/** The published service differs from the one in other tests: one file instead of many, some of which are started by path. */
let folder: string;
let service: Running;
let api: ReturnType<typeof jsonClient>;

beforeAll(async () => {
  const built = spawnSync(join(root, "node_modules/.bin/tsup"), { cwd: root, encoding: "utf8" });
  expect(built.status, built.stdout + built.stderr).toBe(0);
  // Like `.ci/package.mjs`, which also checks types.
  cpSync(join(root, "migrations"), join(root, "dist/signalbox/migrations"), { recursive: true });
  folder = mkdtempSync(join(tmpdir(), "signalbox-bundle-"));
  const [port = 0, grpc = 0] = await freePorts(2);
  const env = { PORT: String(port), GRPC_PORT: String(grpc), DATA_DIR: folder };
  const args = [...quickEmbedded, join(root, "dist/signalbox/signalbox.js"), "start"];
  service = runProgram(process.execPath, args, { env, cwd: folder });
  api = jsonClient(`http://127.0.0.1:${port}`);
  const answers = () =>
    api.get("/health").then(
      ({ status }) => status === 200,
      () => false,
    );
  // A very busy machine creates the database for more than a minute.
  await eventually(answers, { timeout: 180_000 });
}, 300_000);
afterAll(async () => {
  service?.signal("SIGTERM");
  await service?.ended;
  rmSync(folder, { recursive: true, force: true });
});

test("serves, and evaluates filters in a separate process", async () => {
  const mapping = { name: "labelled", source: "alpha", event_type: "issues", canonical_trigger: "issue.seen" };
  const made = await api.post("/api/webhook-mappings", { ...mapping, jq_filter: '.action == "opened"' });
  expect(made, service.logs()).toMatchObject({ status: 201 });
  const headers = { "x-alpha-event": "issues" };
  const sent = await api.post("/webhook/alpha", issueOpened({ repo: "octo/app", number: 1 }), { headers });
  expect(sent.body).toMatchObject({ status: "accepted", canonical_trigger: "issue.seen" });
});

test("stops cleanly", async () => {
  service.signal("SIGTERM");
  expect(await service.ended).toMatchObject({ code: 0 });
});

test("on an older Node it names the version that it needs", () => {
  const older = 'Object.defineProperty(process, "versions", { value: { ...process.versions, node: "20.19.4" } })';
  const file = join(root, "dist/signalbox/signalbox.js");
  const ended = spawnSync(process.execPath, ["--import", `data:text/javascript,${encodeURIComponent(older)}`, file, "--help"], {
    encoding: "utf8",
  });
  expect(ended).toMatchObject({ status: 1, stdout: "", stderr: expect.stringContaining("requires Node 22.18 or newer") });
  expect(JSON.parse(readFileSync(join(root, "package.json"), "utf8")).engines.node).toBe(">=22.18");
  // Modules that an older Node cannot load must not be imported before the check.
  expect(readFileSync(file, "utf8")).not.toMatch(/^import\b/m);
});
