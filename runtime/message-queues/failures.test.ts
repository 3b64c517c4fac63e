import { problem } from "@signalbox/schema/problem";
import type { IncomingWebhook, Queue } from "@signalbox/sdk";
import { PluginError } from "@signalbox/sdk";
import { expect, test } from "vitest";
import type { Sql } from "../platform/database/client.ts";
import { DatabaseUnavailable } from "../platform/database/unavailable.ts";
import { noLog } from "../transports/http/testing/door.ts";
import type { Receiver } from "../webhooks/receive.ts";
import { startIntake } from "./intake.ts";
import { type QueueWorker, startRelay } from "./relay.ts";

const down = new DatabaseUnavailable("The database is unavailable (db.example:5432, ECONNREFUSED).");
const silent = new PluginError("unavailable", "bus.example:4222 does not answer.");
const webhook: IncomingWebhook = { id: "1", webhook: "alpha", headers: {}, body: "{}", receipt: "r" };

const queue = (parts: Partial<Queue>) =>
  new Map([["bus", { about: "A test queue.", publish: async () => {}, acknowledge: async () => {}, ...parts } as Queue]]);
const receiving = (result: Promise<IncomingWebhook[]>) => {
  result.catch(() => {});
  return queue({ receive: () => result });
};

/** A receiver whose first step ends like this. */
const receiver = (admit: () => Promise<never>) => ({ admit, noteRefusal: async () => {} }) as unknown as Receiver;
const failsWith = (error: Error) => receiver(() => Promise.reject(error));

async function failureOf(worker: QueueWorker): Promise<string> {
  try {
    return await expect
      .poll(() => worker.failureOf("bus"))
      .not.toBeNull()
      .then(() => worker.failureOf("bus") ?? "");
  } finally {
    await worker.stop();
  }
}
const ofIntake = (queues: Map<string, Queue>, error: Error) =>
  failureOf(startIntake({ queues, receiver: failsWith(error), log: noLog }));

test("the message bus failed", async () => {
  expect(await ofIntake(receiving(Promise.reject(silent)), down)).toBe(
    "receiving webhooks failed: bus.example:4222 does not answer; they wait in the queue",
  );
});

test("the database of the service failed, not the queue", async () => {
  const wrapped = problem("unavailable", "The webhook was not stored.", { cause: down });
  for (const error of [down, wrapped]) {
    expect(await ofIntake(receiving(Promise.resolve([webhook])), error)).toBe(
      "webhooks are not stored, because Signalbox's own database failed: The database is unavailable (db.example:5432, ECONNREFUSED); they wait in the queue",
    );
  }
  const fails = () => Promise.reject(down);
  const sql = Object.assign(fails, { begin: fails }) as unknown as Sql;
  expect(await failureOf(startRelay({ sql, queues: queue({}), log: noLog, warn: () => {} }))).toBe(
    "nothing is published, because Signalbox's own database failed: The database is unavailable (db.example:5432, ECONNREFUSED); its messages wait in the database",
  );
});

test("one webhook cannot be stored", async () => {
  expect(await ofIntake(receiving(Promise.resolve([webhook])), problem("unavailable", "The plugin alpha is not running."))).toBe(
    "a webhook could not be stored: The plugin alpha is not running; the queue delivers it again",
  );
});

test("a refused webhook does not stop the queue", async () => {
  let acknowledged: unknown;
  const acknowledge = async (outcomes: unknown) => {
    acknowledged ??= outcomes;
  };
  const first = Promise.resolve([webhook]);
  const queues = queue({ receive: () => (acknowledged ? new Promise(() => {}) : first), acknowledge });
  const worker = startIntake({
    queues,
    receiver: failsWith(problem("unauthenticated", "The signature is wrong.")),
    log: noLog,
  });
  await expect.poll(() => acknowledged).toEqual([{ receipt: "r", outcome: "refused" }]);
  expect(worker.failureOf("bus")).toBeNull();
  void worker.stop();
});
