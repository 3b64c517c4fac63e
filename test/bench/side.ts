import { type Contender, limit, type OldVersion, signalbox } from "./contender.ts";

const task = { id: "bench_task", name: "Bench", description: "Comment on the issue.", actor_id: "pm_default" };
const mapping = { source: "alpha", event_name: "issues", action: "opened", canonical_trigger: "issue.created" };

/** The model and the tracker of a benchmark. */
export interface Side extends Contender {
  readonly url: string;
  /** Number of comments so far, and of requests that the model has not answered yet. */
  counts(): Promise<{ readonly comments: number; readonly asked: number }>;
  /** Resolves once there are as many comments. The tracker answers then, because a client that asks again and again slows all others. */
  commented(count: number): Promise<unknown>;
}

/** Starts a model that answers after this many milliseconds, and a tracker. */
export async function openSide(modelMs: number): Promise<Side> {
  const side = await limit("other side", "other-side", String(modelMs));
  const url = `http://127.0.0.1:${side.port}`;
  return {
    ...side,
    url,
    counts: async () => (await fetch(`${url}/count`)).json() as ReturnType<Side["counts"]>,
    commented: async (count) => (await fetch(`${url}/commented/${count}`)).json(),
  };
}

/** Starts Signalbox with one task for each opened issue, connected to that model and tracker. */
export async function signalboxBefore(
  side: Side,
  secret: string,
  more: Record<string, string> = {},
  { databaseUrl, old }: { readonly databaseUrl?: string; readonly old?: OldVersion } = {},
) {
  const env = { ALPHA_TOKEN: "t", ALPHA_API_URL: side.url, LLM_BASE_URL: `${side.url}/v1`, LLM_API_KEY: "k", ...more };
  const service = await signalbox(`Signalbox${old ? `, ${old.commit}` : ""}, PostgreSQL`, {
    ...(databaseUrl === undefined ? { database: "postgres" } : { databaseUrl }),
    ...old?.options,
    webhookSecret: secret,
    env,
  });
  await service.post("/api/agents/seed");
  await service.post("/api/tasks", task);
  await service.post("/api/tasks/triggers", { canonical_trigger: mapping.canonical_trigger, task_id: task.id });
  await service.post("/api/tasks/sources", mapping);
  return service;
}
