import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import type { MemoryMatch } from "@signalbox/sdk";
import type { TestService } from "@signalbox/sdk/testing";
import type { Document } from "../src/store.ts";

interface Stored extends Document {
  readonly until: number;
}

/** The part of the store's API that the plugin uses. */
export async function startStore(): Promise<TestService> {
  const kept = new Map<string, Stored>();
  const live = () => [...kept.values()].filter(({ until }) => until > Date.now());
  const answer = (method: string, id: string, body: Partial<Document> & Asked): [number, unknown?] => {
    if (method === "POST" && id === "find") return [200, live().filter((one) => fits(one, body))];
    if (method === "POST") {
      const { ttl_ms, ...one } = body as Document & Asked;
      if (live().some(({ memory }) => memory.key === one.memory.key)) return [409, { message: "the key is taken" }];
      kept.set(one.memory.id, { ...one, until: ttl_ms == null ? Number.POSITIVE_INFINITY : Date.now() + ttl_ms });
      return [201, {}];
    }
    const found = live().find(({ memory }) => memory.id === id);
    if (!found) return [404, { message: "no such document" }];
    if (method === "DELETE") kept.delete(id);
    else kept.set(id, { ...found, ...body });
    return [200, {}];
  };
  const server = createServer(async (request, response) => {
    const id = (request.url ?? "").split("/")[2] ?? "";
    const [status, body] =
      request.headers.authorization === "Bearer test-token" ? answer(request.method ?? "", id, await json(request)) : [401, {}];
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  return {
    config: { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` },
    close: () => {
      server.closeAllConnections();
      return new Promise((done) => void server.close(() => done()));
    },
  };
}

interface Asked {
  readonly key?: string;
  readonly filter?: readonly MemoryMatch[];
  readonly ttl_ms?: number | null;
}

const fits = ({ memory }: Document, { key, filter }: Asked): boolean =>
  key !== undefined
    ? memory.key === key
    : (filter ?? []).some((match) =>
        Object.entries(match).every(([name, value]) => memory[name as keyof typeof memory] === value),
      );

async function json(request: IncomingMessage): Promise<Partial<Document> & Asked> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return chunks.length > 0 ? JSON.parse(Buffer.concat(chunks).toString("utf8")) : {};
}
