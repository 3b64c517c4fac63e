import { expect, test } from "vitest";
import { startModel } from "../../examples/demo/model.ts";
import { startTracker, type Tracker } from "../../examples/demo/tracker.ts";
import { issueCommented, issueEdited, issueLabeled, issueOpened, type Payload } from "../harness/alpha-payloads.ts";
import { type FreshDatabase, freshDatabase } from "../harness/databases.ts";
import { testOnDatabases } from "../harness/on-databases.ts";
import { type Service, startService } from "../harness/service.ts";
import { eventually, shortestOf } from "../harness/wait.ts";
import { login, plainScript, startWorld, surroundings, token, webhookSecret } from "../harness/world.ts";

interface Seen {
  readonly id: string;
  readonly state: string;
  readonly subject: string;
  readonly held_reason: string | null;
  readonly held_until: string | null;
  readonly started_at: string | null;
  readonly hop: number | null;
  readonly answers: string | null;
}

const repo = "octo/app";
/** The default of `LOOP_WINDOW_SECONDS`, minus the time until the answers to the last comments are delivered. */
const windowMs = 12_000;
const asBot = { sender: { login: "helper[bot]", type: "Bot" }, comment: { user: { login: "helper[bot]", type: "Bot" } } };
const at = (number: number, text: string, sender: string, overrides = {}) =>
  issueCommented({ repo, number, comment: text, sender }, overrides);
/**
 * Number of accounts that answer each comment of ours, each on a separate issue, and the maximum number of comments of ours that
 * they cause.
 */
const accounts: readonly { name: string; most: number; answer: (number: number, round: number) => Payload }[] = [
  { name: "a bot", most: 1, answer: (number, round) => at(number, `Beep ${round}`, "helper[bot]", asBot) },
  {
    name: "an automation rule that edits the issue",
    most: 11,
    answer: (number, round) => issueEdited({ repo, number, title: `Rule ${round}`, sender: "automation" }),
  },
  {
    name: "an automation rule that changes labels",
    most: 11,
    answer: (number, round) => issueLabeled({ repo, number, label: `round-${round}`, sender: "automation" }),
  },
  { name: "a second service", most: 11, answer: (number, round) => at(number, `Another service: ${round}`, "other-service") },
  {
    name: "a script with a person's account",
    most: 11,
    answer: (number, round) => at(number, `Thanks! ${round}`, "octo", { comment: { author_association: "OWNER" } }),
  },
];

/**
 * Other accounts at a tracker, which answer every comment of ours once. Deliveries are sent to any replica, and repeated until
 * one has accepted them.
 */
class Reactors {
  readonly sent = new Map<number, number>();
  readonly #tracker: Tracker;
  readonly #replicas: readonly Service[];
  readonly #timer = setInterval(() => this.#look(), 50);
  #deliveries = 0;

  constructor(tracker: Tracker, replicas: readonly Service[]) {
    this.#tracker = tracker;
    this.#replicas = replicas;
  }

  ours(number: number): number {
    return this.#tracker.comments(repo, number).length;
  }
  async deliver(payload: Payload): Promise<void> {
    const delivery = `loop-${++this.#deliveries}`;
    const first = this.#deliveries;
    let tries = 0;
    await eventually(
      async () => {
        const replica = this.#replicas[(first + tries++) % this.#replicas.length] as Service;
        return (await replica.webhook(payload, { delivery })).status < 300;
      },
      { timeout: 60_000 },
    );
  }
  stop(): void {
    clearInterval(this.#timer);
  }

  #look(): void {
    accounts.forEach(({ answer }, i) => {
      const number = i + 1;
      const done = this.sent.get(number) ?? 0;
      if (this.ours(number) <= done) return;
      this.sent.set(number, done + 1);
      void this.deliver(answer(number, done + 1)).catch(() => {});
    });
  }
}

async function route(service: Service): Promise<void> {
  const updated = { source: "alpha", event_name: "issues", canonical_trigger: "issue.updated" };
  const made = [
    await service.post("/api/agents/seed"),
    await service.post("/api/tasks/sources/seed"),
    await service.post("/api/tasks/sources", { ...updated, action: "edited" }),
    await service.post("/api/tasks/sources", { ...updated, action: "labeled" }),
    await service.post("/api/tasks", { id: "first", name: "first", description: "Answer.", actor_id: "pm_default" }),
  ];
  for (const canonical_trigger of ["issue.created", "issue.updated", "issue.commented"])
    made.push(await service.post("/api/tasks/triggers", { canonical_trigger, task_id: "first" }));
  expect(made.filter(({ status }) => status >= 300)).toEqual([]);
}

