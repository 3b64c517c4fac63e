import { createHmac, randomUUID, timingSafeEqual } from "node:crypto";
import { Agent, createServer, request } from "node:http";
import { serve } from "@hono/node-server";
import { Hono } from "hono";
import postgres from "postgres";

/**
 * The limits that benchmarks compare with, each a minimal program for the job: started as `node test/bench/limits.ts <kind>
 * <secret> [database] [model and tracker]`, prints its port.
 */
const [kind = "", secret = "", address = ""] = process.argv.slice(2);

const verify = (body: Buffer, signature: string | null | undefined): boolean => {
  const wanted = Buffer.from(`sha256=${createHmac("sha256", secret).update(body).digest("hex")}`);
  const given = Buffer.from(signature ?? "");
  return given.length === wanted.length && timingSafeEqual(given, wanted);
};
const ready = (port: number) => process.stdout.write(`${port}\n`);

const read = async (request: AsyncIterable<Buffer>): Promise<Buffer> => {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  return Buffer.concat(chunks);
};

/** node:http and the signature; nothing is stored. */
function nothingStored(): void {
  const server = createServer(async (request, response) => {
    const ok = verify(await read(request), request.headers["x-hub-signature-256"] as string);
    response.writeHead(ok ? 202 : 401, { "content-type": "application/json" }).end('{"status":"accepted"}');
  });
  server.listen(0, "127.0.0.1", () => ready((server.address() as { port: number }).port));
}

/** Hono; the event is stored, alone or grouped with events that arrived meanwhile. */
async function stored(grouped: boolean): Promise<void> {
  const sql = postgres(address, { max: 10, onnotice: () => {} });
  await sql`create table if not exists bench_events (id uuid primary key, delivery text unique, body bytea)`;
  await sql`alter table bench_events alter column body set compression lz4`;
  type Row = { id: string; delivery: string; body: Buffer };
  const insert = (rows: Row[]) => sql`insert into bench_events ${sql(rows)} on conflict do nothing`;
  const waiting: { row: Row; done: () => void }[] = [];
  let busy = 0;
  const flush = async () => {
    while (waiting.length > 0 && busy < 4) {
      const batch = waiting.splice(0, 64);
      busy++;
      insert(batch.map(({ row }) => row)).then(() => {
        busy--;
        for (const { done } of batch) done();
        flush();
      });
    }
  };
  const app = new Hono();
  app.post("/webhook/alpha", async (c) => {
    const body = Buffer.from(await c.req.arrayBuffer());
    if (!verify(body, c.req.header("x-hub-signature-256"))) return c.json({ error: "signature" }, 401);
    const row = { id: randomUUID(), delivery: c.req.header("x-alpha-delivery") ?? "", body };
    if (grouped) {
      await new Promise<void>((done) => {
        waiting.push({ row, done });
        queueMicrotask(flush);
      });
    } else await insert([row]);
    return c.json({ status: "accepted" }, 202);
  });
  serve({ fetch: app.fetch, port: 0, hostname: "127.0.0.1", overrideGlobalObjects: false }, ({ port }) => ready(port));
}

/** The same concurrency as that of Signalbox in the benchmark. */
const inFlight = 128;

/** Verifies, answers, calls the model and posts the comment; nothing is stored. */
function dispatchInProcess(): void {
  const json = { "content-type": "application/json" };
  const work = async (text: string) => {
    const { issue, repository } = JSON.parse(text);
    const messages = [{ role: "user", content: `${issue.title}\n${issue.body}` }];
    const answer = await send(`${address}/v1/chat/completions`, { model: "m", messages });
    const { choices } = JSON.parse(answer) as { choices: { message: { content: string } }[] };
    await send(`${address}/repos/${repository.full_name}/issues/${issue.number}/comments`, {
      body: choices[0]?.message.content,
    });
  };
  const waiting: string[] = [];
  let running = 0;
  const begin = async () => {
    for (let text = waiting.shift(); text !== undefined; text = waiting.shift()) await work(text);
    running--;
  };
  const server = createServer(async (request, response) => {
    const body = await read(request);
    const ok = verify(body, request.headers["x-hub-signature-256"] as string);
    response.writeHead(ok ? 202 : 401, json).end('{"status":"accepted"}');
    if (!ok) return;
    waiting.push(body.toString("utf8"));
    if (running >= inFlight) return;
    running++;
    await begin();
  });
  server.listen(0, "127.0.0.1", () => ready((server.address() as { port: number }).port));
}

/**
 * Verifies, stores events in groups, answers, runs in this process and stores outcomes in groups: the minimal cost of a service
 * with the same promises about stored events. No leases, no order, no transcript.
 */
