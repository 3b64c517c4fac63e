import type { MemoryMatch } from "@signalbox/sdk";
import { type FakeResponse, FakeServer, type RecordedRequest, type TestService } from "@signalbox/sdk/testing";
import type { Document } from "../src/store.ts";

interface Stored extends Document {
  readonly until: number;
}
interface Asked {
  readonly key?: string;
  readonly filter?: readonly MemoryMatch[];
  readonly ttl_ms?: number | null;
}

/** The part of the store's API that the plugin uses. */
class StoreServer extends FakeServer {
  readonly #kept = new Map<string, Stored>();

  protected override readsOnly({ path }: RecordedRequest): boolean {
    return path.endsWith("/find");
  }
  protected route({ method, path, headers, body }: RecordedRequest): FakeResponse {
    if (headers.authorization !== "Bearer test-token") return { status: 401, body: {} };
    const id = path.split("/")[2] ?? "";
    const given = (body ?? {}) as Document & Asked;
    const live = [...this.#kept.values()].filter(({ until }) => until > Date.now());
    if (method === "POST" && id === "find") return { status: 200, body: live.filter((one) => fits(one, given)) };
    if (method === "POST") {
      const { ttl_ms, ...one } = given;
      if (live.some(({ memory }) => memory.key === one.memory.key)) return { status: 409, body: { message: "the key is taken" } };
      this.#kept.set(one.memory.id, { ...one, until: ttl_ms == null ? Number.POSITIVE_INFINITY : Date.now() + ttl_ms });
      return { status: 201, body: {}, wrote: true };
    }
    const found = live.find(({ memory }) => memory.id === id);
    if (!found) return { status: 404, body: { message: "no such document" } };
    if (method === "DELETE") this.#kept.delete(id);
    else this.#kept.set(id, { ...found, ...given });
    return { status: 200, body: {}, wrote: true };
  }
}

const fits = ({ memory }: Document, { key, filter }: Asked): boolean =>
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
