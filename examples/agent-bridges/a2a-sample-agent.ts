import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import type { AgentCard } from "@a2a-js/sdk";
import { type AgentExecutor, DefaultRequestHandler, InMemoryTaskStore, JsonRpcTransportHandler } from "@a2a-js/sdk/server";

/** A minimal A2A agent to try the bridge with: it works for a moment and reports how much text it received. */
const port = Number(process.env.PORT ?? 4000);
const url = `http://127.0.0.1:${port}`;

const executor: AgentExecutor = {
  execute: async ({ userMessage, taskId, contextId }, bus) => {
    const [part] = userMessage.parts;
    const text = part?.kind === "text" ? part.text : "";
    console.log(`begins ${userMessage.messageId}`);
    bus.publish({ kind: "task", id: taskId, contextId, status: { state: "working" }, history: [userMessage] });
    await new Promise((done) => setTimeout(done, Number(process.env.WORK_MS ?? 500)));
    const answer = [{ kind: "text", text: `The sample agent was given ${text.length} characters.` } as const];
    bus.publish({ kind: "artifact-update", taskId, contextId, artifact: { artifactId: randomUUID(), parts: answer } });
    bus.publish({ kind: "status-update", taskId, contextId, status: { state: "completed" }, final: true });
    bus.finished();
  },
  cancelTask: async () => {},
};
const card: AgentCard = {
  name: "Sample agent",
  description: "Counts characters.",
  protocolVersion: "0.3.0",
  version: "0.1.0",
  url,
  skills: [],
  capabilities: {},
  defaultInputModes: ["text"],
  defaultOutputModes: ["text"],
  preferredTransport: "JSONRPC",
};
const handler = new JsonRpcTransportHandler(new DefaultRequestHandler(card, new InMemoryTaskStore(), executor));

createServer(async (request, response) => {
  let body = "";
  for await (const part of request) body += part;
  const answer = request.method === "GET" ? card : await handler.handle(JSON.parse(body));
  response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(answer));
}).listen(port, "127.0.0.1", () => console.log(`serves A2A on ${url}`));
