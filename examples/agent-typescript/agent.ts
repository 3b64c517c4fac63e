import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { type Client, Code, ConnectError, createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import {
  AgentGateway,
  type FoundMemory,
  MemoryScope,
  MemorySearchMode,
  type ReceiveTasksResponse as Task,
} from "./gen/gateway_pb.js";

/**
 * An external agent for Signalbox: registers, receives tasks, stores memories, completes tasks. It runs until it is stopped and
 * reconnects after a lost connection or session. Replace `answer` with your own work.
 */
const settings = {
  url: process.env.SIGNALBOX_GRPC ?? "http://localhost:9090",
  agentId: process.env.AGENT_ID ?? "typescript_agent",
  secret: process.env.AGENT_SECRET ?? "",
  /** PEM file with the CA of the server's certificate, if it is not a public CA. */
  roots: process.env.SIGNALBOX_CA,
  /**
   * At most a third of the service's EXECUTION_LEASE_SECONDS: without a heartbeat for that long, the task goes to another agent.
   */
  heartbeatSeconds: Number(process.env.HEARTBEAT_SECONDS ?? 10),
};
type Gateway = Client<typeof AgentGateway>;
/** Errors that a new registration does not solve. */
const permanentCodes = [Code.NotFound, Code.Unauthenticated, Code.InvalidArgument];

/** The answer to a task, in Markdown. It is posted as a comment on the issue. */
function answer(task: Task, memories: readonly FoundMemory[]): string {
  const seen = `${settings.agentId} has looked at **${task.taskName}** (\`${task.canonicalTrigger}\`): ${task.content.length} characters.`;
  return memories.length === 0 ? seen : [seen, "It remembers:", ...memories.map(({ content }) => `- ${content}`)].join("\n");
}

/** Executes one task: searches memories, answers, and stores a memory. */
async function work(gateway: Gateway, sessionId: string, task: Task): Promise<void> {
  console.log(`task ${task.executionId}: ${task.taskName}`);
  const { memories } = await gateway.memorySearch({
    sessionId,
    query: task.content,
    limit: 3,
    scope: MemoryScope.AGENT,
    mode: MemorySearchMode.HYBRID,
  });
  const result = answer(task, memories);
  await remember(gateway, sessionId, task);
  await gateway.completeTask({ sessionId, executionId: task.executionId, result });
}

async function remember(gateway: Gateway, sessionId: string, task: Task): Promise<void> {
  const content = `${task.taskName} on ${task.canonicalTrigger}, ${new Date().toISOString().slice(0, 10)}`;
  const key = `${settings.agentId}:${task.executionId}`;
  await gateway.memoryStore({ sessionId, key, content, scope: MemoryScope.AGENT }).catch((error) => {
    // An earlier attempt at the same task has stored it.
    if (codeOf(error) !== Code.AlreadyExists) throw error;
  });
}

/**
 * Whether the gateway refused a call because of its content, for example a result that is too large. It has the same code for too
 * many calls, but then says when to retry.
 */
const isRefusal = (error: unknown): boolean =>
  error instanceof ConnectError &&
  (error.code === Code.InvalidArgument || (error.code === Code.ResourceExhausted && !error.metadata.has("retry-after")));

/** Reports a failed task, so that it can be retried. A task whose result was refused would be refused again. */
async function attempt(gateway: Gateway, sessionId: string, task: Task): Promise<void> {
  try {
    await work(gateway, sessionId, task);
  } catch (error) {
    if (codeOf(error) === Code.NotFound)
      return console.warn(`task ${task.executionId} is no longer assigned to this agent: ${error}`);
    if (error instanceof ConnectError && !isRefusal(error)) throw error;
    console.error(`task ${task.executionId} failed:`, error);
    const reason = String(error).slice(0, 10_000);
    await gateway.failTask({ sessionId, executionId: task.executionId, error: reason, retryable: !isRefusal(error) });
  }
}

/** One session: from the registration until the task stream ends. Throws the error that ended it. */
async function serve(gateway: Gateway): Promise<void> {
  const { agentId, secret } = settings;
  const session = await gateway.registerAgent({ agentId, secret, version: "1.0" }).catch((error) => {
    if (!permanentCodes.includes(codeOf(error))) throw error;
    console.error(`registration failed: ${error.message}`);
    process.exit(1);
  });
  const { sessionId } = session;
  console.log(`registered as ${agentId}, ${session.requestsPerMinute} calls a minute`);
  const beat = () => gateway.heartbeat({ sessionId }).catch((error) => console.warn(`heartbeat: ${error.message}`));
  const timer = setInterval(beat, settings.heartbeatSeconds * 1000);
  try {
    // Without a deadline: the stream stays open until one side ends it.
    const tasks = gateway.receiveTasks({ sessionId, maxInFlight: 1 }, { timeoutMs: 0 });
    for await (const task of tasks) await attempt(gateway, sessionId, task);
  } finally {
    clearInterval(timer);
  }
}

const codeOf = (error: unknown): Code => ConnectError.from(error).code;

async function main(): Promise<never> {
  const { url, roots } = settings;
  const transport = createGrpcTransport({
    baseUrl: url,
    defaultTimeoutMs: 30_000,
    // Detects a silently lost connection within a minute.
    pingIntervalMs: 30_000,
    pingTimeoutMs: 20_000,
    ...(roots && { nodeOptions: { ca: readFileSync(roots) } }),
  });
  const gateway = createClient(AgentGateway, transport);
  for (let wait = 1; ; ) {
    const startedAt = performance.now();
    await serve(gateway).catch((error) => console.warn(ConnectError.from(error).message));
    // Exponential backoff, reset after a successful session.
    wait = performance.now() - startedAt > 60_000 ? 1 : Math.min(wait * 2, 30);
    // A random time, so that agents that lost the service together do not return together.
    await sleep(wait * 1000 * (0.5 + Math.random()));
  }
}

await main();
