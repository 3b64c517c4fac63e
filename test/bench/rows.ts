import postgres from "postgres";
import { startModel } from "../../examples/demo/model.ts";
import { startTracker } from "../../examples/demo/tracker.ts";
import { issueOpened } from "../harness/alpha-payloads.ts";
import { freshDatabase } from "../harness/databases.ts";
import { startService } from "../harness/service.ts";
import { waitForExecutions } from "../harness/wait.ts";
import { report } from "./report.ts";

const secret = ["bench", "secret"].join("-");
/** Maximum disk space of an issue, in KiB. */
const aimKib = 15;
const words = (
  "the a to of and in is that it for on with as was at by this from when not are be or an after which have if but can will my your we they " +
  "order total wrong reload discount code cart page user sees error log trace service call fails checkout price tax customer refund payment " +
  "browser version release deploy test step expected actual result screen button click field value list row table server client request " +
  "response timeout retry queue worker cache session token login account email address country currency invoice shipment stock item product " +
  "search filter sort export import report chart month week day hour minute second first last next previous again always never sometimes " +
  "because before while until since during against between through without within around change update remove create open close start stop"
).split(" ");

/** Text with varied words, as people write it, because repeated text would be compressed. */
function prose(length: number, seed: number): string {
  let state = (seed * 7919 + 13) % 2_147_483_647;
  const next = () => {
    state = (state * 48_271) % 2_147_483_647;
    return state / 2_147_483_647;
  };
  let text = "";
  while (text.length < length) {
    const end = next();
    text += `${words[Math.floor(next() * words.length)]}${end < 0.08 ? ".\n" : end < 0.1 ? ` ${Math.floor(next() * 9_999)} ` : " "}`;
  }
  return text.slice(0, length);
}

/** A webhook of 3.5 KB: the issue with its text, the repository and the sender with their addresses. */
function webhook(number: number) {
  const whole = issueOpened({
    repo: "octo/app",
    number,
    sender: "mona",
    title: prose(60, number),
    body: prose(1_200, number + 1e6),
  });
  const { issue, repository, sender } = whole as Record<string, Record<string, unknown>>;
  const { id, node_id, title, body, state, user, html_url, created_at, updated_at, author_association } = issue ?? {};
  return {
    action: "opened",
    issue: { id, node_id, number, title, body, state, user, labels: [], html_url, created_at, updated_at, author_association },
    repository: { id: repository?.id, name: "app", full_name: "octo/app", html_url: repository?.html_url, private: false },
    sender,
  };
}

/**
 * Disk space of an issue: three webhooks, two of which start nothing, two executions of the default tasks with answers of 1.8 KB.
 */
export async function run(args: readonly string[]): Promise<void> {
  const count = Number(args.find((one) => one.startsWith("--issues="))?.slice("--issues=".length) ?? 300);
  await using database = await freshDatabase();
  const tracker = await startTracker({ autoCreate: true, token: "t", login: "signalbox-bot" });
  let answers = 0;
  const model = await startModel({ script: () => ({ content: prose(1_800, ++answers) }) });
  const env = { ALPHA_API_URL: tracker.url, ALPHA_TOKEN: "t", LLM_BASE_URL: model.url, BUDGET_AUTHOR_RUNS_PER_HOUR: "0" };
  const service = await startService({ databaseUrl: database.url, seed: true, webhookSecret: secret, env });
  try {
    const before = await sizes(database.url);
    let bytes = 0;
    for (let number = 1; number <= count; number++) {
      const opened = webhook(number);
      bytes += JSON.stringify(opened).length;
      for (const action of ["opened", "pinned", "unpinned"])
        await service.webhook({ ...opened, action }, { delivery: `${number}-${action}` });
      if (number % Math.ceil(count / 5) === 0) await database.query("vacuum");
    }
    await waitForExecutions(service, { count: Math.min(1000, count * 2), state: "succeeded" });
    for (;;) {
      const { body } = await service.get<{ tasks: { succeeded: number } }>("/api/usage");
      if (body.tasks.succeeded >= count * 2) break;
      await new Promise((done) => setTimeout(done, 200));
    }
    await service.close();
    const after = await sizes(database.url);
    const rows = [...after].map(([name, size]): [string, number] => [name, (size - (before.get(name) ?? 0)) / 1024 / count]);
    const total = rows.reduce((sum, [, kib]) => sum + kib, 0);
    report({
      name: "rows",
      about: `KiB on the disk for each of ${count} issues, with indexes and after a vacuum; the payloads have ${(bytes / count / 1024).toFixed(1)} KiB each`,
      columns: ["", "KiB an issue"],
      rows: [...rows.filter(([, kib]) => kib >= 0.05).sort((a, b) => b[1] - a[1]), ["in all", total]],
      findings: [`aim: ${aimKib} KiB an issue`],
    });
    if (args.includes("--columns")) await columns(database.url);
  } finally {
    await Promise.all([service.close(), tracker.close(), model.close()]);
  }
}

async function sizes(url: string): Promise<Map<string, number>> {
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  await sql`vacuum analyze`;
  const rows = await sql<{ name: string; bytes: string }[]>`
    select relname || case when part = 0 then '' when part = 1 then ', indexes' else ', long values' end as name,
      case part when 0 then pg_relation_size(oid) when 1 then pg_indexes_size(oid) else coalesce(pg_total_relation_size(nullif(reltoastrelid, 0)), 0) end as bytes
    from pg_class cross join generate_series(0, 2) part where relkind = 'r' and relnamespace = 'public'::regnamespace`;
  await sql.end({ timeout: 5 });
  return new Map(rows.map(({ name, bytes }) => [name, Number(bytes)]));
}

/** Disk space of each column and each index. */
async function columns(url: string): Promise<void> {
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  for (const table of ["webhook_events", "task_executions", "execution_steps"]) {
    const [whole] = await sql.unsafe(
      `select avg(pg_column_size(t.*))::float8 as bytes, pg_relation_size('${table}') / count(*) as space from ${table} t`,
    );
    process.stdout.write(
      `${table}: ${Math.round(Number(whole?.bytes))} bytes a row, ${whole?.space} with the space of earlier versions\n`,
    );
    const names = await sql<{ name: string }[]>`
      select attname as name from pg_attribute where attrelid = ${table}::regclass and attnum > 0 and not attisdropped`;
    for (const { name } of names) {
      const [row] = await sql.unsafe(
        `select sum(pg_column_size("${name}"))::float8 as bytes, count(*)::float8 as rows from ${table}`,
      );
      if (row && Number(row.bytes) / Number(row.rows) > 20)
        process.stdout.write(
          `${table}.${name}: ${Math.round(Number(row.bytes) / Number(row.rows))} bytes a row of ${row.rows}\n`,
        );
    }
    const indexes =
      await sql`select indexrelid::regclass::text as name, pg_relation_size(indexrelid) as bytes from pg_index where indrelid = ${table}::regclass order by 2 desc`;
    for (const { name, bytes } of indexes) process.stdout.write(`${name}: ${Math.round(Number(bytes) / 1024)} KiB\n`);
  }
  await sql.end({ timeout: 5 });
}
