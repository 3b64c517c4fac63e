import assert from "node:assert/strict";
import { z } from "zod";
import type { Source } from "../source.ts";
import type { WebhookPayload } from "../source-event.ts";
import { expectPluginError, withTracker } from "./expect.ts";
import { callContext } from "./fake-host.ts";
import type { SourceFixtures, TestCase, TestTracker } from "./fixtures.ts";
import type { OpenSource, SourceHarness } from "./source-harness.ts";

const pollShape = z.object({
  events: z.array(z.object({ headers: z.record(z.string(), z.string()), payload: z.json() })),
  cursor: z.string().min(1),
});
const longAgo = "2020-01-01T00:00:00.000Z";

/** Cases for `poll`. They pass for a source without it. */
export function pollCases(open: OpenSource, fixtures: SourceFixtures): TestCase[] {
  const { project } = fixtures.subject;
  const on = (name: string, check: (harness: SourceHarness, tracker: TestTracker) => Promise<void>): TestCase => ({
    name,
    run: async () => {
      const harness = await open();
      if (harness.source.poll) await withTracker(fixtures.tracker, (tracker) => check(harness, tracker));
    },
  });
  const pollOf =
    ({ source, settings }: SourceHarness, tracker: TestTracker) =>
    async (cursor: string | null) => {
      const answer = await source.poll?.({ project, since: longAgo, cursor }, callContext(settings(tracker.url)));
      return pollShape.parse(JSON.parse(JSON.stringify(answer)));
    };
  return [
    on("poll returns existing events, and the same ones for the same cursor", async (harness, tracker) => {
      const poll = pollOf(harness, tracker);
      const first = await poll(null);
      assert.ok(first.events.length > 0, "a poll from 2020 on must return the existing issue");
      const ids = await idsOf(harness.source, first.events);
      assert.deepEqual(
        await idsOf(harness.source, (await poll(null)).events),
        ids,
        "a repeated poll must return the same events",
      );
    }),
    on("poll continues from its cursor", async (harness, tracker) => {
      const poll = pollOf(harness, tracker);
      const first = await poll(null);
      const before = new Set(await idsOf(harness.source, first.events));
      const call = callContext(harness.settings(tracker.url));
      await harness.source.deliver({ subject: fixtures.subject, body: "News." }, call);
      let cursor = first.cursor;
      const later: WebhookPayload[] = [];
      // Some platforms return a change only in a later poll.
      for (let count = 0; count < 3 && later.length === 0; count++) {
        const next = await poll(cursor);
        const ids = await idsOf(harness.source, next.events);
        later.push(...next.events.filter((_, at) => !before.has(ids[at] as string)));
        cursor = next.cursor;
      }
      assert.ok(later.length > 0, "later polls must return what happened after a poll");
    }),
    on("poll starts over or fails for an invalid cursor", async (harness, tracker) => {
      for (const cursor of ["", "not a cursor", '{"v":99}', "[]", "null"]) {
        const outcome = await pollOf(
          harness,
          tracker,
        )(cursor).then(
          () => null,
          (error: unknown) => error,
        );
        if (outcome !== null)
          await expectPluginError(`poll from the cursor ${JSON.stringify(cursor)}`, () => Promise.reject(outcome));
      }
    }),
    on("poll rejects a project with path characters", async ({ source, settings }, tracker) => {
      for (const wrong of ["../x", "a/../../b", "x?y=1#z"]) {
        const call = callContext(settings(tracker.url));
        const error = await expectPluginError(`poll of ${wrong}`, () =>
          source.poll?.({ project: wrong, since: longAgo, cursor: null }, call),
        );
        assert.ok(["invalid_input", "not_found"].includes(error.code), `poll of ${wrong}: ${error.code}: ${error.message}`);
      }
    }),
  ];
}

/** Delivery ids of polled events, which must be parsed like webhooks. */
async function idsOf(source: Source, events: readonly WebhookPayload[]): Promise<string[]> {
  const ids: string[] = [];
  for (const event of events) {
    const parsedEvent = await source.parse(event);
    const eventText = JSON.stringify(event).slice(0, 500);
    assert.equal(parsedEvent.missing_field, null, `a polled event must have no missing field: ${eventText}`);
    assert.ok(parsedEvent.event_name, `a polled event must have a name: ${eventText}`);
    assert.ok(parsedEvent.delivery_id, `a polled event must have a delivery id, because it may be returned twice: ${eventText}`);
    ids.push(parsedEvent.delivery_id);
  }
  assert.equal(new Set(ids).size, ids.length, "one poll must not return an event twice");
  return ids;
}
