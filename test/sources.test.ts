import { createHmac, randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Model, startModel } from "../examples/demo/model.ts";
import { startTracker as startAlpha } from "../examples/demo/tracker.ts";
import { startTracker as startBeta } from "../plugins/beta/test-tracker.ts";
import { project as deltaProject, startTracker as startDelta, workspace } from "../plugins/delta/test-tracker.ts";
import { startTracker as startGamma } from "../plugins/gamma/test-tracker.ts";
import * as alpha from "./harness/alpha-payloads.ts";
import * as beta from "./harness/beta-payloads.ts";
import * as delta from "./harness/delta-payloads.ts";
import * as gamma from "./harness/gamma-payloads.ts";
import { type Service, startService } from "./harness/service.ts";
import { waitForExecutions } from "./harness/wait.ts";
import type { Receipt } from "./harness/webhooks.ts";
import { anyDatabase, plainScript } from "./harness/world.ts";

/** What stands in the payload tables for one event and action; `number` makes its issue one of its own. */
interface Row {
  readonly source: "alpha" | "beta" | "gamma" | "delta";
  readonly event: string;
  readonly action: string | null;
  readonly payload: (number: number) => object;
  /** Parts of what the model reads. */
  readonly reads: readonly (string | RegExp)[];
}

const secret = "webhook-secret-5f0c";
const repo = "octo/app";
const betaProject = "octo/team/app";
const deltaIssue = (number: number) => `0c6d9f12-52b5-4f0e-9d2f-${String(number).padStart(12, "0")}`;
const anyPayload = (event: string, action: string) => (number: number) => {
  const member = event === "pull_request" ? "pull_request" : "issue";
  // The collection has no edited pull request.
  const kept =
    event === "pull_request" && action === "edited"
      ? { ...alpha.example(event, "opened"), action, changes: { title: { from: "Login" } } }
      : alpha.example(event, action);
  const told = { ...(kept[member] as object), number, title: "Login fails", user: { login: "mona" } };
  const repository = { ...(kept.repository as object), full_name: repo, name: "app" };
  return { ...kept, [member]: told, repository, sender: { login: "mona" } };
};

/** The collection has no issue that was opened again. */
const reopened = (number: number) =>
  alpha.issueOpened(
    { repo, number },
    { action: "reopened", issue: { state: "open", state_reason: "reopened", closed_at: null } },
  );

const rows: readonly Row[] = [
  ...["opened", "edited", "closed", "reopened", "labeled", "unlabeled"].map((action): Row => {
    const closed = (number: number) => alpha.issueClosed({ repo, number });
    const payload = action === "closed" ? closed : action === "reopened" ? reopened : anyPayload("issues", action);
    return { source: "alpha", event: "issues", action, payload, reads: ["Login fails"] };
  }),
  ...["opened", "edited", "closed", "reopened", "ready_for_review", "synchronize"].map((action): Row => {
    const payload = anyPayload("pull_request", action);
    return { source: "alpha", event: "pull_request", action, payload, reads: ["# Pull request #", "Login fails"] };
  }),
  {
    ...{ source: "alpha", event: "issue_comment", action: "created", reads: ["Any news?", "by mona"] },
    payload: (number) => alpha.issueCommented({ repo, number, comment: "Any news?" }),
  },
  {
    ...{ source: "beta", event: "Issue Hook", action: "open", reads: ["Login fails", "It **fails** since Monday."] },
    payload: (iid) => beta.issueOpened(betaProject, iid),
  },
  {
    ...{ source: "beta", event: "Issue Hook", action: "close", reads: ["State: closed"] },
    payload: (iid) => beta.issueClosed(betaProject, iid),
  },
  {
    ...{ source: "beta", event: "Issue Hook", action: "reopen", reads: ["State: opened"] },
    payload: (iid) => beta.issueReopened(betaProject, iid),
  },
  {
    ...{ source: "beta", event: "Issue Hook", action: "update", reads: ["labels: bug → bug, backend"] },
    payload: (iid) => beta.issueLabeled(betaProject, iid),
  },
  {
    ...{ source: "beta", event: "Merge Request Hook", action: "open", reads: ["From: fix-login", "Into: main"] },
    payload: (iid) => beta.mergeRequestOpened(betaProject, iid),
  },
  {
    ...{ source: "gamma", event: "gamma:issue_created", action: null },
    ...{ reads: ["Login fails", "Priority: High", "It **fails** since", "1. Monday"] },
    payload: (number) => gamma.issueCreated(`APP-${number}`),
  },
  {
    ...{ source: "gamma", event: "gamma:issue_updated", action: null, reads: ["status: To Do → In Progress"] },
    payload: (number) => gamma.issueMoved(`APP-${number}`),
  },
  {
    ...{ source: "gamma", event: "comment_created", action: null, reads: ["Any **news** on this?", "by Ann"] },
    payload: (number) => gamma.commentCreated(`APP-${number}`),
  },
  {
    ...{
      source: "delta",
      event: "issue.created",
      action: null,
      reads: ["Login fails", "It **fails** since Monday.", "State: Todo"],
    },
    payload: (number) => delta.issueCreated(deltaProject, deltaIssue(number)),
  },
  {
    ...{ source: "delta", event: "issue.updated", action: null, reads: ["state: Todo → Done"] },
    payload: (number) => delta.issueMoved(deltaProject, deltaIssue(number), "Todo", "Done"),
  },
  {
    ...{ source: "delta", event: "issue.activity.created", action: null, reads: ["Any *news* on this?"] },
    payload: (number) => delta.commented(deltaProject, deltaIssue(number)),
  },
];

