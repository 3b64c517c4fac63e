import { createRequire } from "node:module";
import type { WebhookDefinition } from "@octokit/webhooks-examples";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  issueClosed,
  issueCommented,
  issueOpened,
  type Payload,
  pullRequestClosed,
  pullRequestOpened,
  type Subject,
} from "../harness/alpha-payloads.ts";
import { eventually, waitForExecutions } from "../harness/wait.ts";
import { startWorld, textsOf, type World } from "../harness/world.ts";

const require = createRequire(import.meta.url);
/** Payloads of the platform itself and of its Enterprise Server's releases. */
const releases = ["api.github.com", "ghes-31", "ghes-32", "ghes-33", "ghes-34", "ghes-35"];
const all = releases.flatMap((release) =>
  (require(`@octokit/webhooks-examples/${release}/index.json`) as WebhookDefinition[]).flatMap(({ name, examples }) =>
    (examples as unknown as Record<string, unknown>[]).map((payload) => ({ release, event: name, payload })),
  ),
);

const builders: Record<string, (subject: Subject) => Payload> = {
  "issues/opened": issueOpened,
  "issues/closed": issueClosed,
  "issue_comment/created": issueCommented,
  "pull_request/opened": pullRequestOpened,
  "pull_request/closed": pullRequestClosed,
};

interface SourceMapping {
  readonly source: string;
  readonly event_name: string;
  readonly action: string;
  readonly canonical_trigger: string;
}

describe("real payloads", () => {
  let world: World;
  let mappings: SourceMapping[];
  beforeAll(async () => {
    // They are all about one issue and one pull request. Every one must run, whatever came before it.
    world = await startWorld({ env: { LOOP_MAX_HOPS: "0", BUDGET_ISSUE_RUNS_PER_HOUR: "0", UPDATE_DEBOUNCE_SECONDS: "0" } });
    for (const agent of ["pm_default", "ta_default", "qa_default"])
      expect((await world.service.put(`/api/agents/${agent}`, { policy: { on_close: "finish" } })).status).toBe(200);
    const { body } = await world.service.get<SourceMapping[]>("/api/tasks/sources?limit=1000");
    mappings = body.filter(({ source }) => source === "alpha");
    // By default, these triggers fire nothing; with one task each, every mapping can be tested.
    for (const canonical_trigger of ["issue.closed", "pr.closed", "issue.commented"]) {
      const made = await world.service.post("/api/tasks/triggers", { canonical_trigger, task_id: "customer_uat_sync" });
      expect(made.status).toBe(201);
    }
  });
  afterAll(() => world?.[Symbol.asyncDispose]());

  test("every payload is accepted, and mapped ones run to their end", { timeout: 180_000 }, async () => {
    expect(all.length).toBeGreaterThan(700);
    const mapped = new Set(mappings.map(({ event_name, action }) => `${event_name}/${action}`));
    const receipts = new Map<string, number>();
    let fired = 0;
    const queue = [...all.entries()];
    const send = async () => {
      for (let next = queue.pop(); next; next = queue.pop()) {
        const [at, { release, event, payload }] = next;
        const { status, body } = await world.service.webhook(payload, { event, delivery: `real-${at}` });
        const wanted = mapped.has(`${event}/${payload.action}`) ? "accepted" : "discarded";
        expect({ release, event, action: payload.action, status, said: body.status }).toEqual({
          release,
          event,
          action: payload.action,
          said: wanted,
          status: wanted === "accepted" ? 202 : 200,
        });
        receipts.set(body.status, (receipts.get(body.status) ?? 0) + 1);
        fired += body.executions?.length ?? 0;
      }
    };
    await Promise.all(Array.from({ length: 8 }, send));
    expect((receipts.get("accepted") ?? 0) + (receipts.get("discarded") ?? 0)).toBe(all.length);
    const { headers } = await world.service.get("/api/webhook-events?limit=1");
    expect(headers.get("x-total-count")).toBe(String(all.length));
    await eventually(
      async () =>
        (await world.service.get("/api/task-executions?limit=1&state=succeeded")).headers.get("x-total-count") === String(fired),
      { timeout: 120_000, interval: 500 },
    );
    expect(world.service.logs()).not.toMatch(/"level":"error"/);
  });

  test("each default mapping runs its tasks to a comment", async () => {
    expect(mappings.map(({ event_name, action }) => `${event_name}/${action}`).sort()).toEqual(Object.keys(builders).sort());
    for (const [i, { event_name, action, canonical_trigger }] of mappings.entries()) {
      const repo = `octo/mapping-${i}`;
      const payload = builders[`${event_name}/${action}`]?.({ repo, number: 7 });
      if (!payload) throw new Error(`no payload for ${event_name}/${action}`);
      const { status, body } = await world.service.webhook(payload, { event: event_name });
      expect(status).toBe(202);
      expect(body.canonical_trigger).toBe(canonical_trigger);
      const count = ["issue.created", "pr.opened"].includes(canonical_trigger) ? 2 : 1;
      expect(body.executions).toHaveLength(count);
      const ended = await waitForExecutions(world.service, { event_id: body.event_id, count });
      expect(ended.map(({ state }) => state)).toEqual(Array(count).fill("succeeded"));
      expect(textsOf(world.tracker, repo, 7)).toHaveLength(count);
    }
  });
});
