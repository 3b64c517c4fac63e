import type { MemoryMatch } from "@signalbox/sdk";
import { type FakeResponse, FakeServer, type RecordedRequest, type TestService } from "@signalbox/sdk/testing";
import type { Document } from "../src/store.ts";

interface StoredDocument extends Document {
  readonly expiresAt: number;
}
interface RequestBody {
  readonly key?: string;
  readonly filter?: readonly MemoryMatch[];
  readonly ttl_ms?: number | null;
}

/** The part of the store's API that the plugin uses. */
class StoreServer extends FakeServer {
  readonly #documents = new Map<string, StoredDocument>();

  protected override readsOnly({ path }: RecordedRequest): boolean {
    return path.endsWith("/find");
  }
  protected route({ method, path, headers, body }: RecordedRequest): FakeResponse {
    if (headers.authorization !== "Bearer test-token") return { status: 401, body: {} };
    const id = path.split("/")[2] ?? "";
    const sentBody = (body ?? {}) as Document & RequestBody;
    const liveDocuments = [...this.#documents.values()].filter(({ expiresAt }) => expiresAt > Date.now());
    if (method === "POST" && id === "find") return { status: 200, body: liveDocuments.filter((one) => fits(one, sentBody)) };
    if (method === "POST") {
      const { ttl_ms, ...one } = sentBody;
      if (liveDocuments.some(({ memory }) => memory.key === one.memory.key))
        return { status: 409, body: { message: "the key is taken" } };
      this.#documents.set(one.memory.id, { ...one, expiresAt: ttl_ms == null ? Number.POSITIVE_INFINITY : Date.now() + ttl_ms });
      return { status: 201, body: {}, wrote: true };
    }
    const found = liveDocuments.find(({ memory }) => memory.id === id);
    if (!found) return { status: 404, body: { message: "no such document" } };
    if (method === "DELETE") this.#documents.delete(id);
    else this.#documents.set(id, { ...found, ...sentBody });
    return { status: 200, body: {}, wrote: true };
  }
}

const fits = ({ memory }: Document, { key, filter }: RequestBody): boolean =>
  key !== undefined
    ? memory.key === key
    : (filter ?? []).some((match) =>
        Object.entries(match).every(([name, value]) => memory[name as keyof typeof memory] === value),
      );

/** A store on a port of this machine, because the plugin under test runs in a process of its own. */
export async function startStore(): Promise<TestService> {
  const server = await new StoreServer().listen();
  return { config: { url: server.url }, close: () => server.close() };
}
