import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { startModel } from "../../examples/demo/model.ts";
import { startTracker } from "../../examples/demo/tracker.ts";
import { freePorts } from "../../sdk/testing/free-ports.ts";
import { issueOpened } from "../harness/alpha-payloads.ts";
import { checkOut } from "../harness/checkout.ts";
import { multiplyHistory } from "../harness/database-faults.ts";
import { type FreshDatabase, freshDatabase } from "../harness/databases.ts";
import { jsonClient } from "../harness/json-client.ts";
import { eventually } from "../harness/wait.ts";
import { deliver } from "../harness/webhooks.ts";
import { login, plainScript, surroundings, textsOf, token } from "../harness/world.ts";

/*
 * `node test/chaos/upgrade.ts [commit] [--history=N]`: two replicas of an old version under load are replaced, one after the
 * other, by two of this one, on one database with the history of N events. Afterwards, every accepted webhook must have its two
 * comments exactly once, and every response must have taken less than a second.
 */

const root = join(import.meta.dirname, "../..");
const secret = ["upgrade", "secret"].join("-");
const everyMs = 40;
const limitMs = 1_000;
const repo = "octo/app";
/** The issue of the event that is copied. The others begin with 1. */
const historyIssue = 1_000_000;

interface Replica {
  readonly name: string;
  readonly url: string;
  readonly child: ChildProcess;
  logs: string;
}

async function start(name: string, folder: string, env: Record<string, string>): Promise<Replica> {
  const [port = 0, grpcPort = 0] = await freePorts(2);
  const cwd = mkdtempSync(join(tmpdir(), "signalbox-upgrade-"));
  const { PATH = "", HOME = "" } = process.env;
  const own = { PATH, HOME, HOST: "127.0.0.1", PORT: String(port), GRPC_PORT: String(grpcPort), ALPHA_WEBHOOK_SECRET: secret };
  const child = spawn(process.execPath, [join(folder, "runtime/main.ts")], {
    cwd,
    env: { ...own, COMMENT_FOOTER: "false", ...env },
  });
  const replica: Replica = { name, url: `http://127.0.0.1:${port}`, child, logs: "" };
  for (const stream of [child.stdout, child.stderr]) stream?.on("data", (bytes) => (replica.logs += String(bytes)));
  for (;;) {
    if (child.exitCode !== null) throw new Error(`${name} ended:\n${replica.logs.slice(-3_000)}`);
    if (
      await fetch(`${replica.url}/health`).then(
        ({ ok }) => ok,
        () => false,
      )
    )
      return replica;
    await sleep(50);
  }
}

async function stop({ child }: Replica): Promise<void> {
  if (child.exitCode !== null) return;
  const ended = new Promise((done) => child.once("exit", done));
  child.kill("SIGTERM");
  await ended;
}

interface Sent {
  readonly accepted: number[];
  readonly refused: string[];
  slowest: number;
  /** The responses meanwhile, and which replica sent them. */
  slowestAt: string;
  phase: string;
}

/** Sends a webhook every few milliseconds to the replicas in turn, like a load balancer: a replica that refuses is skipped. */
async function sendUntil(done: () => boolean, live: readonly Replica[], sent: Sent): Promise<void> {
  const under: Promise<void>[] = [];
  for (let number = 1; !done(); number++) {
    under.push(sendOne(number, live, sent));
    await sleep(everyMs);
  }
  await Promise.all(under);
}

async function sendOne(number: number, live: readonly Replica[], sent: Sent): Promise<void> {
  const payload = issueOpened({ repo, number, sender: "mona" });
  for (let tries = 0; tries < 5; tries++) {
    const to = live[(number + tries) % live.length] as Replica;
    const began = performance.now();
    const answer = await deliver(jsonClient(to.url), payload, { delivery: `d-${number}`, secret }).catch(() => null);
    if (!answer) continue;
    const took = performance.now() - began;
    if (took > sent.slowest) Object.assign(sent, { slowest: took, slowestAt: `${to.name}, ${sent.phase}` });
    if ([200, 202].includes(answer.status)) return void sent.accepted.push(number);
    sent.refused.push(`${to.name} answered ${answer.status}: ${JSON.stringify(answer.body)}`);
  }
}

