import assert from "node:assert/strict";
import { z } from "zod";
import { expectPluginError, withTracker } from "./expect.ts";
import { callContext } from "./fake-host.ts";
import type { SourceFixtures, TestCase } from "./fixtures.ts";
import type { OpenSource } from "./source-bench.ts";

const made = z.object({ key: z.string().min(1), url: z.url() });

/** What a source that makes issues must do; nothing where it makes none. */
export function createCases(open: OpenSource, fixtures: SourceFixtures): TestCase[] {
  const { project } = fixtures.subject;
  return [
    {
      name: "createIssue makes one issue, whose event is read like a webhook, and closeIssue closes it",
      run: async () => {
        const { source, settings } = await open();
        if (!source.createIssue) return;
        await withTracker(fixtures.tracker, async (tracker) => {
          const before = tracker.writes();
          const issue = { project, title: "A new\nissue", body: "# Why\n\n- a **reason**" };
          const answer = await source.createIssue?.(issue, callContext(settings(tracker.url)));
          const { key } = made.parse(answer);
          assert.equal(tracker.writes() - before, 1, "createIssue must write once");
          if (answer?.event) {
            const event = await source.parse(JSON.parse(JSON.stringify(answer.event)));
            assert.equal(event.missing_field, null, "the event of an issue that was made must lack nothing");
            assert.ok(event.subject, "the event of an issue that was made must name it");
            assert.match(event.text, /A new\s+issue/, "the event of an issue that was made must hold its title");
            assert.match(event.text, /reason/, "the event of an issue that was made must hold its text");
          }
          for (const _ of [1, 2]) await source.closeIssue?.({ project, key }, callContext(settings(tracker.url)));
          if (source.closeIssue) assert.ok(tracker.writes() - before >= 2, "closeIssue must close");
        });
      },
    },
    {
      name: "createIssue is not repeated where its answer is lost",
      run: async () => {
        const { source, settings, secrets } = await open();
        if (!source.createIssue) return;
        await withTracker(fixtures.tracker, async (tracker) => {
          const before = tracker.writes();
          tracker.fault({ kind: "drop", after: true, writes: true });
          const issue = { project, title: "Once", body: "Text" };
          await expectPluginError("createIssue", () => source.createIssue?.(issue, callContext(settings(tracker.url))), secrets);
          assert.equal(tracker.writes() - before, 1, "createIssue must not repeat a write of unknown outcome");
        });
      },
    },
  ];
}
