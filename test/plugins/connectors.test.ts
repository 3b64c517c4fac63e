import { createHmac, randomUUID } from "node:crypto";
import { rmSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { eventually } from "../harness/wait.ts";
import { startWorld, type World } from "../harness/world.ts";
import { buildPlugin, disturb, inParallel } from "./connector-faults.ts";
import { connectors, type Platform } from "./connector-table.ts";

/** Events with faults for each connector. More with `CONNECTOR_EVENTS=1000`. */
const events = Number(process.env.CONNECTOR_EVENTS ?? 30);
const secret = "webhook-secret-of-this-test";
const limit = 60_000 + events * 400;

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
    world = await startWorld({ tasks: ["summarize"], env: { SIGNALBOX_PLUGINS: folder, ...settings } });
    const mapping = { source: connector.id, ...connector.event, canonical_trigger: "issue.created" };
    expect((await world.service.post("/api/tasks/sources", mapping)).status).toBe(201);
  }, 120_000);
  afterAll(async () => {
    // First: a request that hangs on purpose would hold the service's stop.
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

  test("a signed webhook becomes a comment, a repeated one does not", { timeout: 60_000 }, async () => {
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
    const calm = disturb(platform.server);
    const all = Array.from({ length: events }, (_, at) => at + 2);
    // As platforms do: a delivery without an answer of success is repeated with its id; some are repeated although it succeeded.
    const send = async (issue: number) => {
      const id = randomUUID();
      await eventually(
        () =>
          deliver(issue, { id }).then(
            ({ ok }) => ok,
            () => false,
          ),
        { timeout: 60_000, interval: 200 },
      );
      if (issue % 3 === 0) await deliver(issue, { id }).catch(() => null);
    };
    const half = Math.ceil(all.length / 2);
    await inParallel(all.slice(0, half), send);
    await world.service.kill();
    const restarted = world.service.restart();
    await inParallel(all.slice(half), send);
    await restarted;
    await world.service.kill();
    await world.service.restart();
    await calm();
    await eventually(() => all.every((issue) => platform.comments(issue).length > 0), { timeout: limit - 10_000 });
    await eventually(async () => (await unfinished()) === 0, { timeout: 30_000 });
    expect(all.filter((issue) => platform.comments(issue).length !== 1)).toEqual([]);
  });

  /** Executions that may still write. */
  const unfinished = async () => {
    const counts = ["queued", "held", "running", "waiting"].map(async (state) => {
      const { status, body } = await world.service.get<unknown[]>(`/api/task-executions?state=${state}&limit=1`);
      return status === 200 ? body.length : Number.NaN;
    });
    return (await Promise.all(counts)).reduce((sum, count) => sum + count, 0);
  };
});
