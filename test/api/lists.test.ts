import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { issueOpened } from "../harness/alpha-payloads.ts";
import { expectRefused } from "../harness/refused.ts";
import { waitForExecutions } from "../harness/wait.ts";
import { startWorld, type World } from "../harness/world.ts";

interface Row {
  readonly id: string;
  readonly subject: string | null;
  readonly state?: string;
  readonly reason?: string | null;
}

let world: World;
const repo = "acme/webshop";
const open = (number: number) => world.service.webhook(issueOpened({ repo, number, sender: "mona" }));
const star = (n: number) =>
  world.service.webhook({ action: "created", repository: { full_name: `acme/starred-${n}` } }, { event: "star" });
const page = async (path: string) => {
  const { status, body, headers } = await world.service.get<Row[]>(path);
  expect({ status, body }).toMatchObject({ status: 200 });
  return { rows: body, total: headers.get("x-total-count"), next: headers.get("x-next-cursor"), link: headers.get("link") };
};
const ids = (rows: readonly Row[]) => rows.map(({ id }) => id);

beforeAll(async () => {
  world = await startWorld({ tasks: ["first", "second"], env: { WATCHDOG_ENABLED: "true" } });
  for (let n = 1; n <= 12; n++) await open(n);
  for (let n = 1; n <= 25; n++) await star(n);
  await waitForExecutions(world.service, { count: 24 });
}, 120_000);
afterAll(() => world?.[Symbol.asyncDispose]());

describe("unknown members of a query are refused", () => {
  test.each([
    ["/api/task-executions?stat=failed", /stat: is not a query member of GET \/api\/task-executions; did you mean "state"\?/],
    ["/api/webhook-events?outcom=discarded", /did you mean "outcome"\?/],
    ["/api/agents?zzzzzz=1", /zzzzzz: is not a query member of GET \/api\/agents; it takes limit, offset/],
    ["/api/task-executions?fields=resutl", /fields: .*did you mean "result"\?/],
    ["/api/task-executions?from=yesterday", /from: must be a time in ISO 8601 with a zone/],
    ["/api/watchdog?from=2026-01-31T09:30:00Z&to=2026-01-31T10:30:00%2B01:00", /^to: must be a time after from$/],
    [
      "/api/task-executions?finished_from=2026-01-31T09:30:00Z&finished_to=2026-01-31T09:30:00Z",
      /^finished_to: must be a time after finished_from$/,
    ],
    ["/api/task-executions?to=2026-01-31T09:30:00", /to: must be a time in ISO 8601 with a zone/],
    [
      "/api/task-executions?from=2026-01-31T09:30:00+00:00",
      /^from: must be a time in ISO 8601 with a zone, for example \S+; in a URL, write \+ as %2B$/,
    ],
    ["/api/usage?group_by=month,projct", /group_by: usage is not grouped by "projct"; did you mean "project"\?/],
    ["/api/usage?from=2026-01-31", /from: must be a time in ISO 8601 with a zone/],
    // PostgreSQL has no year 0, and the answers have no year of five digits.
    ["/api/task-executions?from=0000-01-01T00:00:00Z", /^from: must be between the years 1 and 9999 \(UTC\)$/],
    ["/api/webhook-events?to=0001-01-01T00:00:00%2B14:00", /^to: must be between the years 1 and 9999 \(UTC\)$/],
    ["/api/usage?to=9999-12-31T23:59:59-12:00", /^to: must be between the years 1 and 9999 \(UTC\)$/],
    ["/api/task-executions?limit=1e2", /^limit: must be a whole number; it is "1e2"$/],
    ["/api/poll-sources/first", /^id: must be a whole number; it is "first"$/],
    ["/api/task-executions?order=up", /order/],
    ["/api/task-executions?cursor=bm90aGluZw", /cursor: is not a cursor of this list/],
  ])("%s", async (path, error) => {
    expectRefused(await world.service.get(path), 400, error);
  });

  test("a cursor of the other order, and a cursor with an offset", async () => {
    const { next } = await page("/api/webhook-events?limit=5");
    expectRefused(await world.service.get(`/api/webhook-events?order=asc&cursor=${next}`), 400, /cursor: belongs to order=desc/);
    expectRefused(await world.service.get(`/api/webhook-events?offset=1&cursor=${next}`), 400, /offset: cannot be combined/);
  });

  test("also for an operation that writes, and for a tool of the MCP server", async () => {
    expectRefused(await world.service.post("/api/agents/seed?dry_run=true"), 400, /dry_run: .*it takes none/);
    const call = { name: "task_executions_list", arguments: { stat: "failed" } };
    const answer = await world.service.post<string | object>(
      "/mcp",
      { jsonrpc: "2.0", id: 1, method: "tools/call", params: call },
      { headers: { accept: "application/json, text/event-stream" } },
    );
    expect(JSON.stringify(answer.body)).toMatch(/did you mean .*state/);
  });
});

