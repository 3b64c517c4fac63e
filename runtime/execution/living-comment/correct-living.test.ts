import type { NewComment } from "@signalbox/sdk";
import { expect, test, vi } from "vitest";
import { useTestDatabase } from "../../platform/database/use-test-database.ts";
import { newId } from "../../platform/ids.ts";
import { fencedFetch } from "../../platform/write-fence.ts";
import type { Connection } from "../../plugins/connections.ts";
import { correctLiving } from "./correct-living.ts";
import { writeLiving } from "./write-living.ts";

const database = useTestDatabase();
const sql = () => database().sql;
const signal = new AbortController().signal;
/** A lost request holds the comment for so long, unless `endWindow` is called. */
const windowMs = 120_000;

/** A tracker that can lose the next request, and carry it out later. */
function makeTracker() {
  let comments: { id: string; url: string; key: string; body: string }[] = [];
  let isLosing = false;
  let late = () => {};
  let listing = Promise.resolve();
  const onList = vi.fn();
  const carryOut = async (act: () => void) => {
    const request = async () => {
      if (!isLosing) {
        act();
        return new Response("{}");
      }
      [isLosing, late] = [false, act];
      throw new Error("the connection was lost");
    };
    await fencedFetch(request as typeof fetch)("https://tracker.example/", { method: "POST" });
  };
  const adapter = {
    deliver: async ({ body }: NewComment, { key }: { key: string }) => {
      const id = newId();
      const comment = { id, url: `https://tracker.example/${id}`, key, body };
      await carryOut(() => comments.push(comment));
      return comment;
    },
    update: async ({ body }: NewComment, { id, url }: { id: string; url: string }, { key }: { key: string }) => {
      await carryOut(() => {
        comments = comments.map((one) => (one.id === id ? { ...one, key, body } : one));
      });
      return { id, url };
    },
    find: async (_: unknown, { key }: { key: string }) => comments.find((one) => one.key === key) ?? null,
    findAll: async (_: unknown, { key, signal: ended }: { key: string; signal: AbortSignal }) => {
      onList();
      const aborted = new Promise<never>((_, fail) => ended.addEventListener("abort", () => fail(ended.reason), { once: true }));
      await Promise.race([listing, aborted]);
      return comments.filter((one) => one.key === key);
    },
    retract: async (_: unknown, { id }: { id: string }) => {
      comments = comments.filter((one) => one.id !== id);
    },
  };
  return {
    connection: { id: "environment", source: { adapter }, settings: {} } as unknown as Connection,
    loseNext: () => {
      isLosing = true;
    },
    carryOutLate: () => late(),
    /** The list has no answer until the returned function is called. */
    holdList: () => {
      const { promise, resolve } = Promise.withResolvers<void>();
      listing = promise;
      return resolve;
    },
    onList,
    texts: () => comments.map(({ body }) => body),
  };
}

/** Runs that share one living comment. */
function makeRuns() {
  const subject = `alpha:octo/app#${newId()}`;
  const tracker = makeTracker();
  const writeOf = (executionId: string, key: string, body: string) => ({
    sql: sql(),
    connection: tracker.connection,
    subject,
    agentId: "pm_default",
    executionId,
    key,
    post: { subject: { project: "octo/app", issue: "1" }, body },
    decide: () => ({ kind: "show" as const, text: { subject: { project: "octo/app", issue: "1" }, body } }),
    windowMs,
  });
  /** As if the window of the lost request had passed. */
  const endWindow = () => sql()`
    update living_comments set lease_expires_at = now() - interval '1 second' where subject = ${subject} and lease is not null`;
  const onLost = vi.fn();
  const answer = async (executionId: string, body: string) =>
    (await writeLiving({ ...writeOf(executionId, `${executionId}.1`, body), purpose: "answer", onLost }, signal)).comment;
  const look = (executionId: string, body: string, isLastCheck = false) =>
    correctLiving(
      {
        ...writeOf(executionId, `${executionId}.1.${newId()}`, body),
        firstKey: `${executionId}.1`,
        isShown: ({ answered_by }) => answered_by === executionId,
        isLastCheck: isLastCheck,
      },
      signal,
    );
  const storeStep = async (executionId: string, state: string, commentId: string | null) => {
    await sql()`
      insert into task_executions (id, task_id, canonical_trigger, source, slug, subject, project, issue, content, state)
      values (${executionId}, 't', 'x', 'alpha', 'alpha', ${subject}, 'octo/app', '1', '', 'succeeded')`;
    await sql()`
      insert into execution_steps (id, execution_id, seq, kind, state, output)
      values (${newId()}, ${executionId}, 1, 'post', ${state}, ${JSON.stringify({ id: commentId })}::text::json)`;
  };
  const lostKeys = async () => (await sql()`select lost_keys from living_comments where subject = ${subject}`)[0]?.lost_keys;
  const loseAnswer = async (executionId: string, body: string) => {
    tracker.loseNext();
    await expect(answer(executionId, body)).rejects.toThrow("lost");
    expect((await endWindow()).count).toBe(1);
  };
  return { tracker, answer, loseAnswer, look, storeStep, lostKeys, onLost };
}

