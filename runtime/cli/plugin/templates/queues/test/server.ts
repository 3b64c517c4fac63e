import type { CloudEvent } from "@signalbox/sdk";
import { type FakeResponse, FakeServer, type RecordedRequest, type TestService } from "@signalbox/sdk/testing";

interface Message {
  readonly message: CloudEvent;
  /** End of the lease, in milliseconds since the epoch; 0 if the message is not leased. */
  lease: number;
  done: boolean;
}

/** The part of the queue service's API that the plugin uses. */
class QueueServer extends FakeServer {
  readonly #kept = new Map<string, Message>();

  protected route({ method, path, query, headers, body }: RecordedRequest): FakeResponse {
    if (headers.authorization !== "Bearer test-token") return { status: 401, body: { message: "bad token" } };
    if (method === "DELETE") return this.#expire(query.get("before") ?? "");
    if (method === "GET") return this.#page(Number(query.get("limit")), Number(query.get("offset")));
    if (path === "/messages/take") return this.#take(body as { limit: number; lease_seconds: number });
    if (path !== "/messages") return this.#ack(path.split("/")[2] ?? "");
    for (const message of body as CloudEvent[])
      if (!this.#kept.has(message.id)) this.#kept.set(message.id, { message, lease: 0, done: false });
    return { status: 201, body: {}, wrote: true };
  }

  #pending(): Message[] {
    const free = [...this.#kept.values()].filter(({ lease, done }) => !done && lease <= Date.now());
    return free.sort((a, b) => Date.parse(a.message.time) - Date.parse(b.message.time));
  }
  #page(limit: number, offset: number): FakeResponse {
    const all = this.#pending().map(({ message }) => message);
    return { status: 200, body: { items: all.slice(offset, offset + limit), total: all.length } };
  }
  #take({ limit, lease_seconds }: { limit: number; lease_seconds: number }): FakeResponse {
    const taken = this.#pending().slice(0, limit);
    for (const one of taken) one.lease = Date.now() + lease_seconds * 1000;
    return { status: 200, body: taken.map(({ message }) => message), wrote: true };
  }
  #ack(id: string): FakeResponse {
    const one = this.#kept.get(id);
    if (!one || one.lease === 0) return { status: 404, body: { message: "not taken" } };
    one.done = true;
    return { status: 200, body: {}, wrote: true };
  }
  #expire(before: string): FakeResponse {
    for (const [id, { message }] of this.#kept) if (Date.parse(message.time) < Date.parse(before)) this.#kept.delete(id);
    return { status: 200, body: {}, wrote: true };
  }
}

export async function startQueue(): Promise<TestService> {
  const server = await new QueueServer().listen();
  return { config: { url: server.url }, close: () => server.close() };
}