test("a misspelt member of an operation with a preview is refused, and nothing is changed", async () => {
  const [event] = (await page("/api/webhook-events?limit=1")).rows;
  const state = async () => [
    await page("/api/webhook-events?limit=1000"),
    (await page("/api/task-executions?limit=1000")).rows.map((one) => [one.id, one.state]),
  ];
  const before = await state();
  const replay = `/api/webhook-events/${event?.id}/replay`;
  for (const [path, body, error] of [
    [replay, { dryrun: true }, /dryrun: is not a member of POST .*; did you mean "dry_run"\?/],
    [replay, { preview: true }, /preview: is not a member of POST .*; it takes dry_run, agent_id, task_id, prompt/],
    ["/api/erase", { subject: `${repo}#1`, dryRun: true }, /dryRun: .*did you mean "dry_run"\?/],
    ["/api/task-executions/bulk", { action: "cancel", filter: {}, confirmed: "x" }, /confirmed: .*did you mean "confirm"\?/],
  ] as const)
    expectRefused(await world.service.post(path, body), 400, error);
  expect(await state()).toEqual(before);
  // Other operations ignore unknown members.
  const memory = { key: "k", scope: "organizational", content: "c", dryrun: true };
  expect((await world.service.post("/api/memory", memory)).status).toBe(201);
});

const found = async (q: string) =>
  (await page(`/api/subjects?q=${encodeURIComponent(q)}`)).rows.map(({ subject }) => subject).sort();

test("q finds an issue by its number, by the end of its name, and by a part of it", async () => {
  const one = [`alpha:${repo}#1`];
  for (const q of ["1", "#1", " 1 ", "webshop#1", `${repo}#1`, `https://github.com/${repo}/issues/1`])
    expect(await found(q)).toEqual(one);
  expect(await found("WEBSHOP")).toHaveLength(12);
  expect(await found("999")).toEqual([]);
});

describe.each(["desc", "asc"])("a cursor, order=%s", (order) => {
  test.each([1, 7, 36])("a cursor leads through all rows, %i at a time, while others arrive", async (limit) => {
    const before = ids((await page(`/api/webhook-events?limit=1000&order=${order}`)).rows);
    const seen: string[] = [];
    let path: string | null = `/api/webhook-events?limit=${limit}&order=${order}`;
    for (let pages = 0; path; pages++) {
      const { rows, next, link }: Awaited<ReturnType<typeof page>> = await page(path);
      seen.push(...ids(rows));
      expect(link).toBe(next && `</api/webhook-events?limit=${limit}&order=${order}&cursor=${next}>; rel="next"`);
      if (pages < 3) await star(100);
      path = next && `/api/webhook-events?limit=${limit}&order=${order}&cursor=${next}`;
    }
    expect(new Set(seen).size).toBe(seen.length);
    const later = seen.filter((id) => !before.includes(id));
    expect(seen.filter((id) => before.includes(id))).toEqual(before);
    // New rows are newer, so a list that begins with the newest does not contain them.
    expect(later.length > 0).toBe(order === "asc");
  });
});

test("subject: as text, as a URL, as it is listed", async () => {
  const [stored] = (await page("/api/task-executions?subject=acme/webshop%237")).rows;
  expect(stored?.subject).toBe("alpha:acme/webshop#7");
  for (const text of ["https://github.com/acme/webshop/issues/7#issuecomment-1", "alpha:acme/webshop#7"]) {
    expect((await page(`/api/task-executions?subject=${encodeURIComponent(text)}`)).total).toBe("2");
    expect((await page(`/api/webhook-events?subject=${encodeURIComponent(text)}`)).rows).toHaveLength(1);
  }
  for (const list of ["task-executions", "webhook-events", "tool-executions", "watchdog", "audit-log"])
    expect((await page(`/api/${list}?subject=CONF-7`)).rows).toEqual([]);
});

test("from and to bound the time of creation and can be combined", async () => {
  const all = (await page("/api/task-executions?limit=1000&order=asc")).rows as (Row & { created_at: string })[];
  const middle = all[10]?.created_at as string;
  const [older, newer] = [
    await page(`/api/task-executions?to=${middle}&limit=1000`),
    await page(`/api/task-executions?from=${middle}&limit=1000`),
  ];
  expect(Number(older.total) + Number(newer.total)).toBe(all.length);
  expect(ids(newer.rows)).toContain(all[10]?.id);
  expect((await page("/api/task-executions?from=2000-01-01T00:00:00%2B02:00&to=2001-01-01T00:00:00Z")).rows).toEqual([]);
});

