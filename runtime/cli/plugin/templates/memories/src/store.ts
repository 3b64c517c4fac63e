import { httpClient, type MemoryMatch, type PluginError } from "@signalbox/sdk";
import { z } from "zod";

/** A memory as the store contains it. The store deletes expired documents itself. */
export const document = z.object({
  memory: z.object({
    id: z.string(),
    key: z.string(),
    content: z.string(),
    scope: z.enum(["task", "agent", "project", "organizational"]),
    agent_id: z.string().nullable(),
    project_id: z.number().nullable(),
    task_id: z.string().nullable(),
    created_at: z.string(),
    updated_at: z.string(),
  }),
  embedding: z.array(z.number()).nullable(),
  /** Model that computed the vector. */
  model: z.string().nullable(),
});
export type Document = z.output<typeof document>;

/** The requests to the store's API. Replace them with requests to yours. */
export interface Store {
  /** `false` if a document that has not expired has the key. */
  create(one: Document, ttlMs: number | null): Promise<boolean>;
  byKey(key: string): Promise<Document | null>;
  /** Documents whose memory matches at least one of the filters. */
  find(filter: readonly MemoryMatch[]): Promise<Document[]>;
  /** Replaces the vector; does nothing if the document no longer exists. */
  embed(id: string, embedding: readonly number[] | null, model: string | null): Promise<void>;
  /** `false` if it does not exist. */
  remove(id: string): Promise<boolean>;
}

/** Timeout of a request to the store, in milliseconds. It is short, because a webhook or an agent waits for the response. */
const timeoutMs = 1_500;

export function store(config: { url: string; token?: string | undefined }, fetch: typeof globalThis.fetch): Store {
  const { url, token } = config;
  const client = httpClient({
    platform: "the store",
    base: url.replace(/\/+$/, ""),
    headers: token ? { authorization: `Bearer ${token}` } : {},
    fetch,
    secrets: token ? [token] : [],
  });
  const signal = () => AbortSignal.timeout(timeoutMs);
  const unless = (code: string) => (error: unknown) => {
    if ((error as PluginError).code === code) return false as const;
    throw error;
  };
  return {
    create: async (one, ttl_ms) =>
      (await client
        .write({ route: "POST /documents", body: { ...one, ttl_ms }, schema: z.unknown(), signal: signal() })
        .catch(unless("conflict"))) !== false,
    byKey: async (key) =>
      (await client.write({ route: "POST /documents/find", body: { key }, schema: z.array(document), signal: signal() }))
        .data[0] ?? null,
    find: async (filter) =>
      (await client.write({ route: "POST /documents/find", body: { filter }, schema: z.array(document), signal: signal() })).data,
    embed: async (id, embedding, model) => {
      const body = { embedding, model };
      await client
        .write({ route: "PATCH /documents/{id}", path: { id }, body, schema: z.unknown(), signal: signal() })
        .catch(unless("not_found"));
    },
    remove: async (id) =>
      (await client
        .write({ route: "DELETE /documents/{id}", path: { id }, schema: z.unknown(), signal: signal() })
        .catch(unless("not_found"))) !== false,
  };
}
