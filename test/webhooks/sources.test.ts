import { createHmac } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Model, startModel } from "../../examples/demo/model.ts";
import { startTracker as startAlpha } from "../../examples/demo/tracker.ts";
import { project as deltaProject } from "../../plugins/delta/test-tracker.ts";
import { startTracker as startGamma } from "../../plugins/gamma/test-tracker.ts";
import * as gamma from "../harness/gamma-payloads.ts";
import { betaProject, deltaIssue, headersOf, type Row, repo, rows, secret, subjectOf } from "../harness/payload-table.ts";
import { type Service, startService } from "../harness/service.ts";
import { startTrackers, trackersEnv } from "../harness/trackers.ts";
import { waitForExecutions } from "../harness/wait.ts";
import type { Receipt } from "../harness/webhooks.ts";
import { plainScript } from "../harness/world.ts";

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
    ...(await startTrackers()),
    server: await startGamma(2),
  });

  beforeAll(async () => {
    model = await startModel({ script: plainScript });
    trackers = await startAll();
    const env = {
      LLM_BASE_URL: model.url,
      LLM_MODEL: "scripted",
      ENCRYPTION_KEY: "a1".repeat(32),
      ALPHA_API_URL: trackers.alpha.url,
      ALPHA_TOKEN: "t",
      ALPHA_WEBHOOK_SECRET: secret,
      ...trackersEnv(trackers),
      BETA_WEBHOOK_SECRET: secret,
      GAMMA_WEBHOOK_SECRET: secret,
      DELTA_WEBHOOK_SECRET: secret,
    };
    service = await startService({ seed: true, env });
    // Rows that the default mappings omit, and triggers that fire nothing by default.
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
  /** Creates the issue, and returns a function that reads its comments. */
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
      // The same webhook without its signature belongs to no source.
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
