import { afterAll, beforeAll, expect, test } from "vitest";
import { connectPostgres, type Database } from "../database/client.ts";
import { migrate } from "../database/migrate.ts";
import { newId } from "../ids.ts";
import { type Arrival, findEarlier, insertArrivals } from "./queries.ts";

/** Two replicas on a real server: on the embedded database nothing happens at the same time. */
const server = process.env.TEST_DATABASE_URL;
if (!server && process.env.REQUIRE_SERVICES === "1") throw new Error("REQUIRE_SERVICES=1, but TEST_DATABASE_URL is not set");
const log = { info() {}, warn() {}, error() {}, with: () => log };

let deliveries = 0;
const arrival = (change_key: string, polled: boolean, slug = "alpha"): Arrival => ({
  event: {
    ...{ id: newId(), source: "alpha", slug, delivery_id: `d${++deliveries}`, change_key, polled },
    ...{ event_name: "issues", action: "opened", actor: null, subject: null, canonical_triggers: [], outcome: "discarded" },
    ...{ reason: "test", replay_of: null, headers: "{}", body: new Uint8Array([123, 125]) },
  },
  ...{ project: null, issue: null, content: "", executions: [] },
});

let first: Database;
let second: Database;
let drop = async () => {};
beforeAll(async () => {
  if (!server) return;
  const name = `test_polled_${process.pid}`;
  const admin = connectPostgres(server, { max: 1 });
  await admin.sql.unsafe(`create database ${name}`);
  const url = new URL(server);
  url.pathname = `/${name}`;
  [first, second] = [connectPostgres(url.href, { max: 4 }), connectPostgres(url.href, { max: 4 })];
  await migrate(first, log);
  drop = async () => {
    await Promise.all([first.close(), second.close()]);
    await admin.sql.unsafe(`drop database ${name} with (force)`);
    await admin.close();
  };
}, 60_000);
afterAll(() => drop());

test.runIf(server)(
  "of a poll and a webhook of one change exactly one is stored, however they race",
  { timeout: 60_000 },
  async () => {
    const winners = { webhook: 0, poll: 0 };
    for (let round = 0; round < 150; round++) {
      const [webhook, poll] = [arrival(`race/${round}`, false), arrival(`race/${round}`, true)];
      const tell = (database: Database, one: Arrival) => insertArrivals(database.sql, [one]);
      const stored = await Promise.all(
        round % 2 ? [tell(first, webhook), tell(second, poll)] : [tell(second, poll), tell(first, webhook)],
      );
      const ids = stored.flatMap((set) => [...set]);
      expect(ids).toHaveLength(1);
      winners[ids[0] === poll.event.id ? "poll" : "webhook"]++;
      const loser = ids[0] === poll.event.id ? webhook : poll;
      expect(await findEarlier(first.sql, loser.event)).toBe(ids[0]);
    }
    expect(Math.min(winners.webhook, winners.poll)).toBeGreaterThan(0);
  },
);

test.runIf(server)("a poll that has not committed holds up the webhook of its change, which then is a duplicate", async () => {
  const [poll, webhook] = [arrival("held", true), arrival("held", false)];
  let told: Promise<Set<string>> | undefined;
  let done = false;
  await first.sql.begin(async (sql) => {
    expect((await insertArrivals(sql, [poll])).size).toBe(1);
    told = insertArrivals(second.sql, [webhook]).finally(() => {
      done = true;
    });
    await new Promise((go) => setTimeout(go, 200));
    expect(done).toBe(false);
    expect((await insertArrivals(second.sql, [arrival("other", false, "beta")])).size).toBe(1);
  });
  expect((await told)?.size).toBe(0);
});

test.runIf(server)("two polls of one change are one event, two webhooks of one change are two", async () => {
  const polls = await Promise.all([first, second].map(({ sql }) => insertArrivals(sql, [arrival("same", true)])));
  expect(polls.map((set) => set.size).sort()).toEqual([0, 1]);
  expect((await insertArrivals(first.sql, [arrival("twice", true), arrival("twice", true)])).size).toBe(1);
  expect((await insertArrivals(first.sql, [arrival("labels", false), arrival("labels", false)])).size).toBe(2);
});

test.runIf(server)("batches of several slugs do not wait for each other in a ring", { timeout: 60_000 }, async () => {
  const both = (n: number) => [arrival(`ring/${n}`, n % 2 === 0, "beta"), arrival(`ring/${n}`, n % 2 === 1, "alpha")];
  const rounds = Array.from({ length: 100 }, (_, n) =>
    insertArrivals((n % 3 ? first : second).sql, n % 5 ? both(n) : both(n).reverse()),
  );
  expect((await Promise.all(rounds)).reduce((sum, set) => sum + set.size, 0)).toBe(200);
});
