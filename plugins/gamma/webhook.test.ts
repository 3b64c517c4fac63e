import { callContext, setUpPlugin } from "@signalbox/sdk/testing";
import { http } from "msw";
import { setupServer } from "msw/node";
import { expect, onTestFinished, test } from "vitest";
import gamma from "./index.ts";
import { GammaTracker } from "./test-tracker.ts";

const url = "https://signalbox.example.com/webhook/gamma";
const events = [
  { event_name: "gamma:issue_created", action: null },
  { event_name: "comment_created", action: null },
  { event_name: "gamma:nothing", action: null },
];

async function open(version: 2 | 3) {
  const tracker = new GammaTracker(version).intercept("http://gamma.test", { http, setupServer });
  onTestFinished(() => tracker.close());
  const source = (await setUpPlugin(gamma)).sources?.gamma;
  const cloud = version === 3 ? { email: "bot@example.com" } : { is_cloud: false };
  if (!source) throw new Error("gamma has no source");
  const connection = source.connection.parse({ url: tracker.url, api_token: "t", webhook_secret: "hook-1", ...cloud });
  const check = (more = {}) =>
    source.checkWebhook?.({ project: null, url, events, apply: false, ...more }, callContext(connection));
  return { tracker, check };
}

test("Cloud: a webhook is created for these events only, with the secret, for one project where it is named", async () => {
  const { tracker, check } = await open(3);
  const missing = ["comment_created", "jira:issue_created"];
  expect(await check()).toMatchObject({ id: null, active: false, missing, unknown: ["jira:nothing"], changed: null });
  const made = await check({ apply: true, project: "app" });
  expect(made).toMatchObject({ id: "50", active: true, configured: missing, missing: [], changed: "created", notes: [] });
  expect(tracker.hooks.all).toMatchObject([
    { url, excludeBody: false, filters: { "issue-related-events-section": 'project = "APP"' } },
  ]);
  expect(tracker.hooks.secrets).toEqual(["hook-1"]);
  await expect(check({ apply: true, url: `${url}2`, project: 'a" or 1=1' })).rejects.toMatchObject({ code: "invalid_input" });
});

test("missing events are added to what is there, and what is wrong with the webhook is said", async () => {
  const { tracker, check } = await open(3);
  tracker.hooks.all.push({
    self: "http://x/7",
    url: `${url}/`,
    events: ["jira:issue_updated"],
    enabled: false,
    excludeBody: true,
    lastUpdated: 1,
    name: "Ours",
    filters: { "issue-related-events-section": "project = B" },
  });
  const report = await check();
  expect(report).toMatchObject({ id: "7", active: false, configured: ["jira:issue_updated"] });
  expect(report?.notes).toHaveLength(2);
  tracker.hooks.all.push({ self: "http://x/8", url, events: [], enabled: true, name: "A copy" });
  expect((await check())?.notes.at(-1)).toMatch(/^More than one webhook points to this URL \(also 8\), .* Delete all but one\.$/);
  expect(await check({ apply: true })).toMatchObject({ missing: [], changed: "updated" });
  expect(tracker.hooks.all[0]).toMatchObject({ name: "Ours", filters: { "issue-related-events-section": "project = B" } });
  expect(tracker.hooks.all[0]?.events).toEqual(["jira:issue_updated", "comment_created", "jira:issue_created"]);
  tracker.hooks.hidden = true;
  await expect(check()).rejects.toMatchObject({ code: "unauthorized", message: expect.stringContaining("administrator") });
});

test("Data Center 10: its own list; an update of an issue brings comments, and both are said to be twice", async () => {
  const { tracker, check } = await open(2);
  tracker.hooks.list = "/rest/jira-webhook/1.0/webhooks";
  tracker.hooks.all.push({ id: 3, url, active: true, events: ["jira:issue_updated", "jira:issue_created"] });
  expect(await check()).toMatchObject({ id: "3", active: true, missing: [], notes: [] });
  tracker.hooks.all[0] = { id: 3, url, active: true, events: ["jira:issue_updated", "comment_created"] };
  expect(await check({ apply: true })).toMatchObject({ changed: "updated", notes: [expect.stringContaining("twice")] });
  tracker.hooks.all.length = 0;
  expect(await check({ apply: true })).toMatchObject({ id: "50", changed: "created" });
  expect(tracker.hooks.secrets).toEqual(["hook-1"]);
});