const hmac = (body: string) => createHmac("sha256", secret).update(body).digest("hex");
/** The platforms' own headers, as they send them. */
const headersOf: Readonly<Record<Row["source"], (row: Row, body: string) => Record<string, string>>> = {
  alpha: ({ event }, body) => ({
    "x-github-event": event,
    "x-github-delivery": randomUUID(),
    "x-hub-signature-256": `sha256=${hmac(body)}`,
  }),
  beta: ({ event }) => ({ "x-gitlab-event": event, "x-gitlab-event-uuid": randomUUID(), "x-gitlab-token": secret }),
  gamma: (_, body) => ({ "x-atlassian-webhook-identifier": randomUUID(), "x-hub-signature": `sha256=${hmac(body)}` }),
  delta: ({ event }, body) => ({
    "x-plane-event": event.startsWith("issue.activity") ? "issue_comment" : "issue",
    "x-plane-delivery": randomUUID(),
    "x-plane-signature": hmac(body),
  }),
};

const membersOf = (value: unknown): number =>
  typeof value !== "object" || value === null
    ? 1
    : Object.values(value).reduce((sum: number, inner) => sum + 1 + membersOf(inner), 0);

describe("every row of the payload tables, as its platform sends it, through the door to its comment", () => {
  let model: Model;
  let service: Service;
  let trackers: Awaited<ReturnType<typeof startAll>>;
  const startAll = async () => ({
    alpha: await startAlpha({ autoCreate: true }),
    beta: await startBeta(),
    gamma: await startGamma(),
    server: await startGamma(2),
    delta: await startDelta(),
  });

  beforeAll(async () => {
    model = await startModel({ script: plainScript });
    trackers = await startAll();
    const env = {
      ...{ LLM_BASE_URL: model.url, LLM_MODEL: "scripted", ENCRYPTION_KEY: "a1".repeat(32) },
      ...{ ALPHA_API_URL: trackers.alpha.url, ALPHA_TOKEN: "t", ALPHA_WEBHOOK_SECRET: secret },
      ...{ BETA_URL: trackers.beta.url, BETA_TOKEN: "test-token-1", BETA_WEBHOOK_SECRET: secret },
      ...{ GAMMA_URL: trackers.gamma.url, GAMMA_EMAIL: "bot@example.com", GAMMA_API_TOKEN: "t", GAMMA_WEBHOOK_SECRET: secret },
      ...{ DELTA_API_URL: trackers.delta.url, DELTA_API_KEY: "test-key-1", DELTA_WORKSPACE_SLUG: workspace },
      DELTA_WEBHOOK_SECRET: secret,
    };
    service = await startService({ database: anyDatabase(), seed: true, env });
    // Rows that the default mappings leave out, and triggers that fire nothing by default.
    for (const { source, event: event_name, action } of rows)
      await service.post("/api/tasks/sources", { source, event_name, action, canonical_trigger: "row.seen" });
    for (const canonical_trigger of ["row.seen", "issue.closed", "pr.closed", "issue.commented"])
      await service.post("/api/tasks/triggers", { canonical_trigger, task_id: "customer_uat_sync" });
  }, 180_000);
  afterAll(async () => {
    for (const tracker of Object.values(trackers ?? {})) await tracker.close();
    await model?.close();
    await service?.close();
  }, 60_000);

  const now = () => new Date().toISOString();
  /** Makes the issue, and gives what reads its comments. */
  const place = ({ source, event }: Row, number: number): (() => readonly string[]) => {
    const { alpha, beta, gamma, delta } = trackers;
    if (source === "alpha") return () => alpha.comments(repo, number).map(({ body }) => body);
    if (source === "gamma") {
      gamma.addIssue(`APP-${number}`, now());
      return () => gamma.comments({ project: "APP", issue: `APP-${number}` });
    }
    if (source === "delta") {
      delta.addIssue(deltaIssue(number), now());
      return () => delta.comments({ project: deltaProject, issue: deltaIssue(number) });
    }
    const merge = event === "Merge Request Hook";
    beta.add(merge ? "merge_requests" : "issues", number, now());
    return () => beta.comments({ project: betaProject, issue: `${merge ? "!" : ""}${number}` });
  };
  const post = (slug: string, row: Row, payload: object) => {
    const body = JSON.stringify(payload);
    return service.post<Receipt>(`/webhook/${slug}`, body, { headers: headersOf[row.source](row, body) });
  };

  test.each(rows.map((row, at) => ({ ...row, number: at + 1, name: `${row.source} ${row.event} ${row.action ?? ""}` })))(
    "$name",
    async (row) => {
      const payload = row.payload(row.number);
      expect(membersOf(payload)).toBeGreaterThan(60);
      const comments = place(row, row.number);
      const { status, body } = await post(row.source, row, payload);
      expect({ status, said: body.status }).toEqual({ status: 202, said: "accepted" });
      const count = body.executions?.length ?? 0;
      expect(count).toBeGreaterThan(0);
      const ended = await waitForExecutions(service, { event_id: body.event_id, count });
      expect(ended.map(({ state }) => state)).toEqual(Array(count).fill("succeeded"));
      expect(comments()).toHaveLength(count);
      for (const comment of comments()) expect(comment).toContain("Answer of");

      const event = (
        await service.get<{ payload: unknown; event_name: string; action: string | null }>(`/api/webhook-events/${body.event_id}`)
      ).body;
      expect(event).toMatchObject({ event_name: row.event, action: row.action });
      expect(event.payload).toEqual(payload);
      const prompt = model
        .chats()
        .map((chat) => JSON.stringify(chat.messages))
        .findLast((text) => text.includes(subjectOf(row)));
      for (const part of row.reads)
        expect(
          JSON.parse(`[${prompt}]`)
            .flat()
            .map((one: { content: string }) => one.content)
            .join("\n"),
        ).toContain(part);
      // The same webhook without its proof is nobody's.
      const unsigned = await service.post(`/webhook/${row.source}`, JSON.stringify(payload), {
        headers: row.source === "alpha" ? { "x-github-event": row.event } : {},
      });
      expect(unsigned.status).toBe(401);
    },
  );

  test("a second account of one platform, a server of one's own, has its own address, secret and format", async () => {
    trackers.server.addIssue("APP-7", now());
    const own = "another-secret-11aa";
    const credentials = { url: trackers.server.url, api_token: "t", is_cloud: "false", webhook_secret: own };
    const made = await service.post<{ id: string }>("/api/integrations", { source: "gamma", name: "Server", credentials });
    expect(made.status).toBe(201);
    const body = JSON.stringify(gamma.issueCreated("APP-7"));
    const signed = (key: string) => ({
      "x-hub-signature": `sha256=${createHmac("sha256", key).update(body).digest("hex")}`,
    });
    const path = `/webhook/${made.body.id}`;
    expect((await service.post(path, body, { headers: signed(secret) })).status).toBe(401);
    const { status, body: receipt } = await service.post<Receipt>(path, body, { headers: signed(own) });
    expect(status).toBe(202);
    await waitForExecutions(service, { event_id: receipt.event_id, count: 2, state: "succeeded" });
    const posted = trackers.server.comments({ project: "APP", issue: "APP-7" });
    expect(posted.map((text) => text.replace(/[\u200B-\u200D\u2060-\u2064]/g, "")).sort()).toEqual([
      "Answer of Technical discovery",
      "Answer of Triage: initial intent",
    ]);
    expect(trackers.gamma.comments({ project: "APP", issue: "APP-7" })).toEqual([]);
  });
});

function subjectOf({ source, event, number }: Row & { readonly number: number }): string {
  if (source === "alpha") return `about alpha:${repo}#${number}.`;
  if (source === "beta") return `about beta:${betaProject}#${event === "Merge Request Hook" ? "!" : ""}${number}.`;
  if (source === "gamma") return `about gamma:APP#APP-${number}.`;
  return `about delta:${deltaProject}#${deltaIssue(number)}.`;
}