interface History {
  readonly count: number;
  /** Whether the event that is copied has both its comments. */
  readonly isDone: () => boolean;
}

/** Creates one event with its executions, and this number of copies of them. */
async function fillHistory({ url }: Replica, database: FreshDatabase, { count, isDone }: History): Promise<void> {
  await deliver(jsonClient(url), issueOpened({ repo, number: historyIssue, sender: "mona" }), { delivery: "history", secret });
  await eventually(isDone, { interval: 200 });
  // The end of an execution is stored after its comment.
  await sleep(2_000);
  await multiplyHistory(database, count);
}

async function main(commit: string, history: number): Promise<number> {
  const old = checkOut(commit);
  await using database = await freshDatabase();
  const tracker = await startTracker({ token, login, autoCreate: true });
  const model = await startModel({ script: plainScript, delayMs: 100 });
  const env = { ...surroundings(tracker, model), DATABASE_URL: database.url };
  const all: Replica[] = [];
  const live: Replica[] = [];
  const add = async (name: string, folder: string) => {
    const replica = await start(name, folder, env);
    all.push(replica);
    live.push(replica);
    return replica;
  };
  const remove = async (replica: Replica) => {
    live.splice(live.indexOf(replica), 1);
    await stop(replica);
  };
  try {
    const first = await add("old 1", old);
    const second = await add("old 2", old);
    for (const path of ["agents/seed", "tasks/seed", "tasks/triggers/seed", "tasks/sources/seed"])
      await jsonClient(first.url).post(`/api/${path}`);
    await sleep(1_000);
    if (history > 0)
      await fillHistory(first, database, { count: history, isDone: () => textsOf(tracker, repo, historyIssue).length === 2 });
    const sent: Sent = { accepted: [], refused: [], slowest: 0, slowestAt: "", phase: "before" };
    let over = false;
    const sending = sendUntil(() => over, live, sent);
    await sleep(4_000);
    sent.phase = "new 1 starts and migrates";
    await add("new 1", root);
    sent.phase = "three run";
    await sleep(2_000);
    sent.phase = "old 1 stops, new 2 starts";
    await remove(first);
    await add("new 2", root);
    await sleep(2_000);
    sent.phase = "old 2 stops, two new run";
    await remove(second);
    await sleep(2_000);
    over = true;
    await sending;
    const wrong = () => sent.accepted.filter((number) => textsOf(tracker, repo, number).length !== 2);
    for (let waited = 0; wrong().length > 0 && waited < 60_000; waited += 200) await sleep(200);
    return conclude(sent, wrong(), (number) => textsOf(tracker, repo, number).length);
  } finally {
    await Promise.all(all.map(stop));
    await Promise.all([tracker.close(), model.close()]);
    rmSync(old, { recursive: true, force: true });
    if (process.env.UPGRADE_LOGS) for (const { name, logs } of all) process.stdout.write(`--- ${name}\n${logs}\n`);
  }
}

function conclude(sent: Sent, wrong: readonly number[], comments: (number: number) => number): number {
  const { accepted, refused, slowest, slowestAt } = sent;
  process.stdout.write(
    `${accepted.length} webhooks accepted, ${refused.length} refused, slowest answer ${Math.round(slowest)} ms (${slowestAt})\n`,
  );
  for (const line of new Set(refused)) process.stdout.write(`refused: ${line}\n`);
  for (const number of wrong) process.stdout.write(`issue ${number}: ${comments(number)} comments instead of 2\n`);
  const good = wrong.length === 0 && slowest <= limitMs && refused.length === 0;
  process.stdout.write(good ? "nothing is lost or written twice\n" : "the upgrade is not clean\n");
  return good ? 0 : 1;
}

const { values, positionals } = parseArgs({ options: { history: { type: "string", default: "0" } }, allowPositionals: true });
process.exitCode = await main(positionals[0] ?? "64440a9", Number(values.history));
