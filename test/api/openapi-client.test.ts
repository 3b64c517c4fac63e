import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Model, startModel } from "../../examples/demo/model.ts";
import { startTracker, type Tracker } from "../../examples/demo/tracker.ts";
import { type Service, startService } from "../harness/service.ts";
import { surroundings, webhookSecret } from "../harness/world.ts";

const folder = join(import.meta.dirname, "../../examples/openapi-client");
const bin = join(import.meta.dirname, "../../node_modules/.bin");
const key = "key-of-the-client";
let tracker: Tracker;
let model: Model;
let service: Service;
beforeAll(async () => {
  tracker = await startTracker({ token: "tracker-token", autoCreate: true });
  model = await startModel({ script: () => ({ content: "It is about a dark mode." }) });
  const env = { ...surroundings(tracker, model), API_KEYS: key, HOST: "127.0.0.1" };
  service = await startService({ env, webhookSecret, apiKey: key });
  await service.post("/api/tasks/sources/seed");
});
afterAll(async () => {
  await service?.close();
  await Promise.all([tracker?.close(), model?.close()]);
});

const runs = promisify(execFile);
const run = async (program: string, args: readonly string[], env: Record<string, string> = {}) => {
  try {
    const { stdout } = await runs(join(bin, program), args, { cwd: folder, env: { ...process.env, ...env } });
    return stdout;
  } catch (error) {
    const { stdout, stderr } = error as { stdout: string; stderr: string };
    throw new Error(`${program} ${args.join(" ")} failed:\n${stdout}\n${stderr}`);
  }
};

test("a client generated from openapi.json compiles, and works through a whole life cycle", async () => {
  await run("node", ["generate.ts", `${service.url}/openapi.json`]);
  await run("tsc", ["-p", "."]);
  const env = { SIGNALBOX_URL: service.url, SIGNALBOX_API_KEY: key, ALPHA_WEBHOOK_SECRET: webhookSecret };
  const told = await run("node", ["life.ts"], env);
  expect(told).toMatch(/the execution \S+ is succeeded: It is about a dark mode\./);
  expect(told).toMatch(/and is gone: .*example_agent/);
  expect(tracker.comments("signalbox-example/openapi-client", 1)).toHaveLength(1);
  for (const path of ["/api/agents", "/api/projects", "/api/tasks", "/api/tasks/triggers", "/api/webhook-mappings"])
    expect({ path, left: (await service.get(path)).body }).toEqual({ path, left: [] });
});
