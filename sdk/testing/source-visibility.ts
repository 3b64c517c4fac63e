import assert from "node:assert/strict";
import { z } from "zod";
import { joinedText } from "../event-text.ts";
import { addMarker } from "../marker.ts";
import { expectPluginError, withTracker } from "./expect.ts";
import { callContext } from "./fake-host.ts";
import type { SourceFixtures, TestCase } from "./fixtures.ts";
import type { OpenSource } from "./source-harness.ts";

const commentShape = z.object({ id: z.string().min(1), url: z.string().min(1) });

/** Cases for what is private, and for what trackers in the field were found to send: repetitions, envelopes, places of comments. */
export function visibilityCases(open: OpenSource, fixtures: SourceFixtures): TestCase[] {
  const { subject, private_event, repetitions = [], envelopes = [], comment_places = [] } = fixtures;
  const cases: TestCase[] = [
    { name: "deliver posts a private comment privately, or nothing", run: () => keepsPrivate(open, fixtures) },
    ...repetitions.map(({ first, again }, at) => ({
      name: `parse gives a repeated delivery the same id (${at + 1})`,
      run: async () => {
        const { source } = await open();
        const { delivery_id } = await source.parse(first);
        assert.ok(delivery_id, "delivery_id must not be null where the platform sends an id");
        assert.equal((await source.parse(again)).delivery_id, delivery_id, "otherwise a repeated delivery runs twice");
      },
    })),
    ...envelopes.map((webhook, at) => ({
      name: `parse names the actor in every envelope (${at + 1})`,
      run: async () => {
        const { actor, author } = await (await open()).source.parse(webhook);
        assert.ok(actor, "actor must not be null, otherwise the source triggers itself");
        if (author) assert.ok(author.id ?? author.name, "an author must have an id or a name");
      },
    })),
    ...comment_places.map((build, at) => ({
      name: `parse recognises its marker wherever a comment can be (${at + 1})`,
      run: async () => {
        const { source } = await open();
        assert.equal((await source.parse(build(addMarker("Done.", "key-1")))).marked, true, "our own comment must be marked");
        const other = await source.parse(build("A comment of a person."));
        assert.equal(other.marked, false, "a comment without the marker must not be marked");
        assert.ok(joinedText(other.text).includes("A comment of a person."), "the text must contain the comment");
        assert.ok(other.subject, "the comment must have a subject that it is answered at");
      },
    })),
  ];
  if (private_event)
    cases.push({
      name: "parse knows what is private",
      run: async () => {
        const { source } = await open();
        assert.equal((await source.parse(private_event)).private, true, "the answer would be public");
        const event = await source.parse(fixtures.comment_event("A comment."));
        assert.notEqual(event.private, true, "an ordinary comment must not be private");
      },
    });
  assert.ok(subject.issue, "fixtures.subject must name an issue");
  return cases;
}

async function keepsPrivate(open: OpenSource, fixtures: SourceFixtures): Promise<void> {
  const { source, settings } = await open();
  await withTracker(fixtures.tracker, async (tracker) => {
    const call = callContext(settings(tracker.url));
    const post = { subject: fixtures.subject, body: "For members only.", private: true };
    const before = tracker.comments(fixtures.subject).length;
    if (!tracker.privateComments) {
      const error = await expectPluginError("deliver", () => source.deliver(post, call));
      assert.equal(error.code, "unsupported", "a source that cannot post privately must throw `unsupported`");
      assert.equal(tracker.comments(fixtures.subject).length, before, "nothing must be posted where everybody can read it");
      return;
    }
    const first = commentShape.parse(await source.deliver(post, call));
    const found = tracker.privateComments(fixtures.subject);
    assert.ok(
      found.some((body) => body.includes("For members only.")),
      "the tracker must have it as a private comment",
    );
    assert.deepEqual(await source.find(post, call), first, "find must return a private comment too");
  });
}
