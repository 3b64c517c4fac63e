import { callContext, setUpPlugin } from "@signalbox/sdk/testing";
import { http } from "msw";
import { setupServer } from "msw/node";
import { expect, onTestFinished, test } from "vitest";
import delta from "./index.ts";
import { DeltaTracker, workspace } from "./test-tracker.ts";

const url = "https://signalbox.example.com/webhook/delta";
const events = ["issue.created", "issue.activity.created", "page.created"].map((event_name) => ({ event_name, action: null }));

test("a webhook of the workspace is compared, created, completed and reported", async () => {
  const tracker = new DeltaTracker().intercept("http://delta.test", { http, setupServer });
  onTestFinished(() => tracker.close());
  const source = (await setUpPlugin(delta)).sources?.delta;
  const settings = { api_url: tracker.url, api_key: "test-key-1", workspace_slug: workspace };
  const check = (more = {}, own = {}) => {
    const wanted = { project: null, url, events, apply: false, ...more };
    return source?.checkWebhook?.(wanted, callContext(source.connection.parse({ ...settings, ...own })));
  };
  const missing = ["workitem.comment.created", "workitem.created"];
  expect(await check()).toMatchObject({ id: null, missing, unknown: ["page.created"], changed: null });
  const made = await check({ apply: true });
  expect(made).toMatchObject({ active: true, configured: missing, missing: [], changed: "created" });
  expect(made?.notes).toEqual([expect.stringContaining("DELTA_WEBHOOK_SECRET")]);
  expect(tracker.hooks).toMatchObject([{ url, scopes: missing, is_active: true }]);

  Object.assign(tracker.hooks[0] ?? {}, { is_active: false, scopes: ["cycle.created", "workitem.created"] });
  const secret = { webhook_secret: "s" };
  expect(await check({}, secret)).toMatchObject({
    active: false,
    missing: ["workitem.comment.created"],
    notes: [expect.stringContaining("disabled")],
  });
  expect(await check({ apply: true }, secret)).toMatchObject({ active: true, changed: "updated", missing: [], notes: [] });
  expect(tracker.hooks[0]).toMatchObject({ scopes: ["cycle.created", "workitem.created", "workitem.comment.created"] });

  tracker.hidesHooks = true;
  await expect(check()).rejects.toMatchObject({ code: "unauthorized", message: expect.stringContaining("administrator") });
  tracker.hasHooks = false;
  await expect(check()).rejects.toMatchObject({ code: "unsupported" });
});
