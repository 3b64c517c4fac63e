import postgres, { type Sql } from "postgres";
import { freshDatabase } from "../harness/databases.ts";
import { type Service, startService } from "../harness/service.ts";
import { program } from "./contender.ts";
import { at } from "./load.ts";
import {
  type Asked,
  exactSearch,
  type Filter,
  limit,
  openRaw,
  ourSearch,
  post,
  type Raw,
  type Search,
  timed,
  vectorOf,
} from "./memory-contenders.ts";
import { residents } from "./memory-residents.ts";
import { agents, fill, projects, type Row, randomOf, rowOf, subjects, textAbout } from "./memory-rows.ts";
import { type Cell, median, report } from "./report.ts";

const sizes = [10_000, 100_000];
const rounds = 3;
const levels = [
  { clients: 1, requests: 60 },
  { clients: 8, requests: 160 },
];
/** Calls before the measurement, because cold code takes twice the time. */
const warmSearches = 400;
const warmInserts = 200;
const recallQueries = 100;
const random = randomOf(7);
const pick = (many: number) => Math.floor(random() * many);
const filters: readonly (readonly [string, () => Filter])[] = [
  ["none", () => ({})],
  ["10 %", () => ({ agent_id: `agent_${pick(agents)}` })],
  ["1 %", () => ({ project_id: 1 + pick(projects) })],
  ["0.1 %", () => ({ agent_id: `agent_${pick(agents)}`, project_id: 1 + pick(projects) })],
];
const question = (filter: Filter): Asked => ({ text: textAbout(pick(subjects), 8 + pick(12), random), filter });

/**
 * Search and insert over HTTP against the same statements sent by postgres.js to the same rows, and against a minimal server that
 * sends them, in one run. `--quick`: only with 10,000 rows, without the resident memory.
 */
export async function run(args: readonly string[], quick = args.includes("--quick")): Promise<void> {
  await using database = await freshDatabase();
  if (!database) throw new Error("The benchmark needs TEST_DATABASE_URL.");
  const env = { EMBEDDING_PROVIDER: "local", SIGNALBOX_ROLE: "api" };
  await using service = await startService({ databaseUrl: database.url, env });
  const raw = openRaw(database.url);
  const minimal = await program("minimal server", "memory-minimal.ts", database.url);
  const sql = postgres(database.url, { max: 8, onnotice: () => {} });
  const sides: Sides = { raw, minimal: `http://127.0.0.1:${minimal.port}`, service };
  const rows: Cell[][] = [];
  const findings: string[] = [];
  try {
    await referred(sql);
    for (const [i, size] of (quick ? sizes.slice(0, 1) : sizes).entries()) {
      say(`filling up to ${size} rows and building the index`);
      await fill(sql, sizes[i - 1] ?? 0, size);
      for (const [name, filter] of filters) {
        say(`${size} rows, filter ${name}`);
        rows.push([`${size}, filter ${name}`, ...(await searches(sql, sides, filter))]);
      }
      if (i > 0) continue;
      say(quick ? "inserts" : "inserts and resident memory");
      findings.push(...(await inserts(sql, sides)));
      if (quick) continue;
      findings.push(
        ...(await residents(
          service,
          () => question(filters[3]?.[1]() ?? {}),
          () => rowOf(made++, random),
        )),
      );
    }
  } finally {
    await Promise.all([sql.end(), raw.close(), minimal.close()]);
  }
  const recall = Math.min(...rows.map((row) => row.at(-1) as number));
  findings.push(`lowest recall@${limit}: ${recall.toFixed(3)} (aim: ≥ 0.97); aim of p50: ≤ 1.5 × the raw query`);
  const columns = levels.flatMap(({ clients }) => [
    `raw p50 ms, ${clients} client${clients > 1 ? "s" : ""}`,
    "minimal server p50 ms",
    "HTTP p50 ms",
    "p50 ×",
    "p99 ×",
    "throughput ×",
    "p50 ÷ minimal",
  ]);
  report({
    name: "memory",
    about: `POST /api/memory/search over HTTP ÷ the raw query by postgres.js, 1536 dimensions, HNSW; medians of ${rounds} interleaved rounds`,
    columns: ["rows", ...columns, "raw recall", "recall@10 of the minimal server", "recall@10"],
    rows: rows as [string, ...number[]][],
    findings,
  });
}

/** The programs that are compared. */
interface Sides {
  readonly raw: Raw;
  /** Address of a minimal server. */
  readonly minimal: string;
  readonly service: Service;
}

/** Prints progress, because some parts take minutes. */
const say = (what: string) => void process.stderr.write(`memory: ${what}\n`);
let made = 1_000_000;

/** Creates the agents and projects to which the memories belong. */
async function referred(sql: Sql): Promise<void> {
  for (let n = 0; n < agents; n++)
    await sql`insert into agents (id, name, role_id, prompt) values (${`agent_${n}`}, 'A', 'dev', 'p')`;
  for (let n = 1; n <= projects; n++)
    await sql`insert into projects (name, source, source_project_id) values (${`p${n}`}, 'alpha', ${`bench/p${n}`})`;
}

