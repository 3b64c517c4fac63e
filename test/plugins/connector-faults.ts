import { randomUUID } from "node:crypto";
import { cpSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { TestTracker } from "@signalbox/sdk/testing";
import { root, run, runtimeUnderTest } from "../harness/process.ts";
import type { Service } from "../harness/service.ts";
import { type ExecutionSeen, ended, eventually } from "../harness/wait.ts";

/** Events with faults for each connector. More with `CONNECTOR_EVENTS=1000`. */
export const events = Number(process.env.CONNECTOR_EVENTS ?? 30);
/** Milliseconds in which all of them are answered. */
export const limit = 60_000 + events * 400;

/** One author writes everything, and all of it shall run. */
export const unlimited = { BUDGET_AUTHOR_RUNS_PER_HOUR: "0" };

/** Builds a plugin of this repository in a folder of its own, which the caller removes. */
export async function buildPlugin(name: string): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), `signalbox-${name}-`));
  const source = join(root, "plugins", name);
  cpSync(source, folder, { recursive: true, filter: (path) => !/[\\/](node_modules|dist)$/.test(path) });
  const built = run(runtimeUnderTest(), "runtime/cli/main.ts", { args: ["plugin", "build"], env: {}, cwd: folder });
  if ((await built.ended).code !== 0) throw new Error(`plugin build of ${name} failed:\n${built.logs()}`);
  return folder;
}

/** What goes wrong at a platform, in turns. */
const faults = [
  { kind: "status", status: 500, body: '{"message":"internal error"}' },
  { kind: "status", status: 429, headers: { "retry-after": "1" }, body: '{"message":"slow down"}' },
  { kind: "drop", after: true },
  { kind: "status", status: 502, body: "bad gateway", after: true },
] as const;

/** Lets about every second request of a fake platform fail, until what it returns is called. */
function disturb(server: Pick<TestTracker, "fault" | "heal">): () => Promise<void> {
  const stop = new AbortController();
  const disturbing = (async () => {
    for (let at = 0; !stop.signal.aborted; at++) {
      server.fault({ ...(faults[at % faults.length] as (typeof faults)[number]), times: 1 });
      await sleep(150);
    }
    server.heal();
  })();
  return () => {
    stop.abort();
    return disturbing;
  };
}

/**
 * After so many accepted events the service is killed with SIGKILL, and again when all are accepted. Five deaths of its workers
 * in a row would fail an execution, so there are at most four kills.
 */
const eventsOfKill = Math.ceil(events / (events < 100 ? 2 : 4));

/**
 * Sends the events of these issues while the service is killed again and again and its platform fails, and waits until the
 * platform is calm and nothing is left that may write. `send` answers whether the webhook with this delivery id was accepted;
 * until then it is called again.
 */
export async function sendUnderFaults(
  { service, platform }: { service: Service; platform: Pick<TestTracker, "fault" | "heal"> },
  issues: readonly number[],
  send: (issue: number, delivery: string) => Promise<boolean>,
): Promise<void> {
  const calm = disturb(platform);
  let accepted = 0;
  let restarted: Promise<void> = Promise.resolve();
  await inParallel(issues, async (issue) => {
    const delivery = randomUUID();
    await eventually(() => send(issue, delivery).catch(() => false), { timeout: 60_000, interval: 200 });
    if (++accepted % eventsOfKill !== 0 && accepted !== issues.length) return;
    restarted = restarted.then(() => service.kill()).then(() => service.restart());
  });
  await restarted;
  await calm();
  await eventually(() => allEnded(service), { timeout: limit - 10_000, interval: 200 });
}

const pageSize = 1000;

/**
 * Throws with the executions that may still write. Reads all of them: those in each state, one request after another, would miss an
 * execution that changes its state in between.
 */
async function allEnded(service: Service): Promise<true> {
  const left: ExecutionSeen[] = [];
  for (let offset = 0, more = true; more; offset += pageSize) {
    const { status, body } = await service.get<ExecutionSeen[]>(`/api/task-executions?limit=${pageSize}&offset=${offset}`);
    if (status !== 200) throw new Error(`GET /api/task-executions answered ${status}: ${JSON.stringify(body)}`);
    left.push(...body.filter(({ state }) => !ended.includes(state)));
    more = body.length === pageSize;
  }
  if (left.length > 0) throw new Error(`executions have not ended, for example ${JSON.stringify(left.slice(0, 3))}`);
  return true;
}

export async function inParallel<T>(all: readonly T[], work: (one: T) => Promise<void>, concurrency = 8): Promise<void> {
  const left = [...all];
  const worker = async () => {
    for (let one = left.shift(); one !== undefined; one = left.shift()) await work(one);
  };
  await Promise.all(Array.from({ length: concurrency }, worker));
}
