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
 * An external agent of Signalbox: registers, receives tasks, remembers, completes them. It works until it is stopped, and
 * connects again when the connection or the session is lost. What it answers is made up in `answer`.
 */
const settings = {
  url: process.env.SIGNALBOX_GRPC ?? "http://localhost:9090",
  agentId: process.env.AGENT_ID ?? "typescript_agent",
  secret: process.env.AGENT_SECRET ?? "",
  /** PEM file that the certificate of an https address is checked with, where it is not one of the usual authorities'. */
  roots: process.env.SIGNALBOX_CA,
  /** A third of the service's EXECUTION_LEASE_SECONDS or less: a task whose agent is silent for that long goes to somebody else. */
  heartbeatSeconds: Number(process.env.HEARTBEAT_SECONDS ?? 10),
};
type Gateway = Client<typeof AgentGateway>;
/** Registering again will not help against these. */
const hopeless = [Code.NotFound, Code.Unauthenticated, Code.InvalidArgument];

/** The answer to a task, in Markdown: a comment below the issue. */
function answer(task: Task, memories: readonly FoundMemory[]): string {
  const seen = `${settings.agentId} has looked at **${task.taskName}** (\`${task.canonicalTrigger}\`): ${task.content.length} characters.`;
  return memories.length === 0 ? seen : [seen, "It remembers:", ...memories.map(({ content }) => `- ${content}`)].join("\n");
}

/** Carries out one task: what is known about it, the answer, a note for the next time. */
async function work(gateway: Gateway, sessionId: string, task: Task): Promise<void> {
  console.log(`task ${task.executionId}: ${task.taskName}`);
  const { memories } = await gateway.memorySearch({
    ...{ sessionId, query: task.content, limit: 3 },
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
    // An earlier try at the same task has stored it.
    if (codeOf(error) !== Code.AlreadyExists) throw error;
  });
}

/** Gives up a task that cannot be done, so that somebody else may try. */
async function attempt(gateway: Gateway, sessionId: string, task: Task): Promise<void> {
  try {
    await work(gateway, sessionId, task);
  } catch (error) {
    if (codeOf(error) === Code.NotFound) return console.warn(`task ${task.executionId} was taken away: ${error}`);
    if (error instanceof ConnectError) throw error;
    console.error(`task ${task.executionId} failed:`, error);
    await gateway.failTask({ sessionId, executionId: task.executionId, error: String(error), retryable: true });
  }
}

/** One session: from the registration until the stream of tasks ends, with the error that ended it. */
async function serve(gateway: Gateway): Promise<void> {
  const { agentId, secret } = settings;
  const session = await gateway.registerAgent({ agentId, secret, version: "1.0" }).catch((error) => {
    if (!hopeless.includes(codeOf(error))) throw error;
    console.error(`not registered: ${error.message}`);
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
    // Notices within a minute that the other side is gone without a word.
    ...{ pingIntervalMs: 30_000, pingTimeoutMs: 20_000 },
    ...(roots && { nodeOptions: { ca: readFileSync(roots) } }),
  });
  const gateway = createClient(AgentGateway, transport);
  for (let wait = 1; ; ) {
    const began = performance.now();
    await serve(gateway).catch((error) => console.warn(ConnectError.from(error).message));
    // Twice as long after each failure, from the beginning after a session that lasted.
    wait = performance.now() - began > 60_000 ? 1 : Math.min(wait * 2, 30);
    await sleep(wait * 1000);
  }
}

await main();
