import { afterAll, beforeAll, expect, test } from "vitest";
import * as alpha from "../harness/alpha-payloads.ts";
import * as beta from "../harness/beta-payloads.ts";
import * as delta from "../harness/delta-payloads.ts";
import { expectRefused } from "../harness/refused.ts";
import { type Service, startService } from "../harness/service.ts";
import type { Receipt } from "../harness/webhooks.ts";

let service: Service;
beforeAll(async () => {
  service = await startService({ seed: true });
});
afterAll(() => service?.close());

const project = "11111111-0000-4000-8000-000000000001";
const issue = "11111111-0000-4000-8000-000000000002";
const merged = () => {
  const opened = beta.mergeRequestOpened("acme/webshop", 4);
  return { ...opened, object_attributes: { ...opened.object_attributes, action: "merge", state: "merged" } };
};
const send = (source: string, payload: object, headers: Record<string, string> = {}) =>
  service.post<Receipt>(`/webhook/${source}`, JSON.stringify(payload), { headers });
const started = async (source: string, payload: object, headers?: Record<string, string>) => {
  const { status, body } = await send(source, payload, headers);
  const reason = (await service.get<{ reason: string | null }>(`/api/webhook-events/${body.event_id}`)).body.reason;
  return { status, tasks: (body.executions ?? []).map(({ task_id }) => task_id), reason };
};

test("an event whose trigger has no task names the set that would map one", async () => {
  const { status, tasks, reason } = await started("alpha", alpha.issueClosed({ number: 1 }), { "x-alpha-event": "issues" });
  expect({ status, tasks }).toEqual({ status: 202, tasks: [] });
  expect(reason).toContain('map one with POST /api/tasks/triggers or POST /api/tasks/triggers/seed with {"include": ["closes"]}');
});

test("the default mappings are five and thirteen, with and without a body", async () => {
  for (const [path, count] of [["triggers", 5] as const, ["sources", 13] as const]) {
    for (const body of [undefined, {}, { include: [] }])
      expect((await service.post(`/api/tasks/${path}/seed`, body)).body).toEqual({ created: 0, skipped: count });
    expect((await service.get<unknown[]>(`/api/tasks/${path}?limit=1000`)).body).toHaveLength(count);
  }
});

test("an unknown set is refused and names the known ones", async () => {
  const refused = await service.post("/api/tasks/triggers/seed", { include: ["everything"] });
  expectRefused(refused, 400, /include.*comments.*reviews.*updates.*closes/);
});

test("sets add mappings once, and their events start tasks", async () => {
  const include = ["comments", "reviews", "updates", "closes", "closes"];
  expect((await service.post("/api/tasks/triggers/seed", { include })).body).toEqual({ created: 6, skipped: 5 });
  expect((await service.post("/api/tasks/sources/seed", { include })).body).toEqual({ created: 10, skipped: 13 });
  expect((await service.post("/api/tasks/triggers/seed", { include })).body).toEqual({ created: 0, skipped: 11 });
  const review = alpha.example("pull_request_review", "submitted");
  const sent: readonly (readonly [string, object, Record<string, string>, string])[] = [
    ["alpha", alpha.issueClosed({ number: 2 }), { "x-alpha-event": "issues" }, "quality_verification"],
    ["alpha", alpha.issueCommented({ number: 3 }), { "x-alpha-event": "issue_comment" }, "intent_interpretation"],
    ["alpha", alpha.pullRequestClosed({ number: 5 }), { "x-alpha-event": "pull_request" }, "customer_uat_sync"],
    ["alpha", alpha.pullRequestSynchronized({ number: 6 }), { "x-alpha-event": "pull_request" }, "code_quality_audit"],
    ["alpha", review, { "x-alpha-event": "pull_request_review" }, "technical_grooming"],
    ["beta", beta.noteWritten("acme/webshop", 3), { "x-beta-event": "Note Hook" }, "intent_interpretation"],
    ["beta", merged(), { "x-beta-event": "Merge Request Hook" }, "quality_verification"],
    ["delta", delta.commented(project, issue), {}, "intent_interpretation"],
  ];
  for (const [source, payload, headers, task] of sent)
    expect(await started(source, payload, headers), task).toEqual({ status: 202, tasks: [task], reason: null });
});
