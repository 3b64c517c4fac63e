import http2 from "node:http2";
import type { AddressInfo } from "node:net";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { AgentGateway } from "../../examples/agent-typescript/gen/gateway_pb.js";

/** A minimal server for MemoryRetrieve: connect-node with a generated service and a prepared response. Prints its port. */
const at = "2026-01-01T00:00:00.000Z";
const answer = { id: crypto.randomUUID(), key: "k", content: "x".repeat(200), scope: 4, createdAt: at, updatedAt: at };
const handler = connectNodeAdapter({
  routes: (router) => void router.service(AgentGateway, { memoryRetrieve: ({ key }) => ({ ...answer, key }) }),
});
const server = http2.createServer(handler);
server.listen(0, "127.0.0.1", () => process.stdout.write(`${(server.address() as AddressInfo).port}\n`));
