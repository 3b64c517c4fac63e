import { afterAll, beforeAll, expect, test } from "vitest";
import { type Model, startModel } from "../../examples/demo/model.ts";
import { closeFour, type FourTrackers, fourEnv, newIssue, seedLook, startFour } from "../harness/four-sources.ts";
import { type Service, startService } from "../harness/service.ts";
import { type ExecutionSeen, eventually, hourLasts } from "../harness/wait.ts";
import type { Receipt } from "../harness/webhooks.ts";

/** The limits of a project, for comments of Jira Server, which name their issue only by its id. */
let model: Model;
let service: Service;
let trackers: FourTrackers;
let project: number;
beforeAll(async () => {
  const usage = { prompt_tokens: 60, completion_tokens: 40 };
  model = await startModel({ script: () => ({ content: "Done.", usage }) });
  trackers = await startFour();
  const env = { LLM_BASE_URL: model.url, LLM_MODEL: "scripted", EXECUTION_RETRY_DELAY_SECONDS: "1" };
  service = await startService({ env: { ...env, ...fourEnv(trackers, "t") } });
  await seedLook(service, ["issue.commented"]);
  const app = { name: "APP", source: "gamma", source_project_id: "APP" };
  project = (await service.post<{ id: number }>("/api/projects", app)).body.id;
}, 180_000);
afterAll(() => closeFour(trackers, model, service), 60_000);

interface Seen extends ExecutionSeen {
  readonly subject: string;
  readonly project_id: number | null;
  readonly hop: number | null;
  readonly held_reason: string | null;
}
const setPolicy = async (policy: object) => expect((await service.put(`/api/projects/${project}`, { policy })).status).toBe(200);
const reached = (event_id: string, states: readonly string[]) =>
  eventually(
    async () => {
      const [one] = (await service.get<Seen[]>(`/api/task-executions?event_id=${event_id}`)).body;
      return one !== undefined && states.includes(one.state) && one;
    },
    { timeout: 60_000 },
  );
const ended = ["succeeded", "failed", "held", "waiting"];

let issues = 0;
let comments = 70_000;
const openIssue = (): number => {
  newIssue(trackers, "gamma", ++issues, "Text");
  return issues;
};
async function comment(n: number, author: object = { name: "bob", key: "bob" }): Promise<string> {
  const { id } = trackers.gamma.issues.find(({ key }) => key === `APP-${n}`) ?? {};
  const self = `${trackers.gamma.url}/rest/api/2/issue/${id}/comment/${++comments}`;
  const at = new Date().toISOString();
  const written = { self, id: String(comments), author, updateAuthor: author, body: "Any news?", created: at, updated: at };
  const payload = { timestamp: Date.now(), webhookEvent: "comment_created", comment: written };
  return (await service.post<Receipt>("/webhook/gamma", payload)).body.event_id;
}
const posted = (n: number) => trackers.gamma.comments({ project: "APP", issue: `APP-${n}` });

test("a customer below the standing that the project requires starts nothing until an operator releases it", async () => {
  await setPolicy({ trigger_min_standing: "member" });
  const n = openIssue();
  const customer = { name: "eve", key: "eve", accountType: "customer" };
  const held = await reached(await comment(n, customer), ended);
  expect(held).toMatchObject({
    state: "held",
    held_reason: "eve has the standing none, and trigger_min_standing in the policy of the project requires at least member",
  });
  expect(posted(n)).toEqual([]);
  expect((await service.post(`/api/task-executions/${held.id}/release`)).status).toBe(200);
  expect(await reached(String(held.event_id), ["succeeded"])).toMatchObject({
    project_id: project,
    subject: `gamma:APP#APP-${n}`,
  });
  const again = (await service.get<{ outcome: string }>(`/api/webhook-events/${await comment(n, customer)}`)).body;
  expect(again).toMatchObject({ outcome: "discarded", reason: held.held_reason });
});

test("nothing is written without the approval that the project requires while its issue cannot be looked up", {
  timeout: 120_000,
}, async () => {
  await setPolicy({ staged: true });
  const n = openIssue();
  trackers.gamma.fault({ kind: "status", status: 500, times: 4, path: /\/issue\/\d+$/ });
  const event_id = await comment(n);
  const execution = await reached(event_id, ended);
  trackers.gamma.heal();
  expect(posted(n)).toEqual([]);
  expect(execution).toMatchObject({ state: "waiting", subject: `gamma:APP#APP-${n}` });

  trackers.gamma.fault({ kind: "status", status: 404, path: /\/issue\/\d+$/, times: 1 });
  expect(await reached(await comment(openIssue()), ended)).toMatchObject({
    state: "failed",
    error: expect.stringMatching(/^The project of its issue could not be looked up, so the limits of its project are unknown: /),
  });
  trackers.gamma.heal();
  await setPolicy({});
});

test("budgets of the project count and hold its runs", async () => {
  await hourLasts();
  await setPolicy({ day_tokens: 150 });
  const runs = [await comment(openIssue()), await comment(openIssue()), await comment(openIssue())];
  const states = [];
  for (const event_id of runs) states.push((await reached(event_id, ended)).state);
  expect(states.filter((state) => state === "succeeded").length).toBeLessThan(3);
  expect(states).toContain("held");
  await setPolicy({ issue_runs_per_hour: 1 });
  const n = openIssue();
  expect((await reached(await comment(n), ended)).state).toBe("succeeded");
  expect(await reached(await comment(n), ended)).toMatchObject({
    state: "held",
    held_reason: expect.stringMatching(/issue_runs_per_hour in the policy of the project/),
  });
  await setPolicy({});
});

test("replies to our own writes are a loop", async () => {
  await setPolicy({ loop_max_hops: 2 });
  const n = openIssue();
  const hops: (number | null)[] = [];
  let last: Seen | undefined;
  for (let i = 0; i < 4; i++) {
    last = await reached(await comment(n), ended);
    hops.push(last.hop);
  }
  expect(hops).toEqual([null, 1, 2, 3]);
  expect(last).toMatchObject({ state: "held", held_reason: expect.stringContaining("looks like a loop") });
  expect(posted(n)).toHaveLength(3);
  await setPolicy({});
});
