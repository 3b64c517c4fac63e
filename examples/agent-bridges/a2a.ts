import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import type { Task as A2ATask, Message, Part } from "@a2a-js/sdk";
import { ClientFactory, DefaultAgentCardResolver, JsonRpcTransportFactory, RestTransportFactory } from "@a2a-js/sdk/client";
import { serveTasks, type Task } from "./gateway.ts";

/** Passes the tasks of a Signalbox agent to an A2A agent, and returns its results. Runs until it is stopped. */
const settings = {
  url: process.env.SIGNALBOX_URL ?? "http://localhost:8000",
  agentId: process.env.AGENT_ID ?? "a2a_agent",
  secret: process.env.AGENT_SECRET ?? "",
  heartbeatSeconds: Number(process.env.HEARTBEAT_SECONDS ?? 10),
  /** Address of `/.well-known/agent-card.json`. */
  a2aUrl: process.env.A2A_URL ?? "http://localhost:4000",
  a2aToken: process.env.A2A_TOKEN ?? "",
  stateFile: process.env.STATE_FILE ?? "a2a-bridge.jsonl",
  pollSeconds: Number(process.env.POLL_SECONDS ?? 2),
};

/** Ids of the A2A agent's tasks by our executions. A line is written as soon as an id is known. */
const begun = new Map<string, string>();
if (existsSync(settings.stateFile))
  for (const line of readFileSync(settings.stateFile, "utf8").split("\n")) {
    // The last line may be incomplete if the process was killed while it was written.
    const [execution, task] = line.split(" ");
    if (execution && task?.endsWith(";")) begun.set(execution, task.slice(0, -1));
  }
const remember = (execution: string, task: string) => {
  begun.set(execution, task);
  appendFileSync(settings.stateFile, `\n${execution} ${task};`);
};

const withToken: typeof fetch = (input, init) => {
  const headers = new Headers(init?.headers);
  if (settings.a2aToken) headers.set("authorization", `Bearer ${settings.a2aToken}`);
  return fetch(input, { ...init, headers });
};

const isOver = ({ status }: A2ATask) => ["completed", "failed", "canceled", "rejected"].includes(status.state);
/** The agent asks for input of a person, which is impossible here. */
const asksBack = ({ status }: A2ATask) => ["input-required", "auth-required"].includes(status.state);
const textOf = (parts: readonly Part[] = []) => parts.flatMap((part) => (part.kind === "text" ? part.text : [])).join("\n\n");

async function work({ executionId, systemPrompt, content }: Task): Promise<string> {
  const client = await factory.createFromUrl(settings.a2aUrl);
  const known = begun.get(executionId);
  let found: A2ATask | Message;
  if (known) found = await client.getTask({ id: known });
  else {
    const text = systemPrompt ? `${systemPrompt}\n\n${content}` : content;
    // The same id for every attempt, so that an agent that knows it does not start again.
    const message: Message = { kind: "message", messageId: executionId, role: "user", parts: [{ kind: "text", text }] };
    found = await client.sendMessage({ message, configuration: { blocking: false, acceptedOutputModes: ["text/plain"] } });
    if (found.kind === "task") remember(executionId, found.id);
  }
  while (found.kind === "task" && !isOver(found) && !asksBack(found)) {
    await sleep(settings.pollSeconds * 1000);
    found = await client.getTask({ id: found.id });
  }
  return answerOf(found);
}

/** The artifacts of a task are its result; without any, the message of its last status. */
function answerOf(found: A2ATask | Message): string {
  if (found.kind === "message") return textOf(found.parts);
  const said = textOf(found.status.message?.parts);
  if (found.status.state === "completed") return (found.artifacts ?? []).map(({ parts }) => textOf(parts)).join("\n\n") || said;
  if (asksBack(found)) return `The agent has a question: ${said || "it needs input"}`;
  throw new Error(`the A2A task ${found.id} is ${found.status.state}${said ? `: ${said}` : ""}`);
}

const factory = new ClientFactory({
  transports: [new JsonRpcTransportFactory({ fetchImpl: withToken }), new RestTransportFactory({ fetchImpl: withToken })],
  cardResolver: new DefaultAgentCardResolver({ fetchImpl: withToken }),
});
await serveTasks(settings, work);
