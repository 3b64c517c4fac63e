import assert from "node:assert/strict";
import { z } from "zod";
import { expectPluginError, withTracker } from "./expect.ts";
import { callContext } from "./fake-host.ts";
import type { SourceFixtures, TestCase, TestTracker } from "./fixtures.ts";
import type { OpenSource, SourceHarness } from "./source-harness.ts";

const commentShape = z.object({ id: z.string().min(1), url: z.string().min(1) });

/** Cases for `deliver`, `find`, `check` and `account`. */
export function deliveryCases(open: OpenSource, fixtures: SourceFixtures): TestCase[] {
  const { subject } = fixtures;
  const on = (name: string, check: (harness: SourceHarness, tracker: TestTracker) => Promise<void>): TestCase => ({
    name,
    run: () => withTracker(fixtures.tracker, async (tracker) => check(await open(), tracker)),
  });
  return [
    on("check and account accept a valid connection", async ({ source, settings }, tracker) => {
      await source.check(callContext(settings(tracker.url)));
      const account = await source.account(callContext(settings(tracker.url)));
      assert.ok(account === null || account.length > 0, `account must be a login or null; it is ${JSON.stringify(account)}`);
    }),
    on("deliver posts one comment, which find returns", async ({ source, settings }, tracker) => {
      const call = callContext(settings(tracker.url));
      const post = { subject, body: "The **answer**." };
      assert.equal(await source.find(post, call), null, "find must return null before the post");
      const first = commentShape.parse(await source.deliver(post, call));
      const count = tracker.comments(subject).length;
      assert.equal(count, 1, `deliver must post one comment, which the tracker's comments() returns; it returns ${count}`);
      assert.ok(tracker.comments(subject)[0]?.includes("answer"), "the comment must contain the body");
      assert.deepEqual(await source.find(post, call), first, "find must return what deliver returned");
      assert.equal(
        await source.find(post, callContext(settings(tracker.url))),
        null,
        "find of a key that was never posted must return null",
      );
      assert.equal(tracker.comments(subject).length, 1, "find must not write");
    }),
    on("describe tells what the issue is", async ({ source, settings }, tracker) => {
      if (!source.describe) return;
      const before = tracker.writes();
      const details = await source.describe({ subject, text: "" }, callContext(settings(tracker.url)));
      assert.ok(
        details.title && details.state && details.url,
        `describe must return title, state and url; it returned ${JSON.stringify(details)}`,
      );
      assert.equal(tracker.writes(), before, "describe must not write");
    }),
    on("actor and account use the same identifier", async ({ source, settings }, tracker) => {
      const account = await source.account(callContext(settings(tracker.url)));
      if (account === null || !fixtures.own_event) return;
      const { actor } = await source.parse(fixtures.own_event);
      assert.equal(actor, account, "actor and account must be equal, otherwise the source triggers itself");
    }),
    on("deliver can be repeated with the same key", async ({ source, settings }, tracker) => {
      const call = callContext(settings(tracker.url));
      const post = { subject, body: "Once, or twice where the platform keeps both." };
      const [first, second] = [
        commentShape.parse(await source.deliver(post, call)),
        commentShape.parse(await source.deliver(post, call)),
      ];
      assert.ok(tracker.comments(subject).length <= 2, "each deliver must write at most one comment");
      const found = await source.find(post, call);
      assert.ok(found, "find must return a comment that was posted twice");
      assert.ok([first.id, second.id].includes(found.id), "find must return one of the two");
      assert.deepEqual(await source.find(post, call), found, "find must return the same again");
    }),
    on("of two comments with one key, retract removes one and findAll keeps the older", async ({ source, settings }, tracker) => {
      const { findAll, retract } = source;
      if (!findAll || !retract) return;
      const call = callContext(settings(tracker.url));
      const post = { subject, body: "Posted twice." };
      assert.deepEqual(await findAll(post, call), [], "findAll must answer nothing before the post");
      const first = commentShape.parse(await source.deliver(post, call));
      await source.deliver(post, call);
      await source.deliver({ subject, body: "Another." }, callContext(settings(tracker.url)));
      const all = commentShape.array().parse(await findAll(post, call));
      assert.equal(all[0]?.id, first.id, "findAll must answer the oldest first");
      for (const duplicate of all.slice(1)) {
        await retract(post, duplicate, call);
        await retract(post, duplicate, call);
      }
      assert.deepEqual(await findAll(post, call), [first], "only the oldest must remain");
      assert.equal(tracker.comments(subject).length, 2, "retract must remove nothing else");
    }),
    on("two keys are two comments, each found by its key", async ({ source, settings }, tracker) => {
      const calls = [callContext(settings(tracker.url)), callContext(settings(tracker.url))] as const;
      const post = { subject, body: "Twice the same words." };
      const [one, two] = [await source.deliver(post, calls[0]), await source.deliver(post, calls[1])];
      const count = tracker.comments(subject).length;
      assert.equal(count, 2, `two keys must be two comments; the tracker has ${count}`);
      assert.deepEqual(await source.find(post, calls[0]), one);
      assert.deepEqual(await source.find(post, calls[1]), two);
    }),
    on(
      "what the platform refuses for its length is posted shorter, with its last line",
      async ({ source, settings }, tracker) => {
        if (source.maxCommentLength === undefined) return;
        const call = callContext(settings(tracker.url));
        const body = `${"Many words in a row.\n\n".repeat(200)}*agent · run 7*`;
        const refusal = JSON.stringify({ message: "body is too long (maximum is 2,000 characters)" });
        tracker.fault({ kind: "status", status: 422, body: refusal, times: 1, writes: true });
        const first = commentShape.parse(await source.deliver({ subject, body }, call));
        const [comment = "", ...others] = tracker.comments(subject);
        assert.equal(others.length, 0, "deliver must post one comment");
        assert.ok(
          comment.includes("Cut off") && comment.includes("run 7"),
          "the comment must say that it is cut, and keep its signature",
        );
        assert.deepEqual(await source.find({ subject, body }, call), first, "find must return the shorter comment");
      },
    ),
    on("a marker in the body is ignored", async ({ source, settings }, tracker) => {
      const [victim, call] = [callContext(settings(tracker.url)), callContext(settings(tracker.url))];
      await source.deliver({ subject, body: `<!-- signalbox:${victim.key} -->` }, call);
      assert.equal(
        await source.find({ subject, body: "" }, victim),
        null,
        "otherwise a model could forge the post of another execution",
      );
    }),
    ...(["status", "drop", "truncate"] as const).map((kind) =>
      on(`a post whose response is lost (${kind}) is not repeated and can be found`, async ({ source, settings }, tracker) => {
        const call = callContext(settings(tracker.url));
        const post = { subject, body: "Written, but who knows." };
        tracker.fault({ kind, ...(kind === "status" ? { status: 502, body: "bad gateway" } : {}), after: true, writes: true });
        const error = await expectPluginError("deliver", () => source.deliver(post, call));
        assert.equal(error.retryable, true, "the error must be retryable");
        tracker.heal();
        assert.equal(tracker.comments(subject).length, 1, "deliver must not repeat a post that may have succeeded");
        assert.ok(await source.find(post, call), "find must return the post whose response was lost");
      }),
    ),
  ];
}
