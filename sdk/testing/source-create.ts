import assert from "node:assert/strict";
import { z } from "zod";
import { joinedText } from "../event-text.ts";
import { expectPluginError, withTracker } from "./expect.ts";
import { callContext } from "./fake-host.ts";
import type { SourceFixtures, TestCase } from "./fixtures.ts";
import type { OpenSource } from "./source-harness.ts";

const createdShape = z.object({ key: z.string().min(1), url: z.url() });

/** Cases for `createIssue` and `closeIssue`. They pass for a source without them. */
export function createCases(open: OpenSource, fixtures: SourceFixtures): TestCase[] {
  const { project } = fixtures.subject;
  return [
    {
      name: "createIssue creates one issue with a parseable event, and closeIssue closes it",
      run: async () => {
        const { source, settings } = await open();
        if (!source.createIssue) return;
        await withTracker(fixtures.tracker, async (tracker) => {
          const before = tracker.writes();
          const issue = { project, title: "A new\nissue", body: "# Why\n\n- a **reason**" };
          const answer = await source.createIssue?.(issue, callContext(settings(tracker.url)));
          const { key } = createdShape.parse(answer);
          assert.equal(tracker.writes() - before, 1, "createIssue must write once");
          if (answer?.event) {
            const event = await source.parse(JSON.parse(JSON.stringify(answer.event)));
            assert.equal(event.missing_field, null, "the event of a created issue must have no missing field");
            assert.ok(event.subject, "the event of a created issue must have a subject");
            assert.match(joinedText(event.text), /A new\s+issue/, "the event of a created issue must contain its title");
            assert.match(joinedText(event.text), /reason/, "the event of a created issue must contain its text");
          }
          for (const _ of [1, 2]) await source.closeIssue?.({ project, key }, callContext(settings(tracker.url)));
          if (source.closeIssue) assert.ok(tracker.writes() - before >= 2, "closeIssue must close");
        });
      },
    },
    {
      name: "createIssue is not repeated if its response is lost",
      run: async () => {
        const { source, settings, secrets } = await open();
        if (!source.createIssue) return;
        await withTracker(fixtures.tracker, async (tracker) => {
          const before = tracker.writes();
          tracker.fault({ kind: "drop", after: true, writes: true });
          const issue = { project, title: "Once", body: "Text" };
          await expectPluginError("createIssue", () => source.createIssue?.(issue, callContext(settings(tracker.url))), secrets);
          assert.equal(tracker.writes() - before, 1, "createIssue must not repeat a write that may have succeeded");
        });
      },
    },
  ];
}
