import { issueOpened } from "../../harness/alpha-payloads.ts";
import { eventually, hourLasts, waitForExecutions } from "../../harness/wait.ts";
import { type Receipt, signature } from "../../harness/webhooks.ts";
import { webhookSecret } from "../../harness/world.ts";
import { type Arrange, type Cases, unique } from "./cases.ts";
import { unverifiable } from "./plugins.ts";
import type { World } from "./world.ts";

let issues = 0;
const payload = () => JSON.stringify(issueOpened({ repo: "octo/statuses", number: ++issues, sender: "mona" }));
const slug = { slug: "alpha" };

/** An issue was opened; its tasks run. */
export async function accepted(world: World): Promise<Receipt> {
  const { status, body } = await world.main.webhook(JSON.parse(payload()));
  if (status !== 202) throw new Error(`the webhook was answered ${status}: ${JSON.stringify(body)}`);
  return body;
}

const delivered = (event: string, body = payload()): ReturnType<Arrange> => ({
  params: slug,
  body,
  headers: {
    "x-alpha-event": event,
    "x-alpha-delivery": unique("delivery"),
    "x-hub-signature-256": signature(body, webhookSecret),
  },
});

/** An execution that waits for the model, which does not answer. */
async function running(world: World) {
  const fault = world.model.fault({ path: "chat", how: "hang", times: 0 });
  const { event_id } = await accepted(world);
  const [execution] = await waitForExecutions(world.main, { event_id, state: "running" });
  await eventually(() => fault.applied > 0);
  return { params: { id: execution?.id ?? "" } };
}

let hasStagedProject = false;
/** An execution whose writes wait for approval. */
const waiting: Arrange = async (world) => {
  const project = { name: "Staged", source: "alpha", source_project_id: "octo/staged", policy: { staged: true } };
  if (!hasStagedProject) await world.make("projects.create", { body: project });
  hasStagedProject = true;
  const { body } = await world.main.webhook(issueOpened({ repo: "octo/staged", number: ++issues, sender: "mona" }));
  const [execution] = await waitForExecutions(world.main, { event_id: body.event_id, state: "waiting" });
  return { params: { id: execution?.id ?? "" }, body: {} };
};

let projects = 0;
/** An execution that its project's budget holds: another one has begun on its issue in this hour. */
async function held(world: World) {
  const repo = `octo/held-${++projects}`;
  const project = { name: repo, source: "alpha", source_project_id: repo, policy: { issue_runs_per_hour: 1 } };
  await world.make("projects.create", { body: project });
  await hourLasts(20);
  const { body } = await world.main.webhook(issueOpened({ repo, number: 1, sender: "mona" }));
  const [execution] = await waitForExecutions(world.main, { event_id: body.event_id, state: "held" });
  return { params: { id: execution?.id ?? "" } };
}

const eventId: Arrange = async (world) => ({ params: { id: (await accepted(world)).event_id } });

export const events: Cases = {
  "webhooks.receive": {
    valid: () => delivered("issues"),
    200: () => delivered("star"),
    400: () => delivered("issues", "{"),
    401: () => ({ params: slug, body: payload(), headers: { "x-alpha-event": "issues" } }),
    404: () => ({ params: { slug: "nothing" }, body: payload() }),
    413: () => ({ params: slug, body: JSON.stringify({ text: "x".repeat(26_214_401) }) }),
    503: unverifiable,
  },
  "webhook-events.get": { valid: eventId },
  "webhook-events.bulk": {
    valid: () => ({ body: { action: "replay", filter: { subject: "octo/statuses#1" } } }),
    409: () => ({ body: { action: "replay", filter: {}, expect: 1_000_000 } }),
  },
  "task-executions.bulk": {
    valid: () => ({ body: { action: "cancel", filter: { subject: "octo/statuses#1" } } }),
    409: () => ({ body: { action: "restart", filter: {}, expect: 1_000_000 } }),
  },
  "webhook-events.replay": {
    valid: eventId,
    200: async ({ make }) => {
      const { event_id } = await make<Receipt>("webhooks.receive", await delivered("star"));
      return { params: { id: event_id } };
    },
    409: async (world) => {
      const { event_id } = await accepted(world);
      const { body } = await world.main.get<{ subject: string }>(`/api/webhook-events/${event_id}`);
      await world.make("data.erase", { body: { subject: body.subject } });
      return { params: { id: event_id } };
    },
  },
  "data.erase": {
    valid: () => ({ body: { actor: "nobody-here", dry_run: true } }),
    404: () => ({ body: { project_id: 99_999 } }),
  },
  "task-executions.get": {
    valid: async (world) => {
      const { event_id } = await accepted(world);
      const [execution] = await waitForExecutions(world.main, { event_id, count: 2 });
      return { params: { id: execution?.id ?? "" } };
    },
  },
  "task-executions.cancel": { valid: running },
  "task-executions.release": { valid: held },
  "task-executions.approve": { valid: waiting },
  "task-executions.reject": { valid: waiting },
  "queues.pending": { valid: () => ({ params: { queue: "postgres" } }), 503: brokenRedis({ queue: "redis" }) },
  "queues.take": { valid: () => ({ params: { queue: "postgres" }, body: {} }), 503: brokenRedis({ queue: "redis" }, {}) },
  "queues.ack": {
    valid: async (world) => {
      await accepted(world);
      const events = await eventually(async () => {
        const taken = await world.make<{ events: { id: string }[] }>("queues.take", {
          params: { queue: "postgres" },
          body: { limit: 1 },
        });
        return taken.events.length > 0 && taken.events;
      });
      return { params: { queue: "postgres", id: events[0]?.id ?? "" } };
    },
    503: brokenRedis({ queue: "redis", id: "1-1" }),
  },
};

function brokenRedis(params: Record<string, string>, body?: object): Arrange {
  return async ({ breakRedis }) => {
    await breakRedis();
    return { at: "bare", params, ...(body && { body }) };
  };
}
