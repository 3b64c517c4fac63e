import { createHmac } from "node:crypto";
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { GiteaServer } from "../../examples/gitea/test/server.ts";
import opened from "../../examples/gitea/test/webhooks/issue-opened.json" with { type: "json" };
import { root, run, runtimeUnderTest } from "../harness/process.ts";
import { eventually } from "../harness/wait.ts";
import { startWorld } from "../harness/world.ts";

test("the example gitea in a service: a signed webhook becomes comments at the server", async () => {
  const folder = mkdtempSync(join(tmpdir(), "signalbox-gitea-"));
  cpSync(join(root, "examples/gitea"), folder, { recursive: true, filter: (path) => !/[\\/](node_modules|dist)$/.test(path) });
  const built = run(runtimeUnderTest(), "runtime/cli/main.ts", { args: ["plugin", "build"], env: {}, cwd: folder });
  expect([(await built.ended).code, built.logs()]).toEqual([0, expect.any(String)]);
  const server = await new GiteaServer().listen();
  const secret = "gitea-webhook-secret";
  const settings = {
    PLUGIN_GITEA__URL: server.url,
    PLUGIN_GITEA__TOKEN: "gitea-test-token",
    PLUGIN_GITEA__WEBHOOK_SECRET: secret,
  };
  try {
    await using world = await startWorld({ env: { SIGNALBOX_PLUGINS: folder, ...settings } });
    const { service } = world;
    const mapping = { source: "gitea", event_name: "issues", action: "opened", canonical_trigger: "issue.created" };
    expect((await service.post("/api/tasks/sources", mapping)).status).toBe(201);
    const body = JSON.stringify(opened.payload);
    const deliver = (key: string) =>
      fetch(`${service.url}/webhook/gitea`, {
        method: "POST",
        headers: { ...opened.headers, "x-gitea-signature": createHmac("sha256", key).update(body).digest("hex") },
        body,
      });
    expect((await deliver("another secret")).status).toBe(401);
    const taken = await deliver(secret);
    expect([taken.status, await taken.json()]).toMatchObject([202, { status: "accepted", executions: { length: 2 } }]);
    expect(await (await deliver(secret)).json()).toMatchObject({ status: "duplicate" });
    const subject = { project: "octo/app", issue: "7" };
    await eventually(() => server.comments(subject).length === 2, { timeout: 30_000 });
    expect(server.comments(subject).every((comment) => /^<!-- signalbox:.*Answer of /s.test(comment))).toBe(true);
  } finally {
    await server.close();
    rmSync(folder, { recursive: true, force: true });
  }
}, 120_000);
