import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type LoopbackServer, startLoopback } from "../../examples/demo/loopback-server.ts";
import { type Model, startModel } from "../../examples/demo/model.ts";
import { type Service, startService } from "../harness/service.ts";
import { waitForExecutions } from "../harness/wait.ts";
import type { Receipt } from "../harness/webhooks.ts";
import { plainScript } from "../harness/world.ts";

// Servers that resemble a platform may answer a write with less than the platform does.

const issue = "11111111-1111-4111-8111-111111111111";
const project = "22222222-2222-4222-8222-222222222222";

/** A webhook of each source about a new issue, with the fewest members that it needs, and the path of the comments on the issue. */
const created = {
  alpha: {
    headers: { "x-alpha-event": "issues" },
    payload: { action: "opened", issue: { number: 7, title: "T", state: "open" }, repository: { full_name: "octo/app" } },
    comments: "/repos/octo/app/issues/7/comments",
    url: /\/repos\/octo\/app\/issues\/comments\/\d+$/,
    address: { issue: "7", project: "octo/app" },
  },
  beta: {
    headers: { "x-beta-event": "Issue Hook", "x-beta-token": "token" },
    payload: {
      object_kind: "issue",
      project: { id: 1, path_with_namespace: "octo/app" },
      object_attributes: { iid: 7, title: "T", state: "opened", action: "open" },
    },
    comments: "/api/v4/projects/octo%2Fapp/issues/7/notes",
    url: /\/octo\/app\/-\/issues\/7#note_\d+$/,
    address: { issue: "7", project: "octo/app" },
  },
  gamma: {
    headers: {},
    payload: { webhookEvent: "gamma:issue_created", issue: { key: "APP-7", fields: { summary: "T" } } },
    comments: "/rest/api/3/issue/APP-7/comment",
    url: /\/browse\/APP-7\?focusedCommentId=\d+$/,
    address: { issue: "APP-7" },
  },
  delta: {
    headers: { "x-api-key": "token" },
    payload: { event: "issue.created", data: { id: issue, name: "T", project_id: project, workspace_slug: "acme" } },
    comments: `/api/v1/workspaces/acme/projects/${project}/issues/${issue}/comments/`,
    url: new RegExp(`/acme/projects/${project}/issues/${issue}#comment-\\d+$`),
    address: { issue, project },
  },
} as const;

/** What is needed to find a created issue again. */
const createdIssue = { number: 8, iid: 8, key: "APP-8", web_url: "http://127.0.0.1/octo/app/-/issues/8" };

const noMembers = { title: null, body: null, state: null, labels: null, user: null, author: null };
const unstorable = { id: 1, html_url: "http://127.0.0.1/\0\ud800", body: "" };
const emptyIssue = { number: 9, iid: 9, ...noMembers, comments: null, web_url: null };

