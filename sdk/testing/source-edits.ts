import assert from "node:assert/strict";
import { expectPluginError, withTracker } from "./expect.ts";
import { callContext } from "./fake-host.ts";
import type { SourceFixtures, TestCase, TestTracker } from "./fixtures.ts";
import type { OpenSource, SourceHarness } from "./source-harness.ts";

/** Cases for `update` and `react`. They pass for a source without them. */
export function editCases(open: OpenSource, fixtures: SourceFixtures): TestCase[] {
  const { subject } = fixtures;
  const on = (name: string, check: (harness: SourceHarness, tracker: TestTracker) => Promise<void>): TestCase => ({
    name,
    run: () => withTracker(fixtures.tracker, async (tracker) => check(await open(), tracker)),
  });
  return [
    on("update replaces the text, and find returns the comment by the key of the edit", async (harness, tracker) => {
      const { source, settings } = harness;
      if (!source.update) return;
      const [post, edit] = [callContext(settings(tracker.url)), callContext(settings(tracker.url))];
      const comment = await source.deliver({ subject, body: "Before." }, post);
      await source.deliver({ subject, body: "Another." }, callContext(settings(tracker.url)));
      const answer = { subject, body: "After: **done**." };
      assert.equal(await source.find(answer, edit), null, "find must return null before the edit");
      for (const _ of ["once", "again"])
        assert.deepEqual(await source.update(answer, comment, edit), comment, "update must return the same comment");
      const bodies = tracker.comments(subject);
      assert.equal(bodies.length, 2, "update must post nothing");
      assert.ok(bodies[0]?.includes("After") && !bodies[0].includes("Before"), `update must replace the text: ${bodies[0]}`);
      assert.ok(bodies[1]?.includes("Another"), "update must change no other comment");
      assert.deepEqual(await source.find(answer, edit), comment, "find must return the edited comment");
      await source.update({ subject, body: "Later." }, comment, post);
      assert.deepEqual(await source.find(answer, post), comment, "an edit with the key of the post must keep it");
    }),
    on("an update whose response is lost can be found", async ({ source, settings }, tracker) => {
      if (!source.update) return;
      const edit = callContext(settings(tracker.url));
      const comment = await source.deliver({ subject, body: "Before." }, callContext(settings(tracker.url)));
      tracker.fault({ kind: "drop", after: true, writes: true });
      const { update } = source;
      const error = await expectPluginError("update", () => update({ subject, body: "After." }, comment, edit));
      assert.equal(error.retryable, true, "the error must be retryable");
      tracker.heal();
      assert.deepEqual(await source.find({ subject, body: "After." }, edit), comment);
    }),
    on("update of a comment that was deleted throws not_found", async ({ source, settings }, tracker) => {
      const { update, retract } = source;
      if (!update || !retract) return;
      const call = callContext(settings(tracker.url));
      const post = { subject, body: "Deleted." };
      const comment = await source.deliver(post, call);
      await retract(post, comment, call);
      assert.equal((await expectPluginError("update", () => update(post, comment, call))).code, "not_found");
      assert.equal(tracker.comments(subject).length, 0, "update must not post a new comment");
    }),
    on("react puts one reaction on an issue and on a comment, replaces it and removes it", async (harness, tracker) => {
      const { source, settings } = harness;
      const { react } = source;
      if (!react) return;
      const reactions = tracker.reactions?.bind(tracker);
      assert.ok(reactions, "the simulated tracker must have `reactions`, because the source has `react`");
      const call = () => callContext(settings(tracker.url));
      const { id } = await source.deliver({ subject, body: "Commented." }, call());
      const [issue, comment] = [null, id].map((one) => ({ subject, comment: one })) as [never, never];
      for (const target of [issue, comment]) {
        const seenIds = new Set<string>();
        for (const reaction of ["working", "working", "done", "failed", "working", "done"] as const) {
          await react(target, reaction, call());
          assert.equal(reactions(target).length, 1, `one reaction must be there after "${reaction}"`);
          seenIds.add(`${reaction} ${reactions(target)[0]}`);
        }
        assert.equal(seenIds.size, 3, "each of working, done and failed must always be the same sign");
        assert.equal(new Set([...seenIds].map((one) => one.split(" ")[1])).size, 3, "the three must be different signs");
        if (target === comment) assert.equal(reactions(issue).length, 0, "a reaction on a comment must not be on the issue");
        for (const _ of ["once", "again"]) {
          await react(target, null, call());
          assert.deepEqual(reactions(target), [], "null must remove the reaction");
        }
      }
      assert.equal(tracker.comments(subject).length, 1, "a reaction must not be a comment");
    }),
  ];
}
