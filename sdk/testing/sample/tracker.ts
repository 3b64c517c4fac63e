import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { TestTracker, TrackerFault } from "../fixtures.ts";

/** The smallest tracker that the suites can be run against: one issue, `GET` and `POST /comments`, `GET /me`. */
export async function startSampleTracker(): Promise<TestTracker> {
  const bodies: string[] = [];
  let fault: TrackerFault | null = null;
  let left = 0;
  const server = createServer(async (request, response) => {
    let text = "";
    for await (const part of request) text += part;
    // A busy machine may cut a request off at its deadline before the body has left.
    if (!request.complete || (request.method === "POST" && text === "")) return void request.socket.destroy();
    const write = request.method === "POST";
    const applies = fault && left > 0 && (write || !fault.writes) ? fault : null;
    if (applies) left -= 1;
    if (write && (!applies || applies.after || applies.kind === "truncate")) bodies.push(JSON.parse(text).body);
    const answer = JSON.stringify(write ? { id: bodies.length } : { login: "bot", comments: bodies });
    if (applies?.kind === "hang") return;
    if (applies?.kind === "drop") return void request.socket.destroy();
    if (applies?.kind === "truncate") {
      response.writeHead(200, { "content-length": answer.length });
      return void response.write(answer.slice(0, 5), () => request.socket.destroy());
    }
    if (applies) return void response.writeHead(applies.status ?? 500, { ...applies.headers }).end(applies.body);
    response.writeHead(200).end(answer);
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    comments: () => bodies,
    writes: () => bodies.length,
    fault: (next) => {
      fault = next;
      left = next.times ?? Number.POSITIVE_INFINITY;
    },
    heal: () => {
      fault = null;
    },
    close: () => {
      server.closeAllConnections();
      return new Promise((done) => void server.close(() => done()));
    },
  };
}
