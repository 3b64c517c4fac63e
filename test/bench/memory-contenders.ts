import { Agent, request } from "node:http";
import type { Sql } from "postgres";
import { vectorText } from "./memory-rows.ts";

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
export const vectorOf = (text: string): string => {
  const known = vectors.get(text) ?? vectorText(text);
  vectors.set(text, known);
  return known;
};

/** One statement on prepared connections, as a program without any other work would send it. */
export function rawSearch(sql: Sql): Search {
  return async ({ text, filter }) => {
    const vector = vectorOf(text);
    const { agent_id = null, project_id = null } = filter;
    const by = agent_id === null ? sql`true` : sql`agent_id = ${agent_id}`;
    const and = project_id === null ? sql`true` : sql`project_id = ${project_id}`;
    const rows = await sql<Columns[]>`
      select key, content, 1 - (embedding <=> ${vector}::vector) as similarity from memories
      where ${by} and ${and} order by embedding <=> ${vector}::vector limit ${limit}`;
    return rows;
  };
}

/** The exact ten nearest neighbours, found without the vector index. */
export const exactSearch =
  (sql: Sql): Search =>
  async (asked) =>
    (await sql.begin(async (tx) => {
      await tx`set local enable_indexscan = off`;
      return await rawSearch(tx as unknown as Sql)(asked);
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
