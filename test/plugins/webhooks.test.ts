import { createHmac } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { childrenOf, cpuTicks, descendantsOf, isGone } from "../harness/child-processes.ts";
import { testOnDatabases } from "../harness/on-databases.ts";
import type { Built } from "../harness/plugin-bundle.ts";
import { run, runtimeUnderTest } from "../harness/process.ts";
import { quarantinePlugins } from "../harness/quarantine.ts";
import { type Service, startService } from "../harness/service.ts";
import { buildTickets } from "../harness/tickets-plugin.ts";
import { eventually } from "../harness/wait.ts";

const limit = 120_000;
const secret = "shared-with-the-sender";

interface Event {
  readonly id: string;
  readonly delivery_id: string | null;
  readonly event_name: string | null;
  readonly reason: string;
}

let builds: Built[];
beforeAll(async () => {
  builds = await Promise.all([buildTickets("tickets", true), buildTickets("notes", false)]);
}, limit);

let service: Service | undefined;
afterAll(() => service?.close());

const start = async (database: "embedded" | "postgres", more: Record<string, string> = {}) => {
  const env = { PLUGIN_TICKETS__WEBHOOK_SECRET: secret, PLUGIN_NOTES__WEBHOOK_SECRET: secret, ...more };
  await service?.close();
  service = await startService({ env, database });
  for (const { manifest, body } of builds) {
    await service.post("/api/plugins", body);
    expect((await service.post(`/api/plugins/${manifest.id}/approve`, {})).status).toBe(200);
  }
  await eventually(async () => (await states()).every((state) => state === "ready") || null);
  return service;
};
/** As an operator after a quarantine. Returns the statuses. */
const enable = () =>
  Promise.all(builds.map(async ({ manifest: { id } }) => (await service?.post(`/api/plugins/${id}/enable`))?.status));
const states = async () => ((await service?.get<{ state: string }[]>("/api/plugins"))?.body ?? []).map(({ state }) => state);
const send = async (plugin: string, number: number, title = `Ticket ${number}`, key = secret, delivery = `d-${number}`) => {
  const body = JSON.stringify({ number, title });
  const headers = {
    "content-type": "application/json",
    "ticket-delivery": delivery,
    "ticket-signature": createHmac("sha256", key).update(body).digest("hex"),
  };
  const answer = await fetch(`${service?.url}/webhook/${plugin}`, { method: "POST", headers, body });
  return { status: answer.status, body: (await answer.json()) as { event_id: string; status: string } };
};
const events = async () => (await service?.get<Event[]>("/api/webhook-events?source=tickets&limit=1000"))?.body ?? [];
/** Ends the processes of all plugins, as a machine without free memory does; `false` if there are none now. */
const killProcesses = (): boolean => {
  const children = processes();
  for (const pid of children) process.kill(Number(pid), "SIGKILL");
  return children.length > 0;
};
const processes = () => childrenOf(service?.pid);

testOnDatabases(
  "a process that is killed in a burst delays its events and loses none",
  async (database) => {
    const service = await start(database);
    const count = 60;
    const sent: Promise<Awaited<ReturnType<typeof send>>>[] = [];
    for (let i = 1; i <= count; i++) {
      sent.push(send("tickets", i));
      if (i === 15) expect(killProcesses()).toBe(true);
      await new Promise((done) => setTimeout(done, 4));
    }
    const answers = await Promise.all(sent);
    expect([...new Set(answers.map(({ status }) => status))].filter((status) => status !== 200 && status !== 202)).toEqual([]);
    // Once more, while it parses the deferred webhooks.
    await eventually(() => killProcesses(), { interval: 5 });
    const read = await eventually(async () => ((await events()).length >= count ? events() : null), { timeout: 60_000 });
    const deliveries = read.map((event) => event.delivery_id);
    expect(new Set(deliveries)).toEqual(new Set(Array.from({ length: count }, (_, i) => `d-${i + 1}`)));
    expect(deliveries).toHaveLength(count);
    expect(new Set(read.map(({ id }) => id))).toEqual(new Set(answers.map(({ body }) => body.event_id)));
    await service.close();
  },
  limit,
);

