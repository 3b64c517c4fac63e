import { type Client, ConnectError, createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { AgentGateway, type ReceiveTasksResponse } from "../../examples/agent-typescript/gen/gateway_pb.js";

export type GrpcGateway = Client<typeof AgentGateway>;

/** The gateway on its gRPC port, with the client that is generated from its proto. */
export const grpcGateway = (port: number): GrpcGateway =>
  createClient(AgentGateway, createGrpcTransport({ baseUrl: `http://127.0.0.1:${port}` }));

/** The error of a failed call; throws if the call succeeds. */
export async function failureOf(call: Promise<unknown>): Promise<ConnectError> {
  const answer = await call.catch((error: unknown) => ConnectError.from(error));
  if (answer instanceof ConnectError) return answer;
  throw new Error(`answered ${JSON.stringify(answer)}`);
}

/** A connected agent that completes no tasks by itself. */
export interface Connected {
  readonly gateway: GrpcGateway;
  readonly sessionId: string;
  readonly received: ReceiveTasksResponse[];
  /** The error with which its stream ended; `null` if the server ended it without one. */
  readonly ended: Promise<ConnectError | null>;
  close(): void;
}

export async function connectAgent(
  gateway: GrpcGateway,
  agentId: string,
  options: { secret?: string; maxInFlight?: number; heartbeatMs?: number } = {},
): Promise<Connected> {
  const { secret = "", maxInFlight = 1, heartbeatMs } = options;
  const { sessionId } = await gateway.registerAgent({ agentId, secret });
  const received: ReceiveTasksResponse[] = [];
  const leaving = new AbortController();
  const beats = heartbeatMs ? setInterval(() => gateway.heartbeat({ sessionId }).catch(() => {}), heartbeatMs) : undefined;
  const ended = (async () => {
    try {
      for await (const task of gateway.receiveTasks({ sessionId, maxInFlight }, { signal: leaving.signal })) received.push(task);
      return null;
    } catch (error) {
      return ConnectError.from(error);
    } finally {
      clearInterval(beats);
    }
  })();
  return { gateway, sessionId, received, ended, close: () => leaving.abort() };
}
