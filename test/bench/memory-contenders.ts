import { Agent, request } from "node:http";
import postgres, { type Sql } from "postgres";
import { type Row, vectorText } from "./memory-rows.ts";

export interface Filter {
  readonly agent_id?: string;
  readonly project_id?: number;
}
export interface Asked {
  readonly text: string;
  readonly filter: Filter;
}
export interface Hit {
  readonly key: string;
  readonly similarity: number;
}
export type Search = (asked: Asked) => Promise<Hit[]>;
export const limit = 10;

type Columns = { key: string; content: string; similarity: number };

const vectors = new Map<string, string>();
/** The vector of a text, which is computed once. */
export const vectorOf = (text: string): string => {
  const known = vectors.get(text) ?? vectorText(text);
  vectors.set(text, known);
  return known;
};

/** Session settings of a program that searches the same number of candidates for the ten nearest, and plans a statement once. */
const settings = {
  "hnsw.ef_search": 200,
  "hnsw.iterative_scan": "relaxed_order",
  enable_seqscan: "off",
  plan_cache_mode: "force_generic_plan",
};
/**
 * These force the vector index. The planner does not know the cost of reading vectors, which are stored out of line, so with a filter
 * that selects 10 % of 10,000 rows, it reads and sorts all of them, which takes four times as long.
 */
const indexed = { ...settings, enable_sort: "off", enable_bitmapscan: "off" };
/** A filter that selects fewer rows than this part of the table is faster without the vector index. */
const isWide = ({ project_id }: Filter): boolean => project_id === undefined;

/** A program without any other work: one prepared statement for each search and insert. */
export interface Raw {
  readonly search: Search;
  insert(row: Row): Promise<unknown>;
  close(): Promise<void>;
}

/** `vector`: the vector of a text in pgvector's format. Inserts go into the table `bench_memories`. */
export function openRaw(database: string, vector: (text: string) => string = vectorOf): Raw {
  const [byFilter, byIndex] = [settings, indexed].map((connection) =>
    postgres(database, { max: 8, onnotice: () => {}, connection }),
  ) as [Sql, Sql];
  return {
    search: (asked) => searchWith(isWide(asked.filter) ? byIndex : byFilter, asked, vector(asked.text)),
    insert: ({ key, content, agent_id, project_id }) => byFilter`
      insert into bench_memories (id, key, content, scope, agent_id, project_id, embedding)
      values (gen_random_uuid(), ${key}, ${content}, 'agent', ${agent_id}, ${project_id}, ${vector(content)}::vector)`,
    close: async () => void (await Promise.all([byFilter.end(), byIndex.end()])),
  };
}

async function searchWith(sql: Sql, { filter: { agent_id, project_id } }: Asked, vector: string): Promise<Hit[]> {
  const by = agent_id === undefined ? sql`true` : sql`agent_id = ${agent_id}`;
  const and = project_id === undefined ? sql`true` : sql`project_id = ${project_id}`;
  return await sql<Columns[]>`
    select key, content, 1 - (embedding <=> ${vector}::vector) as similarity from memories
    where ${by} and ${and} order by embedding <=> ${vector}::vector limit ${limit}`;
}

/** The exact ten nearest neighbours, found without the vector index. */
export const exactSearch =
  (sql: Sql): Search =>
  async (asked) =>
    (await sql.begin(async (tx) => {
      await tx`set local enable_indexscan = off`;
      return await searchWith(tx as unknown as Sql, asked, vectorOf(asked.text));
    })) as Hit[];

const agent = new Agent({ keepAlive: true, maxSockets: 64 });

/** Sends JSON over reused connections; throws if the response is not a success. */
export function post<T>(url: string, body: unknown): Promise<T> {
  const text = JSON.stringify(body);
  return new Promise((done, fail) => {
    const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(text) };
    const sent = request(url, { method: "POST", agent, headers }, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk) => chunks.push(chunk));
      response.on("end", () => {
        const answer = Buffer.concat(chunks).toString();
        if ((response.statusCode ?? 500) < 300) done(JSON.parse(answer));
        else fail(new Error(`${url} answered ${response.statusCode}: ${answer}`));
      });
    });
    sent.on("error", fail);
    sent.end(text);
  });
}

export const ourSearch =
  (url: string): Search =>
  ({ text, filter }) =>
    post(`${url}/api/memory/search`, { query: text, limit, ...filter });

/** Durations of calls in milliseconds, with the given concurrency, and the number of calls per second. */
export async function timed(calls: readonly (() => Promise<unknown>)[], clients: number) {
  const times: number[] = [];
  let next = 0;
  const began = performance.now();
  await Promise.all(
    Array.from({ length: clients }, async () => {
      for (let call = calls[next++]; call; call = calls[next++]) {
        const sent = performance.now();
        await call();
        times.push(performance.now() - sent);
      }
    }),
  );
  return { times, perSecond: calls.length / ((performance.now() - began) / 1000) };
}