test(
  "while the plugin is down, a declared signature refuses forged webhooks; without one they get 503",
  async () => {
    await quarantinePlugins(await start("embedded", { WEBHOOK_REPLAY_HOURS: "1" }));
    expect((await send("tickets", 1, "forged", "another secret")).status).toBe(401);
    expect((await send("notes", 1)).status).toBe(503);
    const kept = await send("tickets", 2);
    expect(kept).toMatchObject({ status: 202, body: { status: "accepted" } });
    const again = await send("tickets", 2);
    expect(again.status).toBe(202);
    // A copy of the signed body with another delivery id runs nothing either.
    expect((await send("tickets", 2, "Ticket 2", secret, "copy-of-d-2")).status).toBe(202);
    await send("tickets", 3);
    expect(await enable()).toEqual([200, 200]);
    await eventually(async () => ((await events()).some(({ delivery_id }) => delivery_id === "d-3") ? true : null));
    const read = (await events()).filter(({ delivery_id }) => delivery_id !== "d-3");
    expect(read.map(({ delivery_id }) => delivery_id)).toEqual(["d-2"]);
    expect(read[0]?.id).toBe(kept.body.event_id);
  },
  limit,
);

test(
  "new webhooks behind a backlog are parsed after it, in order of arrival",
  async () => {
    const seen = async () =>
      (await service?.post<{ result: number[] }>("/api/tools/tickets.seen/execute", { parameters: {} }))?.body.result ?? [];
    expect(await seen()).not.toEqual([]);
    await quarantinePlugins(service as Service);
    const sent: number[] = [];
    const sendNext = async () => {
      const number = 100 + sent.length;
      sent.push(number);
      return (await send("tickets", number)).status;
    };
    while (sent.length < 20) expect(await sendNext()).toBe(202);
    const enabled = enable();
    // Until it is running and has parsed the deferred webhooks; the last of them arrives while it is running.
    for (let last = 0; last !== 200; await new Promise((done) => setTimeout(done, 10))) {
      last = await sendNext();
      expect([200, 202]).toContain(last);
    }
    expect(await enabled).toEqual([200, 200]);
    expect(await eventually(async () => ((await seen()).length >= sent.length ? seen() : null))).toEqual(sent);
    expect((await events()).filter(({ event_name }) => event_name === "ticket")).toHaveLength(sent.length + 2);
  },
  limit,
);

test(
  "a webhook that keeps crashing the process is stored as unreadable, and the others are parsed",
  async () => {
    const poisoned = await send("tickets", 3, "poison");
    expect(poisoned.status).toBe(202);
    const after = await send("tickets", 4);
    expect(after.status).toBe(202);
    const read = await eventually(
      async () => {
        // Each of its crashes counts; an operator who wants to continue enables it again.
        await service?.post("/api/plugins/tickets/enable");
        const all = await events();
        return all.some(({ id }) => id === poisoned.body.event_id) && all.some(({ id }) => id === after.body.event_id)
          ? all
          : null;
      },
      { timeout: 60_000, interval: 300 },
    );
    const event = read.find(({ id }) => id === poisoned.body.event_id);
    expect(event).toMatchObject({ event_name: "", reason: "plugin tickets failed to parse the payload" });
  },
  limit,
);

test(
  "one with a text of 9 MiB is parsed with the text cut, and the process lives",
  async () => {
    // No webhook waits any more.
    await eventually(async () => (await send("tickets", 50)).status === 200 || null);
    const large = await send("tickets", 5, "x".repeat(9 * 1024 * 1024));
    expect(large).toMatchObject({ status: 200, body: { status: "discarded" } });
    const next = await send("tickets", 6);
    const read = await events();
    const named = ({ body }: typeof next) => read.find(({ id }) => id === body.event_id)?.event_name;
    expect([named(large), named(next)]).toEqual(["ticket", "ticket"]);
  },
  limit,
);

