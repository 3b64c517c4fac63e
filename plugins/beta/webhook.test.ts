import { callContext, setUpPlugin } from "@signalbox/sdk/testing";
import { http } from "msw";
import { setupServer } from "msw/node";
import { expect, onTestFinished, test } from "vitest";
import beta from "./index.ts";
import { BetaTracker } from "./test-tracker.ts";

const url = "https://signalbox.example.com/webhook/beta";
const events = [
  { event_name: "Issue Hook", action: "open" },
  { event_name: "Confidential Note Hook", action: null },
  { event_name: "System Hook", action: null },
];

async function open() {
  const tracker = new BetaTracker().intercept("http://beta.test", { http, setupServer });
  onTestFinished(() => tracker.close());
  const source = (await setUpPlugin(beta)).sources?.beta;
  if (!source?.checkWebhook) throw new Error("beta cannot check webhooks");
  const connection = source.connection.parse({ token: "test-token-1", url: tracker.url });
  const wanted = { project: "octo/team/app", url, events, apply: false };
  const check = (more = {}) => source.checkWebhook?.({ ...wanted, ...more }, callContext(connection));
  return { tracker, check };
}

test("a webhook is created on demand, for these events only, with the token that webhooks must carry", async () => {
  const { tracker, check } = await open();
  const missing = ["confidential_note_events", "issues_events"];
  expect(await check()).toMatchObject({ id: null, missing, unknown: ["System Hook"], changed: null });
  const report = await check({ apply: true });
  expect(report).toMatchObject({ id: "50", active: true, missing: [], unknown: ["System Hook"], changed: "created", notes: [] });
  expect(report?.configured.toSorted()).toEqual(missing);
  expect(tracker.hooks.all).toMatchObject([{ url, push_events: false, enable_ssl_verification: true }]);
  expect(tracker.hooks.tokens).toEqual(["test-token-1"]);
});

test("missing events are added, and a disabled webhook is reported", async () => {
  const { tracker, check } = await open();
  tracker.hooks.all.push({ id: 7, url, issues_events: true, push_events: true, alert_status: "temporarily_disabled" });
  expect(await check()).toMatchObject({ id: "7", active: false, missing: ["confidential_note_events"] });
  expect(await check({ apply: true })).toMatchObject({ missing: [], changed: "updated" });
  expect(tracker.hooks.all[0]).toMatchObject({ issues_events: true, push_events: true, confidential_note_events: true });
  tracker.hooks.hidden = true;
  await expect(check()).rejects.toMatchObject({ code: "unauthorized", message: expect.stringContaining("maintainer") });
});