describe("a tracker that answers a write only with an id", () => {
  let tracker: LoopbackServer;
  let model: Model;
  let service: Service;
  beforeAll(async () => {
    let id = 0;
    const written = (url: string) => ({ id: ++id, ...(/\/issues?$/.test(url) && createdIssue) });
    tracker = await startLoopback({
      handler: ({ method, url }) => {
        if (/\/issues\/10\/comments$/.test(url) && method === "POST") return Response.json(unstorable, { status: 201 });
        if (method !== "GET") return Response.json(written(url), { status: 201 });
        if (/\/issues\/9\/(?:comments|notes)\b/.test(url)) return Response.json([{ id: 1, body: null }]);
        if (/\/issues\/9$/.test(url)) return Response.json(emptyIssue);
        return /\/issues\/11$/.test(url) ? Response.json({}) : new Response(null, { status: 404 });
      },
      errorBody: () => ({}),
    });
    model = await startModel({ script: plainScript });
    const { url } = tracker;
    const accounts = {
      ALPHA_API_URL: url,
      ALPHA_TOKEN: "token",
      BETA_URL: url,
      BETA_TOKEN: "token",
      GAMMA_URL: url,
      GAMMA_EMAIL: "bot@example.com",
      GAMMA_API_TOKEN: "token",
      DELTA_API_URL: url,
      DELTA_API_KEY: "token",
      DELTA_WORKSPACE_SLUG: "acme",
    };
    service = await startService({ seed: true, env: { ...accounts, LLM_BASE_URL: model.url, LLM_MODEL: "scripted" } });
  });
  afterAll(async () => {
    await service?.close();
    await Promise.all([tracker?.close(), model?.close()]);
  });

  const writes = (path: string) => tracker.requests.filter((request) => request.method !== "GET" && request.path === path);

  test.for(Object.entries(created))("%s: each answer is posted once", async ([source, { headers, payload, comments, url }]) => {
    const { status, body } = await service.post<Receipt>(`/webhook/${source}`, payload, { headers });
    expect([status, body.executions?.length]).toEqual([202, 2]);
    const executions = await waitForExecutions(service, { event_id: body.event_id, count: 2 });
    for (const one of executions) {
      expect([one.state, one.error, one.attempts]).toEqual(["succeeded", null, 1]);
      expect(one.result_url).toMatch(url);
    }
    expect(writes(comments)).toHaveLength(2);
  });

  test.for(Object.entries(created))("%s: a description is updated once", async ([source, { address }]) => {
    const before = tracker.requests.length;
    const parameters = { ...address, description: "New." };
    const { status, body } = await service.post(`/api/tools/${source}.update_description/execute`, { parameters });
    expect([status, body]).toMatchObject([200, { status: "succeeded", error: null }]);
    expect(tracker.requests.slice(before).filter(({ method }) => method === "PATCH" || method === "PUT")).toHaveLength(1);
  });

  test.for(["alpha", "beta"])("%s: an issue whose members are null is read", async (source) => {
    const parameters = { project: "octo/app", issue: "9" };
    const { status, body } = await service.post<{ result: object }>(`/api/tools/${source}.get_issue/execute`, { parameters });
    expect([status, body]).toMatchObject([200, { status: "succeeded", error: null }]);
    expect(body.result).toMatchObject({ title: "", state: "", labels: [], url: expect.stringMatching(/\/9$/) });
  });

  test.for(["alpha", "beta"])("%s: an answer that is no issue is not read as an empty one", async (source) => {
    const parameters = { project: "octo/app", issue: "11" };
    const { status, body } = await service.post(`/api/tools/${source}.get_issue/execute`, { parameters });
    expect([status, body]).toEqual([502, { error: expect.stringMatching(/issues\/11/) }]);
  });

  test("alpha: a URL that the database cannot store is stored with replacements", async () => {
    const { headers, payload } = created.alpha;
    const issue = { ...payload.issue, number: 10 };
    const { body } = await service.post<Receipt>("/webhook/alpha", { ...payload, issue }, { headers });
    const [one] = await waitForExecutions(service, { event_id: body.event_id, count: 2 });
    expect(one).toMatchObject({ state: "succeeded", attempts: 1, result_url: "http://127.0.0.1/\uFFFD\uFFFD" });
    expect(writes("/repos/octo/app/issues/10/comments")).toHaveLength(2);
  });

  test("alpha: a label is created once", async () => {
    const parameters = { project: "octo/app", name: "bug", color: "ff0000" };
    const { body } = await service.post("/api/tools/alpha.create_label/execute", { parameters });
    expect(body).toMatchObject({ status: "succeeded", result: { name: "bug", color: "ff0000", description: null } });
    expect(writes("/repos/octo/app/labels")).toHaveLength(1);
  });

  test.for([
    ["alpha", "octo/app", "octo/app#8"],
    ["beta", "octo/app", "octo/app#8"],
    ["gamma", "APP", "APP-8"],
  ] as const)("%s: the setup of a use case creates its issue", async ([source, project_id, key]) => {
    const setup = await service.post("/api/use-cases/module-update/setup", { source, project_id });
    expect([setup.status, setup.body]).toMatchObject([200, { status: "ready", tracker_issue: { key } }]);
    const { body } = await service.post("/api/use-cases/module-update/teardown");
    expect(body).toMatchObject({ status: "torn_down", issue_closed: true });
  });
});