test(
  "one with a text of 9 MiB is parsed in the same way if it waited for its plugin, and if it is replayed",
  async () => {
    await quarantinePlugins(service as Service);
    const deferred = await send("tickets", 60, "x".repeat(9 * 1024 * 1024));
    expect(deferred.status).toBe(202);
    expect(await enable()).toEqual([200, 200]);
    const find = async (id: string) => (await events()).find((event) => event.id === id);
    const read = await eventually(async () => (await find(deferred.body.event_id)) ?? null, { timeout: 30_000 });
    expect(read.event_name).toBe("ticket");
    const replayed = await service?.post<{ event_id: string }>(`/api/webhook-events/${deferred.body.event_id}/replay`);
    expect((await find(replayed?.body.event_id ?? ""))?.event_name).toBe("ticket");
  },
  limit,
);

test(
  "plugin processes end with a host that is killed, even in an endless loop",
  async () => {
    const children = descendantsOf(service?.pid);
    expect(children.length).toBeGreaterThan(0);
    // It no longer reads, so it does not notice that its input ended.
    const unanswered = send("tickets", 8, "spin").catch(() => null);
    const before = children.map(cpuTicks);
    await eventually(() => children.some((pid, i) => cpuTicks(pid) - (before[i] as number) > 30) || null);
    await service?.kill("SIGKILL");
    await eventually(() => children.every(isGone) || null, { timeout: 3_000 });
    await unanswered;
  },
  limit,
);

test(
  "a deferred webhook is shown while it waits; when it expires it becomes an event with the reason, which can be replayed",
  async () => {
    const service = await start("embedded", { WATCHDOG_ENABLED: "true" });
    await quarantinePlugins(service);
    const kept = await send("tickets", 7);
    expect(kept.status).toBe(202);
    expect((await service.post("/api/plugins/tickets/disable")).status).toBe(200);
    const told = { plugin: "tickets", slug: "tickets", count: 1, oldest_at: expect.any(String) };
    const health = () => service.get<{ status: string; deferred_webhooks?: object[] }>("/health");
    await eventually(async () => expect((await health()).body).toMatchObject({ status: "ok", deferred_webhooks: [told] }));
    const env = { SIGNALBOX_URL: service.url };
    const doctor = run(runtimeUnderTest(), "runtime/cli/main.ts", { args: ["plugin", "doctor"], env, cwd: service.folder });
    expect((await doctor.ended).code).toBe(1);
    expect(doctor.logs()).toContain("problem: tickets: 1 webhook waits for it at /webhook/tickets, the oldest since 20");
    // Only now, so that it does not expire before all of them have shown it.
    await service.restart({ DEFERRED_WEBHOOK_TTL: "2" });
    const [event] = await eventually(async () => ((await events()).length > 0 ? events() : null), { timeout: 30_000 });
    const reason = expect.stringMatching(/^the plugin tickets did not start running within 2 seconds/);
    expect(event).toMatchObject({ id: kept.body.event_id, outcome: "discarded", reason });
    const watched = await service.get<{ message: string; context: object }[]>("/api/watchdog?limit=100");
    expect(watched.body).toContainEqual(
      expect.objectContaining({ message: "webhooks are waiting for their plugin to run", context: told }),
    );
    expect(watched.body.map(({ message }) => message)).toContain(
      "webhooks were discarded because their plugin was not running in time",
    );
    await eventually(async () => expect((await health()).body.deferred_webhooks).toBeUndefined());
    // Only once: no other replica and no later sweep finds it again.
    expect(await events()).toHaveLength(1);

    expect(await enable()).toEqual([200, 200]);
    await eventually(async () => ((await states()).every((state) => state === "ready" || state === "degraded") ? true : null));
    expect((await service.post(`/api/webhook-events/${kept.body.event_id}/replay`)).status).toBe(200);
    expect((await events()).map(({ event_name }) => event_name).sort()).toEqual(["", "ticket"]);
  },
  limit,
);