testOnDatabases(
  "whoever answers each of our comments: it ends by itself within the limits, across a kill, and what was held runs after release",
  async (flavour) => {
    const database: FreshDatabase | null = flavour === "postgres" ? await freshDatabase("migrated") : null;
    const tracker = await startTracker({ token, login, autoCreate: true });
    const model = await startModel({ script: plainScript });
    // The limits on loops have their defaults. Edits do not wait for further ones, to save time.
    const env = { ...surroundings(tracker, model), UPDATE_DEBOUNCE_SECONDS: "0", WATCHDOG_ENABLED: "true" };
    const options = { webhookSecret, env, ...(database ? { databaseUrl: database.url } : { database: flavour }) };
    const first = await startService(options);
    const replicas = [first, ...(database ? await Promise.all([startService(options), startService(options)]) : [])];
    const reactors = new Reactors(tracker, replicas);
    try {
      await route(first);
      await Promise.all(accounts.map((_, i) => reactors.deliver(issueOpened({ repo, number: i + 1 }))));
      await eventually(() => reactors.ours(accounts.length) >= 4, { timeout: 30_000 });
      const began = performance.now();
      await first.kill();
      const before = accounts.map((_, i) => reactors.ours(i + 1));
      await first.restart();
      // A machine that takes longer than the window for this has created a quiet period, after which the count begins again.
      const isReset = performance.now() - began > windowMs;
      const earlier = (number: number) => (isReset ? (before[number - 1] ?? 0) : 0);

      const executions = async (number: number) => {
        const subject = encodeURIComponent(`${repo}#${number}`);
        return (await first.get<Seen[]>(`/api/task-executions?subject=${subject}&limit=100`)).body;
      };
      for (const [i, { name, most }] of accounts.entries()) {
        const number = i + 1;
        if (most > 1)
          await eventually(async () => (await executions(number)).some(({ state }) => state === "held"), { timeout: 60_000 });
        const all = await eventually(async () => {
          const seen = await executions(number);
          return seen.every(({ state }) => state === "succeeded" || state === "held") && seen.length > 0 && seen;
        });
        expect(reactors.ours(number), name).toBeLessThanOrEqual(most + (most > 1 ? earlier(number) : 0));
        const held = all.filter(({ state }) => state === "held");
        expect(held.length, name).toBe(most > 1 ? 1 : 0);
        for (const one of held) {
          expect(one.held_reason).toMatch(
            /11 events in a row on this issue each came within 15 s .* LOOP_MAX_HOPS in the settings allows 10/,
          );
          expect(all.some(({ id }) => id === one.answers)).toBe(true);
        }
        if (most > 1)
          expect(
            all
              .map(({ hop }) => hop ?? 0)
              .sort((a, b) => a - b)
              .at(-1),
          ).toBe(11);
      }
      const entries = (await first.get<{ message: string }[]>("/api/watchdog?search=loop")).body;
      expect(new Set(entries.map(({ message }) => message)).size).toBe(accounts.length - 1);

      const [held] = (await executions(2)).filter(({ state }) => state === "held");
      expect((await first.post(`/api/task-executions/${held?.id}/release`)).status).toBe(200);
      await eventually(async () => (await executions(2)).some(({ id, state }) => id === held?.id && state === "succeeded"));
      // Its answer is answered again and held again: a release does not restart the loop.
      const again = await eventually(async () =>
        (await executions(2)).find(({ state, id }) => state === "held" && id !== held?.id),
      );
      expect(again.answers).toBe(held?.id);
    } finally {
      reactors.stop();
      await Promise.all([tracker.close(), model.close()]);
      await Promise.all(replicas.map((one) => one.close()));
      await database?.drop();
    }
  },
  240_000,
);

test("a short hold ends on time", async () => {
  // Long enough to be seen. Without a wake-up, a worker looks every five seconds, so it would be three seconds late.
  const env = { LOOP_MAX_HOPS: "1", LOOP_COOLDOWN_SECONDS: "7" };
  await using world = await startWorld({ tasks: ["first"], env });
  const { service } = world;
  expect((await service.post("/api/tasks/triggers", { canonical_trigger: "issue.commented", task_id: "first" })).status).toBe(
    201,
  );
  const only = async (payload: Payload, state: string) => {
    const { event_id } = (await service.webhook(payload)).body;
    return eventually(async () => {
      const [one] = (await service.get<Seen[]>(`/api/task-executions?event_id=${event_id}`)).body;
      return one?.state === state && one;
    });
  };
  const lateness = async (number: number) => {
    await only(issueOpened({ repo, number }), "succeeded");
    await only(at(number, "One", "octo"), "succeeded");
    const { id, held_until } = await only(at(number, "Two", "octo"), "held");
    const ended = await eventually(async () => {
      const { body } = await service.get<Seen>(`/api/task-executions/${id}`);
      return body.state === "succeeded" && body;
    });
    return Date.parse(ended.started_at ?? "") - Date.parse(held_until ?? "");
  };
  let number = 0;
  expect(await shortestOf(() => lateness(++number), 2_000)).toBeLessThan(2_000);
});
