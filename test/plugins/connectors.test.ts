import { createHmac, randomUUID } from "node:crypto";
import { rmSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { eventually } from "../harness/wait.ts";
import { startWorld, type World } from "../harness/world.ts";
import { buildPlugin, events, limit, sendUnderFaults, unlimited } from "./connector-faults.ts";
import { connectors, type Platform } from "./connector-table.ts";

const secret = "webhook-secret-of-this-test";

describe.each(connectors)("$id in a service", (connector) => {
  let folder: string;
  let world: World;
  let platform: Platform;
  beforeAll(async () => {
    folder = await buildPlugin(connector.id);
    platform = await connector.start();
    const name = connector.id.toUpperCase();
    const settings = {
      [`PLUGIN_${name}__URL`]: platform.server.url,
      [`PLUGIN_${name}__TOKEN`]: connector.token,
      [`PLUGIN_${name}__WEBHOOK_SECRET`]: secret,
    };
    world = await startWorld({ tasks: ["summarize"], env: { SIGNALBOX_PLUGINS: folder, ...settings, ...unlimited } });
    const mapping = { source: connector.id, ...connector.event, canonical_trigger: "issue.created" };
    expect((await world.service.post("/api/tasks/sources", mapping)).status).toBe(201);
  }, 120_000);
  afterAll(async () => {
    // Runs first, because a request that hangs on purpose would delay the service's stop.
    await platform?.server.close();
    await world?.[Symbol.asyncDispose]();
    rmSync(folder, { recursive: true, force: true });
  });

  const deliver = (issue: number, { id = randomUUID() as string, key = secret } = {}) => {
    const { headers, payload } = connector.opened(issue, id);
    const body = JSON.stringify(payload);
    const signature = createHmac("sha256", key).update(body).digest("hex");
    const url = `${world.service.url}/webhook/${connector.id}`;
    return fetch(url, { method: "POST", headers: { ...headers, [connector.signature]: signature }, body });
  };

  test("its credentials are secret settings, so forms hide them", async () => {
    const { body } = await world.service.get<{ settings: { name: string; secret: boolean }[] }>(`/api/plugins/${connector.id}`);
    const isSecret = Object.fromEntries(body.settings.map(({ name, secret }) => [name, secret]));
    expect(isSecret).toMatchObject({ token: true, webhook_secret: true, url: false });
  });

  test("a signed webhook becomes a comment, a repeated one does not", { timeout: 120_000 }, async () => {
    const id = randomUUID();
    expect((await deliver(1, { key: "another secret" })).status).toBe(401);
    const taken = await deliver(1, { id });
    expect([taken.status, await taken.json()]).toMatchObject([202, { status: "accepted", executions: { length: 1 } }]);
    expect(await (await deliver(1, { id })).json()).toMatchObject({ status: "duplicate" });
    await eventually(() => platform.comments(1).length === 1, { timeout: 30_000 });
    expect(platform.comments(1)[0]).toContain("Answer of summarize");
  });

  test(`${events} events with faults of the platform and kills of the service: nothing lost, nothing twice`, {
    timeout: limit,
  }, async () => {
    const all = Array.from({ length: events }, (_, at) => at + 2);
    await sendUnderFaults({ service: world.service, platform: platform.server }, all, async (issue, id) => {
      // Like platforms: a delivery without a successful response is repeated with its id, and some are repeated although they
      // succeeded.
      const { ok } = await deliver(issue, { id });
      if (ok && issue % 3 === 0) await deliver(issue, { id }).catch(() => null);
      return ok;
    });
    const wrong = all.filter((issue) => platform.comments(issue).length !== 1);
    const seen = wrong.slice(0, 3).map(async (issue) => {
      const subject = encodeURIComponent(connector.subject(issue));
      return { issue, executions: (await world.service.get(`/api/task-executions?subject=${subject}`)).body };
    });
    expect([wrong, await Promise.all(seen)]).toEqual([[], []]);
  });
});
