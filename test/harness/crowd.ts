import { setTimeout as sleep } from "node:timers/promises";
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { AgentGateway } from "../../examples/agent-typescript/gen/gateway_pb.js";

/**
 * Many connected agents in one process, each with a separate connection: `crowd.ts URL DELAY AGENT…`. Each takes up to DELAY
 * milliseconds for a task. An error of any agent ends the process.
 */
const [url = "", delay = "0", ...agents] = process.argv.slice(2);

async function connect(agentId: string): Promise<void> {
  const gateway = createClient(AgentGateway, createGrpcTransport({ baseUrl: url }));
  const { sessionId } = await gateway.registerAgent({ agentId });
  // A lease of 20 s lasts three heartbeats.
  setInterval(() => gateway.heartbeat({ sessionId }), 6_000);
  for await (const { executionId, taskId } of gateway.receiveTasks({ sessionId })) {
    await sleep(Number(delay) * Math.random());
    await gateway.completeTask({ sessionId, executionId, result: `Done: ${taskId}` }).catch((error) => {
      if (ConnectError.from(error).code !== Code.NotFound) throw error;
    });
  }
}

await Promise.all(agents.map(connect)).catch((error) => {
  process.stdout.write(`${error.stack}\n`);
  process.exit(1);
});
