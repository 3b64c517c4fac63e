import { problem } from "@signalbox/schema/problem";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { newId } from "../platform/ids.ts";
import { retentionOperations } from "../retention/operations.ts";
import { days, insertTestEvent } from "../retention/test-events.ts";
import { type Door, openDoor } from "../transports/http/testing/door.ts";
import { ChangeRecorder } from "./change-recorder.ts";
import { auditOperations } from "./operations.ts";
import { recordChanges } from "./record-changes.ts";

const subject = "alpha:acme/webshop#7";
let failure: Error | null = null;
/** How many memories are removed before the failure. */
let removals = 0;
let door: Door;
beforeAll(async () => {
  door = await openDoor(({ longRunning }) => {
    const remove = async () => {
      if (failure && removals-- <= 0) throw failure;
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
    return recordChanges(operations, {
      pseudonymOf: (name) => `token of ${name.length} letters`,
      recorder: new ChangeRecorder({ replica: newId(), onError: fail }),
    });
  });
}, 60_000);
afterAll(() => door?.close());
beforeEach(async () => {
  failure = null;
  removals = 0;
  await insertTestEvent(door.sql, { ago: 1, subject, actor: "mona", state: "succeeded" });
});

const entries = async () => {
  const { body } = await door.get("/api/audit-log?operation=data.erase");
  return body.map(({ actor, after }: { actor: string; after: unknown }) => ({ actor, after }));
};

test("an erasure that is interrupted half way is in the audit log, with its scope and what to repeat", async () => {
  failure = problem("unavailable", "The store redis is unavailable.");
  const error = "The erasure was interrupted: The store redis is unavailable. Send it again.";
  const reason = "The store redis is unavailable.";
  expect(await door.post("/api/erase", { subject })).toMatchObject({ status: 503, body: { error } });
  expect(await door.post("/api/erase", { actor: "mona" })).toMatchObject({ status: 503, body: { error } });
  expect(await entries()).toEqual([
    { actor: "anyone", after: { actor: "token of 4 letters", dry_run: false, is_complete: false, error: reason } },
    { actor: "anyone", after: { subject, dry_run: false, is_complete: false, error: reason } },
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
    error: "Internal error; see the service's log.",
  });
});

test("an erasure leaves a trace even if its end cannot be recorded", async () => {
  await door.sql`
    create function refuse() returns trigger language plpgsql as $$ begin
      if new.entry ->> 'operation' = 'data.erase' then raise 'canceling statement' using errcode = '57014'; end if;
      return new;
    end $$`;
  await door.sql`create trigger refuse before insert on audit_log for each row execute function refuse()`;
  [failure, removals] = [problem("unavailable", "The store redis is unavailable."), 0];
  expect((await door.post("/api/erase", { actor: "mona" })).status).toBe(503);
  await door.sql`drop trigger refuse on audit_log`;
  const { body } = await door.get("/api/audit-log?limit=1");
  expect(body).toMatchObject([{ operation: "data.erase.start", after: { actor: "token of 4 letters", dry_run: false } }]);
});
