import { createHmac, randomUUID } from "node:crypto";
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, expect, test } from "vitest";
import { eventually } from "../harness/wait.ts";
import { startWorld, type World } from "../harness/world.ts";
import { buildPlugin, unlimited } from "./connector-faults.ts";
import { type Connector, connectors, type Platform } from "./connector-table.ts";

const secret = "webhook-secret-of-this-test";
const gitea = connectors.find(({ id }) => id === "gitea") as Connector;

let folder: string;
let platform: Platform;
let world: World;
beforeAll(async () => {
  folder = await buildPlugin(gitea.id);
  platform = await gitea.start();
  // The next try by itself would be in five minutes.
  const env = { ENCRYPTION_KEY: "ab".repeat(32), EXECUTION_RETRY_DELAY_SECONDS: "300", EXECUTION_RETRY_LIMIT: "0" };
  const settings = {
    PLUGIN_GITEA__URL: platform.server.url,
    PLUGIN_GITEA__TOKEN: "an-expired-token",
    PLUGIN_GITEA__WEBHOOK_SECRET: secret,
  };
  world = await startWorld({ tasks: ["summarize"], env: { ...env, ...settings, ...unlimited } });
  const manifest = JSON.parse(readFileSync(join(folder, "dist/plugin.json"), "utf8"));
  const bundle = gzipSync(readFileSync(join(folder, "dist/plugin.js"))).toString("base64");
  expect((await world.service.post("/api/plugins", { manifest, bundle })).status).toBe(201);
  expect((await world.service.post("/api/plugins/gitea/approve", {})).status).toBe(200);
  const mapping = { source: gitea.id, ...gitea.event, canonical_trigger: "issue.created" };
  expect((await world.service.post("/api/tasks/sources", mapping)).status).toBe(201);
}, 120_000);
afterAll(async () => {
  await platform?.server.close();
  await world?.[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

const deliver = async (issue: number) => {
  const { headers, payload } = gitea.opened(issue, randomUUID());
  const body = JSON.stringify(payload);
  const signature = createHmac("sha256", secret).update(body).digest("hex");
  const url = `${world.service.url}/webhook/gitea`;
  expect((await fetch(url, { method: "POST", headers: { ...headers, [gitea.signature]: signature }, body })).status).toBe(202);
};
const states = async () => (await world.service.get<{ state: string }[]>("/api/task-executions")).body.map(({ state }) => state);
const check = async () => {
  const { checks } = (await world.service.get<{ checks: { name: string; message: string }[] }>("/api/status")).body;
  return checks.find(({ name, message }) => name === "connection:gitea" && message.includes("executions wait"));
};

test("new settings of an installed plugin are tried at once, and the status says how to set them", {
  timeout: 120_000,
}, async () => {
  await deliver(1);
  await eventually(async () => (await states()).includes("failed"));
  await deliver(2);
  const found = await eventually(check);
  expect(found.message).toContain("Correct the credentials of gitea with signalbox plugin configure gitea, without a restart");
  expect((await world.service.put("/api/plugins/gitea/settings", { settings: { token: gitea.token } })).status).toBe(200);
  await eventually(() => platform.comments(2).length === 1);
  await eventually(async () => (await check()) === undefined);
});