test("q: every word of the reason, by pages", async () => {
  const found = await page("/api/webhook-events?q=STAR%20mapping&limit=5&order=asc");
  expect(found.rows.every(({ reason }) => /mapping.*star/i.test(reason ?? ""))).toBe(true);
  const rest = await page(`/api/webhook-events?q=STAR%20mapping&limit=1000&order=asc&cursor=${found.next}`);
  expect(5 + rest.rows.length).toBe(Number(found.total));
  expect(rest.total).toBe(found.total);
  for (const q of ["star%25mapping", "nowhere%20mapping"]) expect((await page(`/api/webhook-events?q=${q}`)).total).toBe("0");
});

test("long members only if fields names them", async () => {
  const [execution] = (await page("/api/task-executions?limit=1")).rows;
  expect(execution).not.toHaveProperty("result");
  expect((await page("/api/task-executions?limit=1&fields=id,%20result")).rows[0]).toHaveProperty("result", "Answer of second");
  const events = `/api/webhook-events?limit=1&subject=${encodeURIComponent("acme/webshop#3")}`;
  expect((await page(events)).rows[0]).not.toHaveProperty("payload");
  expect((await page(`${events}&fields=payload`)).rows[0]).toMatchObject({ payload: { issue: { number: 3 } } });
});

test("a page with payloads ends before they exceed 16 MiB, and the cursor reads on", async () => {
  const since = new Date().toISOString();
  const sent: string[] = [];
  for (const mebibytes of [17, 1, 1]) {
    const padding = "x".repeat(mebibytes * 2 ** 20);
    const { status, body } = await world.service.webhook({ action: "created", padding }, { event: "star" });
    expect(status).toBe(200);
    sent.unshift(body.event_id);
  }
  for (const search of ["", "&q=star%20mapping"]) {
    const pages: (readonly string[])[] = [];
    for (let next: string | null = ""; next !== null; ) {
      const cursor = next && `&cursor=${next}`;
      const found = await page(`/api/webhook-events?fields=payload&from=${since}${search}${cursor}`);
      expect(found.rows.every((row) => "payload" in row)).toBe(true);
      pages.push(ids(found.rows));
      next = found.next;
    }
    expect(pages).toEqual([sent.slice(0, 2), sent.slice(2)]);
  }
});

test("finished_from and finished_to bound the time of the end, in a list and in bulk", async () => {
  type Finished = Row & { readonly finished_at: string };
  const all = (await page("/api/task-executions?limit=1000")).rows as Finished[];
  const times = all.map(({ finished_at }) => finished_at).sort();
  const [middle = "", last = ""] = [times[10], times.at(-1)];
  for (const order of ["asc", "desc"]) {
    const before = await page(`/api/task-executions?finished_to=${middle}&order=${order}`);
    const since = await page(`/api/task-executions?finished_from=${middle}&order=${order}`);
    const within = await page(`/api/task-executions?finished_from=${middle}&finished_to=${last}&order=${order}`);
    const expected = order === "asc" ? [...all].reverse() : all;
    expect(before.rows).toEqual(expected.filter(({ finished_at }) => finished_at < middle));
    expect(since.rows).toEqual(expected.filter(({ finished_at }) => finished_at >= middle));
    expect(within.rows).toEqual(expected.filter(({ finished_at }) => finished_at >= middle && finished_at < last));
    expect([before.total, since.total]).toEqual([`${before.rows.length}`, `${since.rows.length}`]);
  }
  // A paused one has not finished.
  await world.service.post("/api/pause", { scope: "all", reason: "so that it does not begin" });
  await open(13);
  expect((await page(`/api/task-executions?finished_from=${middle}`)).total).toBe(
    `${times.filter((time) => time >= middle).length}`,
  );
  const counted = async (filter: object) =>
    (await world.service.post<{ count: number }>("/api/task-executions/bulk", { action: "cancel", filter })).body.count;
  expect([await counted({}), await counted({ finished_from: middle })]).toEqual([2, 0]);
});

test("an issue that no event is about is not found by a part of its number", async () => {
  await open(70);
  const created = { webhookEvent: "jira:issue_created", issue: { key: "CONF-70", fields: { summary: "Login" } } };
  await world.service.webhook(created, { slug: "gamma", event: "none" });
  expect(await found("CONF-70")).toEqual(["gamma:CONF#CONF-70"]);
  expect(await found("conf login")).toEqual(["gamma:CONF#CONF-70"]);
  for (const q of ["CONF-7", "conf-7 login", "https://acme.example/browse/CONF-7", "https://github.com/acme/other/issues/7"])
    expect(await found(q)).toEqual([]);
  expect(await found("https://host.example/tickets/70")).toEqual([`alpha:${repo}#70`]);
});