async function searches(sql: Sql, { raw, minimal, service }: Sides, filter: () => Filter): Promise<number[]> {
  const contenders: readonly Search[] = [raw.search, ourSearch(minimal), ourSearch(service.url)];
  const warm = Array.from({ length: warmSearches }, () => question(filter()));
  for (const search of contenders)
    await timed(
      warm.map((asked) => () => search(asked)),
      8,
    );
  const cells: number[] = [];
  for (const { clients, requests } of levels) {
    const all = contenders.map(() => ({ p50: [] as number[], p99: [] as number[], rate: [] as number[] }));
    for (let round = 0; round < rounds; round++) {
      const asked = Array.from({ length: requests }, () => question(filter()));
      // The time for computing vectors does not count for the raw side, which has them already.
      for (const one of asked) vectorOf(one.text);
      for (const [i, search] of contenders.entries()) {
        const { times, perSecond } = await timed(
          asked.map((one) => () => search(one)),
          clients,
        );
        const sorted = times.sort((a, b) => a - b);
        all[i]?.p50.push(at(sorted, 0.5));
        all[i]?.p99.push(at(sorted, 0.99));
        all[i]?.rate.push(perSecond);
      }
    }
    const [least, small, ours] = all.map(({ p50, p99, rate }) => [median(p50), median(p99), median(rate)] as const);
    if (!least || !small || !ours) continue;
    const ratios = [ours[0] / least[0], ours[1] / least[1], ours[2] / least[2], ours[0] / small[0]];
    cells.push(least[0], small[0], ours[0], ...ratios);
  }
  return [...cells, ...(await recalls(sql, contenders, filter))];
}

/** How many of the exact ten nearest neighbours each side finds; another one at the same distance counts too. */
async function recalls(sql: Sql, contenders: readonly Search[], filter: () => Filter): Promise<number[]> {
  const exact = exactSearch(sql);
  const found = contenders.map(() => 0);
  let wanted = 0;
  for (let n = 0; n < recallQueries; n++) {
    const asked = question(filter());
    const best = await exact(asked);
    const least = (best.at(-1)?.similarity ?? 0) - 1e-6;
    wanted += best.length;
    for (const [i, search] of contenders.entries()) {
      const hits = await search(asked);
      found[i] = (found[i] ?? 0) + Math.min(best.length, hits.filter(({ similarity }) => similarity >= least).length);
    }
  }
  return found.map((count) => count / wanted);
}

/** Inserts per second, over HTTP and raw, into tables with the same rows and indexes. */
async function inserts(sql: Sql, { raw, minimal, service }: Sides): Promise<string[]> {
  await copyTable(sql);
  const insertOver = (url: string) => (row: Row) => post(`${url}/api/memory`, { ...row, scope: "agent" });
  const contenders = [raw.insert, insertOver(minimal), insertOver(service.url)];
  const rateOf = async (insert: (row: Row) => Promise<unknown>, requests: number, clients: number) => {
    const rows = Array.from({ length: requests }, () => rowOf(made++, random));
    for (const row of rows) vectorOf(row.content);
    const { perSecond } = await timed(
      rows.map((row) => () => insert(row)),
      clients,
    );
    return perSecond;
  };
  for (const insert of contenders) await rateOf(insert, warmInserts, 8);
  const lines: string[] = [];
  for (const { clients, requests } of levels) {
    const rates = contenders.map((): number[] => []);
    for (let round = 0; round < rounds; round++)
      for (const [i, insert] of contenders.entries()) rates[i]?.push(await rateOf(insert, requests, clients));
    const [least, small, ours] = rates.map(median) as [number, number, number];
    const both = `${(ours / least).toFixed(2)} × raw (aim: ≥ 0.9), ${(ours / small).toFixed(2)} × the minimal server`;
    lines.push(`insert, ${clients} client(s): ${Math.round(ours)}/s over HTTP, ${Math.round(least)}/s raw; ${both}`);
  }
  await sql`drop table bench_memories`;
  return lines;
}

/** Creates `bench_memories`, with the rows and indexes of the memories. */
async function copyTable(sql: Sql): Promise<void> {
  await sql`create table bench_memories (like memories including all excluding indexes)`;
  await sql`insert into bench_memories (id, key, content, scope, agent_id, project_id, embedding)
    select id, key, content, scope, agent_id, project_id, embedding from memories`;
  const indexes = await sql<
    { as: string }[]
  >`select pg_get_indexdef(indexrelid) as as from pg_index where indrelid = 'memories'::regclass`;
  for (const { as } of indexes) await sql.unsafe(as.replace(/INDEX \w+ ON \S+/, "INDEX ON bench_memories"));
  await sql`vacuum analyze bench_memories`;
}
