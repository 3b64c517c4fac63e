import { allText, type ChatRequest, type Reply } from "../../examples/demo/chat.ts";
import { type Model, type Script, startModel } from "../../examples/demo/model.ts";
import { startTracker, type Tracker } from "../../examples/demo/tracker.ts";
import type { Flavour } from "./databases.ts";
import type { Runtime } from "./process.ts";
import { type Service, startService } from "./service.ts";

export interface WorldOptions {
  readonly database?: Flavour;
  /** A database that the test has created itself. */
  readonly databaseUrl?: string;
  readonly runtime?: Runtime;
  /** API key that the helpers send; the service receives it in `env`. */
  readonly apiKey?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Default: `plainScript`. */
  readonly script?: Script;
  /** Ids of tasks that `issue.created` fires, created for this world. Default: the default seeds. */
  readonly tasks?: readonly string[];
}

/** The service with its tracker and its model, both on loopback. */
export interface World {
  readonly tracker: Tracker;
  readonly model: Model;
  readonly service: Service;
  [Symbol.asyncDispose](): Promise<void>;
}

export const webhookSecret = "s3cret";
/** The account with which the service posts. */
export const login = "signalbox-bot";
export const token = "tracker-token";

/** Starts all three. The tracker creates issues and repositories when they are requested. */
export async function startWorld(options: WorldOptions = {}): Promise<World> {
  const tracker = await startTracker({ token, login, autoCreate: true });
  const model = await startModel({ script: options.script ?? plainScript });
  const { database, databaseUrl, runtime, apiKey, tasks } = options;
  try {
    const service = await startService({
      ...(database && { database }),
      ...(databaseUrl && { databaseUrl }),
      ...(runtime && { runtime }),
      ...(apiKey && { apiKey }),
      seed: tasks === undefined,
      webhookSecret,
      env: { ...surroundings(tracker, model), ...options.env },
    });
    if (tasks) await makeTasks(service, tasks);
    return { tracker, model, service, [Symbol.asyncDispose]: () => closeAll(service, tracker, model) };
  } catch (error) {
    await Promise.all([tracker.close(), model.close()]);
    throw error;
  }
}

/** Variables with their addresses for a service. */
export const surroundings = (tracker: Tracker, model: Model): Record<string, string> => ({
  ALPHA_API_URL: tracker.url,
  ALPHA_TOKEN: token,
  LLM_BASE_URL: model.url,
  LLM_MODEL: "scripted",
  // As long as the window of a write, so that a machine that stops for some seconds does not end the lease of a run.
  EXECUTION_LEASE_SECONDS: "10",
  EXECUTION_RETRY_DELAY_SECONDS: "1",
});

async function closeAll(service: Service, tracker: Tracker, model: Model): Promise<void> {
  // Runs first, because a request that hangs on purpose would delay the service's stop.
  await Promise.all([tracker.close(), model.close()]);
  await service.close();
}

async function makeTasks(service: Service, tasks: readonly string[]): Promise<void> {
  const made = [await service.post("/api/agents/seed"), await service.post("/api/tasks/sources/seed")];
  for (const id of tasks) {
    made.push(await service.post("/api/tasks", { id, name: id, description: `Do ${id}.`, actor_id: "pm_default" }));
    made.push(await service.post("/api/tasks/triggers", { canonical_trigger: "issue.created", task_id: id }));
  }
  const wrong = made.find(({ status }) => status >= 300);
  if (wrong) throw new Error(`a task could not be made: ${wrong.status} ${JSON.stringify(wrong.body)}`);
}

/** The name of the task of a request. */
export const taskOf = (request: ChatRequest): string => /^Task: (.*)$/m.exec(allText(request, "user"))?.[1] ?? "(none)";

/** The issue of a request, for example `octo/app#7`. */
export const issueOf = (request: ChatRequest): string =>
  /about alpha:(\S+#\d+)\./.exec(allText(request, "user"))?.[1] ?? "(none)";

/** Number of tool rounds before a request. */
export const roundsOf = (request: ChatRequest): number => request.messages.filter(({ tool_calls }) => tool_calls).length;

/** Answers immediately, differently for each task. */
export const plainScript: Script = (request): Reply => ({ content: `Answer of ${taskOf(request)}` });

/** Writes a comment with a tool, then answers. */
export const commentingScript: Script = (request): Reply =>
  roundsOf(request) === 0
    ? callOf("add_comment", request, { body: `Note of ${taskOf(request)}` })
    : { content: `Answer of ${taskOf(request)}` };

export const callOf = (tool: string, request: ChatRequest, given: Record<string, unknown> = {}): Reply => ({
  tool_calls: [{ name: `alpha__${tool}`, arguments: { issue: issueOf(request), ...given } }],
});

/** Comments in the tracker as their reader sees them, sorted: without our marker. */
export const textsOf = (tracker: Tracker, repo: string, issue: number): string[] =>
  tracker
    .comments(repo, issue)
    .map(({ body }) => body.replace(/^<!-- signalbox:\S+ -->\n/, ""))
    .sort();
