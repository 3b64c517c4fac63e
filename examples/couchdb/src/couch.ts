import { type HttpClient, httpClient, ifCode, type MemoryMatch, type StoredMemory } from "@signalbox/sdk";
import { z } from "zod";

const memory = z.object({
  id: z.string(),
  key: z.string(),
  content: z.string(),
  scope: z.enum(["task", "agent", "project", "organizational"]),
  agent_id: z.string().nullable(),
  project_id: z.number().nullable(),
  task_id: z.string().nullable(),
  created_at: z.string(),
  updated_at: z.string(),
});
const row = z.object({
  _id: z.string(),
  _rev: z.string(),
  memory,
  embedding: z.array(z.number()).nullable(),
  /** Model that computed the vector. */
  model: z.string().nullable(),
  /** Milliseconds since 1970; `null`: never. */
  expires: z.number().nullable(),
});
type Row = z.output<typeof row>;
const found = z.object({ docs: z.array(row), bookmark: z.string().optional() });

export interface Document {
  readonly memory: StoredMemory;
  readonly embedding: readonly number[] | null;
  readonly model: string | null;
}

/** The part of CouchDB's API that is used. The id of a document is the key of its memory, so keys are unique. */
export interface Couch {
  /** Returns `false` if a live document has the key. */
  create(one: Document, ttlMs: number | null): Promise<boolean>;
  byKey(key: string): Promise<Document | null>;
  /** Documents that match one of the alternatives. */
  find(filter: readonly MemoryMatch[]): Promise<Document[]>;
  /** Changes the vector; ignores a deleted document. */
  embed(id: string, embedding: readonly number[] | null, model: string | null): Promise<void>;
  /** Returns `false` if it does not exist. */
  remove(key: string): Promise<boolean>;
  /** Removes expired documents and returns how many. */
  sweep(): Promise<number>;
}

/** Request timeout. Milliseconds. */
const timeoutMs = 1_800;
/** Documents per request of a search. */
const portion = 500;
/** Ids that begin with `_` are reserved by CouchDB. */
const idOf = (key: string): string => `m:${key}`;
const isLive = ({ expires }: Pick<Row, "expires">): boolean => expires === null || expires > Date.now();

export function couch(
  config: { url: string; user?: string | undefined; password?: string | undefined },
  fetch: typeof globalThis.fetch,
): Couch {
  const db = database(config, fetch);
  const search = async (selector: object): Promise<Row[]> => {
    const rows: Row[] = [];
    for (let bookmark: string | undefined; ; ) {
      const { docs, bookmark: next } = await db.find({ selector, limit: portion, ...(bookmark && { bookmark }) });
      rows.push(...docs);
      if (docs.length < portion || !next) return rows;
      bookmark = next;
    }
  };
  const live = async (key: string) => {
    const one = await db.get(idOf(key));
    return one && isLive(one) ? one : null;
  };
  return {
    create: async (one, ttl_ms) => {
      const fresh = { ...one, expires: ttl_ms === null ? null : Date.now() + ttl_ms };
      if (await db.put(idOf(one.memory.key), fresh)) return true;
      const there = await db.get(idOf(one.memory.key));
      // An expired document is overwritten; its revision detects a concurrent write.
      return there !== null && !isLive(there) && db.put(idOf(one.memory.key), { ...fresh, _rev: there._rev });
    },
    byKey: live,
    find: async (filter) => {
      if (filter.length === 0) return [];
      const alternatives = filter.map((match) =>
        Object.fromEntries(Object.entries(match).map(([name, value]) => [`memory.${name}`, { $eq: value }])),
      );
      return (await search(alternatives.some((one) => Object.keys(one).length === 0) ? {} : { $or: alternatives })).filter(
        isLive,
      );
    },
    embed: async (id, embedding, model) => {
      const [one] = await search({ "memory.id": { $eq: id } });
      if (one && isLive(one)) await db.put(one._id, { ...one, embedding: embedding && [...embedding], model });
    },
    remove: async (key) => {
      const one = await live(key);
      return one !== null && db.remove(one);
    },
    sweep: async () => {
      const expired = await search({ expires: { $lte: Date.now() } });
      const removed = await Promise.all(expired.map((one) => db.remove(one)));
      return removed.filter(Boolean).length;
    },
  };
}

function database(
  config: { url: string; user?: string | undefined; password?: string | undefined },
  fetch: typeof globalThis.fetch,
) {
  const { url, user, password } = config;
  const client: HttpClient = httpClient({
    platform: "CouchDB",
    base: url.replace(/\/+$/, ""),
    headers: user ? { authorization: `Basic ${btoa(`${user}:${password ?? ""}`)}` } : {},
    fetch,
    secrets: password ? [password, btoa(`${user}:${password}`)] : [],
  });
  const signal = () => AbortSignal.timeout(timeoutMs);
  return {
    get: (id: string): Promise<Row | null> =>
      client
        .read({ route: "GET /{id}", path: { id }, schema: row, signal: signal() })
        .then(({ data }) => data)
        .catch(ifCode("not_found", null)),
    /** Returns `false` on a concurrent write. */
    put: (id: string, document: object): Promise<boolean> =>
      client
        .write({ route: "PUT /{id}", path: { id }, body: document, schema: z.unknown(), signal: signal() })
        .then(() => true)
        .catch(ifCode("conflict", false)),
    remove: ({ _id, _rev }: Row): Promise<boolean> =>
      client
        .write({ route: "DELETE /{id}", path: { id: _id }, query: { rev: _rev }, schema: z.unknown(), signal: signal() })
        .then(() => true)
        .catch(ifCode("not_found", false))
        .catch(ifCode("conflict", false)),
    /** Endpoints that only read, but with POST. */
    find: async (query: object) =>
      (await client.read({ route: "POST /_find", body: query, schema: found, signal: signal() })).data,
  };
}
