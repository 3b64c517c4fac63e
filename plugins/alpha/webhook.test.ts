import { callContext, setUpPlugin } from "@signalbox/sdk/testing";
import { http } from "msw";
import { setupServer } from "msw/node";
import { expect, onTestFinished, test } from "vitest";
import alpha from "./index.ts";
import { AlphaTracker } from "./test-tracker.ts";

const url = "https://signalbox.example.com/webhook/alpha";
const events = [
  { event_name: "issues", action: "opened" },
  { event_name: "issue_comment", action: "created" },
  { event_name: "issues.closed", action: null },
];

async function open() {
  const tracker = new AlphaTracker().intercept("http://alpha.test", { http, setupServer });
  onTestFinished(() => tracker.close());
  const source = (await setUpPlugin(alpha)).sources?.alpha;
  if (!source?.checkWebhook) throw new Error("alpha cannot check webhooks");
  const connection = source.connection.parse({ token: "test-token-1", api_url: tracker.url, webhook_secret: "s3cret" });
  const wanted = { project: "octo/app", url, events, apply: false };
  const check = (more = {}) => source.checkWebhook?.({ ...wanted, ...more }, callContext(connection));
  return { tracker, check };
}

test("a webhook that does not exist is created on demand, with the secret, and then delivers everything", async () => {
  const { tracker, check } = await open();
  expect(await check()).toMatchObject({ id: null, active: false, missing: ["issue_comment", "issues"], changed: null });
  expect(tracker.writes()).toBe(0);
  expect(await check({ apply: true })).toEqual({
    id: "50",
    active: true,
    configured: ["issue_comment", "issues"],
    missing: [],
    unknown: [],
    changed: "created",
    notes: [],
  });
  expect(tracker.hooks.all).toMatchObject([{ config: { url, content_type: "json", insecure_ssl: "0", secret: "********" } }]);
  expect(await check({ apply: true, url: `${url}/` })).toMatchObject({ id: "50", missing: [], changed: null });
});

test("missing events are added to the existing ones, and other problems are named", async () => {
  const { tracker, check } = await open();
  const config = { url, insecure_ssl: "1" };
  tracker.hooks.all.push({ id: 7, active: false, events: ["push", "issues"], config, last_response: { code: 404 } });
  const more = { events: [...events, { event_name: "installation", action: null }] };
  const report = await check(more);
  expect(report).toMatchObject({ id: "7", active: false, missing: ["issue_comment"], unknown: ["installation"] });
  expect(report?.notes).toEqual([
    expect.stringContaining("disabled"),
    expect.stringContaining("has no secret"),
    expect.stringContaining("certificate"),
    expect.stringContaining("answered with 404"),
  ]);
  expect(await check({ ...more, apply: true })).toMatchObject({ active: true, missing: [], changed: "updated" });
  expect(tracker.hooks.all[0]?.events).toEqual(["push", "issues", "issue_comment"]);
});

test("a token that may not read webhooks gets an error that names the missing permission", async () => {
  const { tracker, check } = await open();
  tracker.hooks.hidden = true;
  await expect(check()).rejects.toMatchObject({ code: "unauthorized", message: expect.stringContaining("admin:repo_hook") });
  await expect(check({ project: null })).rejects.toMatchObject({ code: "invalid_input" });
});