async function dispatchStored(): Promise<void> {
  const [, , , database = "", other = ""] = process.argv.slice(1);
  const sql = postgres(database, { max: 10, onnotice: () => {} });
  await sql`create table if not exists bench_jobs (id uuid primary key, delivery text unique, body bytea, state text, result text)`;
  await sql`alter table bench_jobs alter column body set compression lz4`;
  type Job = { id: string; delivery: string; body: Buffer; state: string };
  type Done = { id: string; result: string };
  const store = inGroups((rows: Job[]) => sql`insert into bench_jobs ${sql(rows)} on conflict do nothing`);
  const finish = inGroups(
    (rows: Done[]) => sql`
      update bench_jobs set state = 'succeeded', result = x.result
      from json_to_recordset(${JSON.stringify(rows)}::text::json) as x (id uuid, result text) where bench_jobs.id = x.id`,
  );
  const run = pool(async ({ id, body }: Job) => {
    const { issue, repository } = JSON.parse(body.toString("utf8"));
    const messages = [{ role: "user", content: `${issue.title}\n${issue.body}` }];
    const answer = await send(`${other}/v1/chat/completions`, { model: "m", messages });
    const content = (JSON.parse(answer) as { choices: { message: { content: string } }[] }).choices[0]?.message.content ?? "";
    await send(`${other}/repos/${repository.full_name}/issues/${issue.number}/comments`, { body: content });
    await finish({ id, result: content });
  });
  const server = createServer(async (request, response) => {
    const body = await read(request);
    const json = { "content-type": "application/json" };
    if (!verify(body, request.headers["x-hub-signature-256"] as string)) return response.writeHead(401, json).end("{}");
    const job = { id: randomUUID(), delivery: String(request.headers["x-alpha-delivery"]), body, state: "running" };
    await store(job);
    response.writeHead(202, json).end('{"status":"accepted"}');
    return run(job);
  });
  server.listen(0, "127.0.0.1", () => ready((server.address() as { port: number }).port));
}

/** Passes on one item at a time, and the items that arrived meanwhile in the next call. */
function inGroups<T>(write: (items: T[]) => PromiseLike<unknown>): (item: T) => Promise<void> {
  const waiting: { item: T; done: () => void }[] = [];
  let busy = 0;
  const flush = () => {
    while (waiting.length > 0 && busy < 4) {
      const group = waiting.splice(0, 64);
      busy++;
      write(group.map(({ item }) => item)).then(() => {
        busy--;
        for (const { done } of group) done();
        flush();
      });
    }
  };
  return (item) =>
    new Promise((done) => {
      waiting.push({ item, done });
      queueMicrotask(flush);
    });
}

/** Runs at most `inFlight` at a time, in the order of arrival. */
function pool<T>(work: (item: T) => Promise<void>): (item: T) => void {
  const waiting: T[] = [];
  let running = 0;
  const next = () => {
    while (waiting.length > 0 && running < inFlight) {
      running++;
      work(waiting.shift() as T).finally(() => {
        running--;
        next();
      });
    }
  };
  return (item) => {
    waiting.push(item);
    next();
  };
}

const keptOpen = new Agent({ keepAlive: true, maxSockets: 256 });

/** Sends JSON over reused connections, at a fraction of the cost of fetch, which would distort a limit. */
const send = (url: string, body: object): Promise<string> =>
  new Promise((done, fail) => {
    const headers = { "content-type": "application/json" };
    const sent = request(url, { method: "POST", agent: keptOpen, headers }, (response) => {
      read(response).then((answer) => done(answer.toString()), fail);
    });
    sent.on("error", fail);
    sent.end(JSON.stringify(body));
  });

/** The model and the tracker: a model that answers after `secret` milliseconds, and a tracker that counts comments. */
function otherSide(): void {
  const delay = Number(secret);
  let comments = 0;
  let asked = 0;
  let whenCommented = () => {};
  const answer = JSON.stringify({
    id: "x",
    object: "chat.completion",
    created: 0,
    model: "m",
    choices: [{ index: 0, finish_reason: "stop", message: { role: "assistant", content: "A short comment on this issue." } }],
    usage: { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110 },
  });
  // An idle connection remains open until the next round, because a request that is sent just as it closes would be lost.
  const server = createServer({ keepAliveTimeout: 3_600_000 }, async (request, response) => {
    const json = { "content-type": "application/json" };
    await read(request);
    const awaited = /^\/commented\/(\d+)$/.exec(request.url ?? "")?.[1];
    if (awaited !== undefined) {
      whenCommented = () =>
        void (comments >= Number(awaited) && !response.headersSent && response.writeHead(200, json).end("{}"));
      return whenCommented();
    }
    if (request.url === "/count") return response.writeHead(200, json).end(JSON.stringify({ comments, asked }));
    if (request.url?.endsWith("/chat/completions")) {
      asked++;
      if (delay > 0) await new Promise((done) => setTimeout(done, delay));
      asked--;
      return response.writeHead(200, json).end(answer);
    }
    if (request.url === "/user") return response.writeHead(200, json).end('{"login":"signalbox-bot"}');
    if (request.method === "POST") {
      // Reactions, which a run of more than three seconds shows, are not comments.
      if (request.url?.endsWith("/comments")) comments++;
      response
        .writeHead(201, json)
        .end(`{"id":${comments},"html_url":"http://tracker/${comments}","url":"http://tracker/${comments}"}`);
      return whenCommented();
    }
    return response.writeHead(200, json).end("[]");
  });
  server.listen(0, "127.0.0.1", () => ready((server.address() as { port: number }).port));
}

const kinds: Record<string, () => unknown> = {
  "nothing-stored": nothingStored,
  "single-insert": () => stored(false),
  "grouped-insert": () => stored(true),
  "in-process": dispatchInProcess,
  "stored-dispatch": dispatchStored,
  "other-side": otherSide,
};
if (!kinds[kind]) throw new Error(`kind: one of ${Object.keys(kinds).join(", ")}`);
kinds[kind]();
