import { rmSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Script } from "../../examples/demo/model.ts";
import { issueOpened } from "../harness/alpha-payloads.ts";
import { type Broker, type Sent, startNats, startRabbitmq } from "../harness/brokers.ts";
import { eventually, waitForExecutions } from "../harness/wait.ts";
import { signature } from "../harness/webhooks.ts";
import { issueOf, plainScript, startWorld, textsOf, type World, webhookSecret } from "../harness/world.ts";
import { buildPlugin, inParallel } from "./connector-faults.ts";

/** Number of events with kills of the broker and the service, in each direction. More with `CONNECTOR_EVENTS=1000`. */
const events = Number(process.env.CONNECTOR_EVENTS ?? 500);
const limit = 120_000 + events * 200;
const repo = "octo/app";

const buses = [
  { name: "nats", need: "nats-server", start: startNats },
  { name: "amqp", need: "rabbitmq-server", start: startRabbitmq },
] as const;

for (const { name, need, start } of buses) {
  // The two beside each other, because most of their time is waiting. Each has its own broker and service.
  describe.concurrent(`the message bus ${name}`, { tags: [need] }, () => {
    let folder: string;
    let broker: Broker;
    let world: World;
    beforeAll(async () => {
      folder = await buildPlugin(`queue-${name}`);
      broker = await start();
      world = await startWorld({ tasks: ["summarize"], env: env(), script });
    }, 120_000);
    afterAll(async () => {
      await world?.[Symbol.asyncDispose]();
      await broker?.close();
      rmSync(folder, { recursive: true, force: true });
    });

    const script: Script = (request, at) =>
      issueOf(request) === `${repo}#5` ? { content: "long ".repeat(1_000_000) } : plainScript(request, at);
    const env = (): Record<string, string> => {
      const settings = Object.entries(broker.config).map(([key, value]) => [
        `PLUGIN_QUEUE_${name.toUpperCase()}__${key.toUpperCase()}`,
        value,
      ]);
      return { SIGNALBOX_PLUGINS: folder, ...Object.fromEntries(settings) };
    };
    const numbers = (from: number, count: number) => Array.from({ length: count }, (_, at) => from + at);
    /** The webhook of an opened issue, as a relay publishes it on the bus: with the platform's headers and bytes. */
    const opened = (number: number, secret = webhookSecret): Sent => {
      const body = JSON.stringify(issueOpened({ repo, number }));
      const headers = { "x-alpha-event": "issues", "x-hub-signature-256": signature(body, secret) };
      return { id: `m${number}`, webhook: "alpha", body, headers };
    };
    const comments = (number: number) => textsOf(world.tracker, repo, number);
    const inHalves = async <T>(all: readonly T[], run: (some: readonly T[]) => Promise<unknown>) => {
      const half = Math.ceil(all.length / 2);
      await run(all.slice(0, half));
      await broker.kill();
      await broker.start();
      await run(all.slice(half));
      await world.service.kill();
      await world.service.restart();
    };

    const shows = (state: string, message: RegExp, { service }: World = world) =>
      eventually(
        async () => {
          const { body } = await service.get<{ checks: { name: string; state: string; message: string }[] }>("/api/status");
          const check = body.checks.find((one) => one.name === `queue:${name}`);
          return check?.state === state && message.test(check.message);
        },
        { timeout: 90_000 },
      );

    test("the status names a missing stream or queue of webhooks", { timeout: 300_000, concurrent: false }, async () => {
      const missing = `PLUGIN_QUEUE_${name.toUpperCase()}__INCOMING_${name === "nats" ? "STREAM" : "QUEUE"}`;
      await using other = await startWorld({ env: { ...env(), [missing]: "nowhere" } });
      await shows(
        "failed",
        /^receiving webhooks failed: .* has no (stream|queue) "nowhere"\. Create it, or correct the setting/,
        other,
      );
    });

    test("the status says that the broker refuses the password", { timeout: 300_000, concurrent: false }, async () => {
      await using other = await startWorld({ env: { ...env(), [`PLUGIN_QUEUE_${name.toUpperCase()}__PASSWORD`]: "wrong" } });
      await shows(
        "failed",
        /^receiving webhooks failed: [^:]*(:\d+)? refused the login; correct the settings user and password/,
        other,
      );
    });

    test("the status says that the broker is down, until it is back", { timeout: 300_000, concurrent: false }, async () => {
      await shows("ok", /no message waits/);
      await broker.kill();
      await shows("failed", /^receiving webhooks failed: .*127\.0\.0\.1.*; they wait in the queue$/);
      await broker.start();
      await shows("ok", /no message waits/);
    });

    test("a webhook from the bus becomes a comment; one that is not signed is refused", {
      timeout: 120_000,
      concurrent: false,
    }, async () => {
      await broker.send([opened(1, "another secret"), opened(2), { ...opened(3), webhook: "nowhere" }]);
      await eventually(() => comments(2).length === 1, { timeout: 40_000 });
      const { body } = await world.service.get<{ slug: string; outcome: string }[]>("/api/webhook-events");
      expect(body.map(({ slug, outcome }) => [slug, outcome]).sort()).toEqual([["alpha", "dispatched"]]);
      expect([comments(1), comments(3)]).toEqual([[], []]);
    });

    test("an answer that the broker would refuse is published as far as it fits", {
      timeout: 120_000,
      concurrent: false,
    }, async () => {
      for (const number of [5, 6]) {
        const { body } = await world.service.webhook(issueOpened({ repo, number }));
        const [execution] = await waitForExecutions(world.service, { event_id: body.event_id });
        expect(execution?.state).toBe("succeeded");
        await eventually(async () => (await broker.published()).includes(`${execution?.id}.1.succeeded`), { timeout: 60_000 });
      }
      await shows("ok", /no message waits/);
    });

    test("messages that the broker refuses do not hold up the others, and are published once it accepts them", {
      timeout: 300_000,
      concurrent: false,
    }, async () => {
      broker.refuse("event.received");
      const { body } = await world.service.webhook(issueOpened({ repo, number: 7 }));
      const [execution] = await waitForExecutions(world.service, { event_id: body.event_id });
      const isPublished = async (id: string) => (await broker.published()).includes(id);
      await eventually(() => isPublished(`${execution?.id}.1.succeeded`), { timeout: 90_000 });
      await shows("degraded", /^the queue refused 1 message, which is published again later: .*event\.received/);
      expect(await isPublished(body.event_id)).toBe(false);
      broker.refuse(null);
      await eventually(() => isPublished(body.event_id), { timeout: 120_000, interval: 500 });
      await shows("ok", /no message waits/);
      const published = await broker.published();
      expect(new Set(published).size).toBe(published.length);
    });

    // Only RabbitMQ's streams can be down while their broker is up.
    if (name === "amqp")
      test("the status names a stream that is down and the remedy, until it is back", {
        timeout: 300_000,
        concurrent: false,
      }, async () => {
        const start = broker.stopStream?.();
        const { body } = await world.service.webhook(issueOpened({ repo, number: 4 }));
        await shows("failed", /the stream signalbox\.events is down; if it stays down, restart RabbitMQ/);
        start?.();
        await shows("ok", /no message waits/);
        await eventually(async () => (await broker.published()).includes(body.event_id), { timeout: 30_000 });
      });

    test(`${events} webhooks from the bus, with kills of the broker and the service: nothing lost, nothing twice`, {
      timeout: limit,
      concurrent: false,
    }, async () => {
      const all = numbers(1_000, events);
      const sent = all.map((number) => opened(number));
      await inHalves(sent, (some) => broker.send(some));
      await eventually(() => all.every((number) => comments(number).length === 1), { timeout: limit - 20_000, interval: 500 });
      // A repeated message is recognised as a duplicate by the broker or the service.
      await broker.send(sent.slice(0, 20));
      await eventually(async () => (await broker.waiting()) === 0, { timeout: 30_000, interval: 500 });
      expect(all.filter((number) => comments(number).length !== 1)).toEqual([]);
    });

    test(`${events} events to the bus, with kills of the broker and the service: each is there once`, {
      timeout: limit,
      concurrent: false,
    }, async () => {
      const all = numbers(5_000, events);
      const ids: string[] = [];
      const deliver = async (number: number) => {
        const { body } = await world.service.webhook(issueOpened({ repo, number }));
        ids.push(body.event_id);
      };
      await inHalves(all, (some) => inParallel(some, deliver));
      await eventually(() => all.every((number) => comments(number).length === 1), { timeout: limit - 60_000, interval: 500 });
      const published = await eventually(
        async () => {
          const found = await broker.published();
          return ids.every((id) => found.includes(id)) && found;
        },
        { timeout: 60_000, interval: 1_000 },
      );
      expect(published.filter((id, at) => published.indexOf(id) !== at)).toEqual([]);
      const ended = await eventually(
        async () => {
          const found = await broker.published();
          return found.filter((id) => id.endsWith(".succeeded")).length >= 2 * events + 1 && found;
        },
        { timeout: 60_000, interval: 1_000 },
      );
      expect(new Set(ended).size).toBe(ended.length);
    });
  });
}
