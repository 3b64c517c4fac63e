/**
 * The whole path with another queue in place of Signalbox: a signed webhook becomes a durable job, and the job calls the model
 * and posts a comment. Started as `node rival.mjs <queue> <secret> <model and tracker> <database> <redis>`, prints its port.
 */
import { createHmac, timingSafeEqual } from "node:crypto";
import { Agent, createServer, request } from "node:http";

const [kind = "", secret = "", other = "", database = "", redis = ""] = process.argv.slice(2);
/** The same concurrency as that of Signalbox in the benchmark. */
const inFlight = 128;

const read = async (stream) => {
  const chunks = [];
  for await (const chunk of stream) chunks.push(chunk);
  return Buffer.concat(chunks);
};

const verify = (body, signature = "") => {
  const wanted = Buffer.from(`sha256=${createHmac("sha256", secret).update(body).digest("hex")}`);
  const given = Buffer.from(signature);
  return given.length === wanted.length && timingSafeEqual(given, wanted);
};

const keptOpen = new Agent({ keepAlive: true, maxSockets: 256 });

const send = (url, body) =>
  new Promise((done, fail) => {
    const headers = { "content-type": "application/json" };
    const sent = request(url, { method: "POST", agent: keptOpen, headers }, (response) => {
      read(response).then((answer) => done(JSON.parse(answer.toString())), fail);
    });
    sent.on("error", fail);
    sent.end(JSON.stringify(body));
  });

const work = async ({ text }) => {
  const { issue, repository } = JSON.parse(text);
  const messages = [{ role: "user", content: `${issue.title}\n${issue.body}` }];
  const { choices } = await send(`${other}/v1/chat/completions`, { model: "m", messages });
  const { content } = choices[0].message;
  await send(`${other}/repos/${repository.full_name}/issues/${issue.number}/comments`, { body: content });
  return content;
};

/** Each opens its queue, starts its worker, and returns a function that stores a job durably, with the delivery as its key. */
const queues = {
  bullmq: async () => {
    const { Queue, Worker } = await import("bullmq");
    const connection = { url: redis, maxRetriesPerRequest: null };
    const prefix = `bench-${process.pid}`;
    const queue = new Queue("events", { connection, prefix });
    new Worker("events", ({ data }) => work(data), { connection, prefix, concurrency: inFlight });
    const kept = { removeOnComplete: { count: 1_000 } };
    return (delivery, text) => queue.add("event", { text }, { jobId: delivery, ...kept });
  },
  "graphile-worker": async () => {
    const { Logger, makeWorkerUtils, run } = await import("graphile-worker");
    const options = { connectionString: database, maxPoolSize: 10, logger: new Logger(() => () => {}) };
    const utils = await makeWorkerUtils(options);
    await utils.migrate();
    const preset = { worker: { concurrentJobs: inFlight, localQueue: { size: 2 * inFlight }, completeJobBatchDelay: 0 } };
    await run({ ...options, preset, taskList: { event: async (data) => void (await work(data)) } });
    return (delivery, text) => utils.addJob("event", { text }, { jobKey: delivery });
  },
  "pg-boss": async () => {
    const { PgBoss } = await import("pg-boss");
    const boss = new PgBoss({ connectionString: database, max: 10, useListenNotify: true });
    boss.on("error", () => {});
    await boss.start();
    await boss.createQueue("events", { notify: true });
    const workers = 8;
    const polling = {
      batchSize: inFlight / workers,
      localConcurrency: workers,
      burstWhenBatchFull: true,
      pollingIntervalSeconds: 0.5,
    };
    await boss.work("events", polling, (jobs) => Promise.all(jobs.map(({ data }) => work(data))));
    return (delivery, text) => boss.send("events", { text }, { id: delivery });
  },
};
if (!queues[kind]) throw new Error(`queue: one of ${Object.keys(queues).join(", ")}`);
const store = await queues[kind]();

const server = createServer(async (incoming, response) => {
  const body = await read(incoming);
  const json = { "content-type": "application/json" };
  if (!verify(body, incoming.headers["x-hub-signature-256"])) return response.writeHead(401, json).end("{}");
  await store(incoming.headers["x-alpha-delivery"], body.toString("utf8"));
  return response.writeHead(202, json).end('{"status":"accepted"}');
});
server.listen(0, "127.0.0.1", () => process.stdout.write(`${server.address().port}\n`));
