import { problem } from "@signalbox/schema/problem";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { retentionOperations } from "../retention/operations.ts";
import { days, insertTestEvent } from "../retention/test-events.ts";
import { type Door, openDoor } from "../transports/http/testing/door.ts";
import { auditOperations } from "./operations.ts";
import { recordChanges } from "./record-changes.ts";

const subject = "alpha:acme/webshop#7";
let failure: Error | null = null;
let door: Door;
beforeAll(async () => {
  door = await openDoor(({ longRunning }) => {
    const remove = async () => {
      if (failure) throw failure;
    };
    const memories = { list: async () => ({ items: [{ key: "m" }] }), remove };
    const bus = { publish: async () => {} } as never;
    const operations = [
      ...retentionOperations({ days, bus, longRunning, sources: () => ["alpha"], memories }),
      ...auditOperations(() => ["alpha"]),
    ];
    const fail = (error: unknown) => {
      throw error;
    };
    return recordChanges(operations, { pseudonymOf: (name) => `token of ${name.length} letters`, onError: fail });
  });
}, 60_000);
afterAll(() => door?.close());
beforeEach(async () => {
  failure = null;
  await insertTestEvent(door.sql, { ago: 1, subject, actor: "mona", state: "succeeded" });
});

const entries = async () => {
  const { body } = await door.get("/api/audit-log?operation=data.erase");
  return body.map(({ actor, after }: { actor: string; after: unknown }) => ({ actor, after }));
};

test("an erasure that is interrupted half way is in the audit log, with its scope and what to repeat", async () => {
  failure = problem("unavailable", "The store redis is unavailable.");
  const error = "The erasure was interrupted: The store redis is unavailable. Send it again.";
  expect(await door.post("/api/erase", { subject })).toMatchObject({ status: 503, body: { error } });
  expect(await door.post("/api/erase", { actor: "mona" })).toMatchObject({ status: 503, body: { error } });
  expect(await entries()).toEqual([
    { actor: "anyone", after: { actor: "token of 4 letters", dry_run: false, is_complete: false, error } },
    { actor: "anyone", after: { subject, dry_run: false, is_complete: false, error } },
  ]);

  failure = null;
  expect((await door.post("/api/erase", { subject })).status).toBe(200);
  expect(await entries()).toHaveLength(3);
});

test("an unexpected error is recorded without its text, and neither a refused request nor a preview is recorded", async () => {
  const known = await entries();
  failure = new Error("mona is not a number");
  expect((await door.post("/api/erase", { subject: "#" })).status).toBe(400);
  expect((await door.post("/api/erase", { subject, dry_run: true })).status).toBe(200);
  expect(await entries()).toEqual(known);
  expect((await door.post("/api/erase", { subject })).status).toBe(500);
  const [{ after }] = await entries();
  expect(after).toEqual({
    subject,
    dry_run: false,
    is_complete: false,
    error: "Internal error; see the service's log. Send the request again.",
  });
});