const [first, second] = ["Answer of first", "Answer of second"];

test("a lost first answer that arrives after a later run's is removed, until the last look", { tags: ["postgres"] }, async () => {
  const { tracker, answer, loseAnswer, look, storeStep, lostKeys, onLost } = makeRuns();
  const [one, two] = [newId(), newId()];
  await loseAnswer(one, first);
  const posted = await answer(one, first);
  await storeStep(one, "succeeded", posted?.id ?? null);
  onLost.mockClear();
  await answer(two, second);
  expect(onLost).toHaveBeenCalled();
  tracker.carryOutLate();
  expect(tracker.texts()).toEqual([second, first]);
  expect(await look(two, second)).toMatchObject({ restoredComment: null, removedCopies: [{ body: first }], remainingCopies: [] });
  expect(tracker.texts()).toEqual([second]);
  expect(await lostKeys()).toEqual([`${one}.1`]);
  await look(two, second, true);
  expect(await lostKeys()).toEqual([]);
});

test.each([
  { name: "a run that posts elsewhere meanwhile", state: "succeeded" },
  { name: "a run that may still post elsewhere", state: "started" },
  { name: "a run whose post failed", state: "failed" },
])("the answer of $name stays", { tags: ["postgres"] }, async ({ state }) => {
  const { tracker, answer, loseAnswer, look, storeStep } = makeRuns();
  const [one, two] = [newId(), newId()];
  await loseAnswer(one, first);
  await answer(two, second);
  tracker.carryOutLate();
  const { adapter } = tracker.connection.source;
  const found = await adapter.find({} as NewComment, { signal, connection: {}, key: `${one}.1` });
  await storeStep(one, state, state === "succeeded" ? (found?.id ?? null) : null);
  expect(await look(two, second)).toMatchObject({ removedCopies: [] });
  expect(tracker.texts()).toEqual([second, first]);
});

test("a look at an issue with a long list does not keep other runs from their answers", { tags: ["postgres"] }, async () => {
  const { tracker, answer, loseAnswer, look, storeStep } = makeRuns();
  const [one, two] = [newId(), newId()];
  await loseAnswer(one, first);
  const posted = await answer(one, first);
  await storeStep(one, "succeeded", posted?.id ?? null);
  await answer(two, second);
  tracker.carryOutLate();
  const release = tracker.holdList();
  const looked = look(two, second);
  await expect.poll(() => tracker.onList.mock.calls.length).toBeGreaterThan(0);
  await answer(newId(), "Answer of third");
  release();
  expect(await looked).toMatchObject({ restoredComment: null, removedCopies: [{ body: first }] });
  expect(tracker.texts()).toEqual(["Answer of third"]);
});

test("a lost edit that arrives after the answer is replaced by the answer", { tags: ["postgres"] }, async () => {
  const { tracker, answer, loseAnswer, look } = makeRuns();
  const [one, two] = [newId(), newId()];
  await answer(newId(), "Answer of an earlier run");
  await loseAnswer(one, first);
  await answer(two, second);
  tracker.carryOutLate();
  expect(tracker.texts()).toEqual([first]);
  expect(await look(two, second)).toMatchObject({ restoredComment: { id: expect.any(String) }, removedCopies: [] });
  expect(tracker.texts()).toEqual([second]);
});
