import { setTimeout as sleep } from "node:timers/promises";
import { type ExecutionSeen, eventually } from "../harness/wait.ts";
import { isSign, keyOf, writtenIn } from "./ledger.ts";
import type { Crash } from "./replica.ts";
import type { Sent } from "./sender.ts";
import type { World } from "./world.ts";

type Execution = ExecutionSeen & { readonly created_at: string; readonly finished_at: string | null };

interface EventSeen {
  readonly id: string;
  readonly delivery_id: string | null;
}

/** The findings from the public API and the trackers after everything has ended. Lists contain the errors. */
export interface Findings {
  readonly accepted: number;
  readonly executions: number;
  readonly states: Readonly<Record<string, number>>;
  /**
   * Deliveries that never got a response of 2xx, so that the platform has stopped repeating them. They were not accepted, so they
   * are not lost.
   */
  readonly unanswered: string[];
  /** Responses of 4xx. */
  readonly refused: string[];
  /** Accepted, but the event or one of its executions is missing. */
  readonly lost: string[];
  /** Deliveries that became two events, and events with two executions of one task. */
  readonly ranTwice: string[];
  /** Executions that have neither succeeded nor failed at the end. */
  readonly stuck: string[];
  /** Failed, although fewer of its workers were killed than the limit of crashes. */
  readonly failed: string[];
  /**
   * Failed because each of its workers was killed: after that many crashes, the service assumes that the execution causes them.
   */
  readonly killed: number;
  /** Succeeded, but its answer or a confirmed note does not exist. */
  readonly missing: string[];
  /** Comments that exist more than once at the end. */
  readonly doubled: string[];
  /** Comments that temporarily existed twice, until the service deleted one. */
  readonly takenBack: string[];
  /** Comments that still show that an agent is working, after all runs have ended. */
  readonly unfinished: string[];
  readonly crashes: Crash[];
  /** Processes that had to be killed after SIGTERM. */
  readonly outlived: number;
  readonly unhandled: string[];
  /** Replicas that do not respond at the end. */
  readonly notServing: string[];
}

/** Ends all faults, waits until nothing changes any more, and verifies the results. */
export async function audit(world: World, { timeoutSeconds = 60 }: { timeoutSeconds?: number } = {}): Promise<Findings> {
  const notServing = await world.heal();
  await world.sender.allAnswered();
  await waitForEnd(world, timeoutSeconds * 1000);
  const reader = await aReader(world);
  const executions = await all<Execution>(reader, "/api/task-executions");
  const events = await all<EventSeen>(reader, "/api/webhook-events");
  const { replicas, sender } = world;
  const failed = executions.filter(({ state }) => state === "failed");
  const states: Record<string, number> = {};
  for (const { state } of executions) states[state] = (states[state] ?? 0) + 1;
  return {
    accepted: sender.sent.filter(({ receipt }) => receipt).length,
    executions: executions.length,
    states,
    notServing,
    unanswered: sender.sent.filter(({ receipt, refused }) => !receipt && !refused).map(({ id }) => id),
    refused: sender.sent.filter(({ refused }) => refused).map(({ id, refused }) => `${id}: ${refused}`),
    ...accounts(world, events, executions),
    ...writes(world, events, executions),
    stuck: executions.filter(isOpen).map((one) => `${one.id} ${one.state} attempts=${one.attempts} error=${one.error}`),
    failed: failed.filter((one) => !wasKilled(world, one)).map(({ id, error }) => `${id}: ${error}`),
    killed: failed.filter((one) => wasKilled(world, one)).length,
    crashes: replicas.flatMap(({ crashes }) => crashes),
    outlived: replicas.flatMap(({ ends }) => ends).filter((took) => took === null).length,
    unhandled: replicas.flatMap((replica) => replica.unhandled),
  };
}

const openStates = ["queued", "running", "held", "waiting"];
const isOpen = ({ state }: ExecutionSeen): boolean => openStates.includes(state);

/** Whether the execution reports as many worker crashes as there were kills during it. */
function wasKilled({ replicas }: World, { error, created_at, finished_at }: Execution): boolean {
  const deaths = Number(/worker crashed (\d+) times/.exec(error ?? "")?.[1] ?? Number.POSITIVE_INFINITY);
  const [from, to] = [Date.parse(created_at), Date.parse(finished_at ?? "")];
  const kills = replicas.flatMap((replica) => replica.kills).filter((at) => at >= from && at <= to);
  return kills.length >= deaths;
}

/** Whether each accepted delivery became one event with one execution per task. */
function accounts({ sender, options }: World, events: readonly EventSeen[], executions: readonly ExecutionSeen[]) {
  const byDelivery = Map.groupBy(events, ({ delivery_id }) => delivery_id);
  const byEvent = Map.groupBy(executions, ({ event_id }) => event_id);
  const lost: string[] = [];
  const ranTwice: string[] = [];
  for (const { id, receipt, twice } of sender.sent) {
    const its = byDelivery.get(id) ?? [];
    if (its.length > 1 || twice.length > 0) ranTwice.push(`${id}: ${its.length} events, ${twice.length} further acceptances`);
    if (!receipt) continue;
    if (!its.some((event) => event.id === receipt.event_id)) lost.push(`${id}: its event ${receipt.event_id} is missing`);
    for (const task of options.tasks) {
      const runs = (byEvent.get(receipt.event_id) ?? []).filter(({ task_id }) => task_id === task).length;
      if (runs === 0) lost.push(`${id}: no execution of ${task} (event ${receipt.event_id})`);
      if (runs > 1) ranTwice.push(`${id}: ${runs} executions of ${task}`);
    }
  }
  return { lost, ranTwice };
}

/** Compares the contents of the trackers with the executions. */
function writes({ trackers, sender, ledger }: World, events: readonly EventSeen[], executions: readonly ExecutionSeen[]) {
  const standing = new Map<string, number>();
  for (const tracker of trackers.list) {
    for (const text of tracker.standing()) {
      const key = writtenIn(text)?.key;
      if (key) standing.set(key, (standing.get(key) ?? 0) + 1);
    }
  }
  const doubled = [...standing]
    .filter(([, count]) => count > 1)
    .map(([key, count]) => `${key} × ${count}, posted at ${ledger.history(key)}`);
  const takenBack = trackers.list.flatMap((tracker) => tracker.takenBack()).map((text) => writtenIn(text)?.key ?? text);
  // Also of deliveries whose response was lost each time: their events are stored, and run.
  const sentById = new Map(sender.sent.map((sent) => [sent.id, sent]));
  const byEvent = new Map(events.flatMap(({ id, delivery_id }) => [[id, sentById.get(delivery_id ?? "")] as const]));
  const finals = executions
    .filter(({ state, task_id }) => state === "succeeded" && task_id !== "living")
    .flatMap(({ event_id, task_id }) => {
      const sent = byEvent.get(event_id ?? "");
      return sent ? [keyOf(sent.number, task_id, "final")] : [];
    });
  const missing = [...finals, ...ledger.confirmed].filter((key) => key !== "" && !standing.has(key));
  const unfinished = trackers.list.flatMap((tracker) => tracker.standing().filter(isSign));
  const living = livingComments(byEvent, executions, standing);
  return {
    doubled: [...doubled, ...living.doubled],
    missing: [...missing, ...living.missing],
    takenBack,
    unfinished,
  };
}

/**
 * Of the runs on one issue, one comment shows the last answer: each has replaced the previous one. Instead of an answer, it may
 * show why a later run failed.
 */
function livingComments(
  byEvent: ReadonlyMap<string, Sent | undefined>,
  executions: readonly ExecutionSeen[],
  standing: ReadonlyMap<string, number>,
) {
  const sentOf = (state: string) =>
    executions
      .filter((one) => one.task_id === "living" && one.state === state)
      .flatMap(({ event_id }) => byEvent.get(event_id ?? "") ?? []);
  const issueOf = ({ source, issue }: Sent) => `${source} issue ${issue}`;
  const withFailure = new Set(sentOf("failed").map(issueOf));
  const byIssue = [...Map.groupBy(sentOf("succeeded"), issueOf)];
  const counted = byIssue.map(([issue, sent]) => {
    const keys = sent.map(({ number }) => keyOf(number, "living", "final"));
    const there = keys.filter((key) => standing.has(key));
    return {
      issue,
      what: `the living comment of ${issue}: ${there.join(", ") || "none"} of ${keys.join(", ")}`,
      count: there.length,
    };
  });
  return {
    missing: counted.filter(({ count, issue }) => count === 0 && !withFailure.has(issue)).map(({ what }) => what),
    doubled: counted.filter(({ count }) => count > 1).map(({ what }) => what),
  };
}

/** Maximum wait between two signs of progress, which is longer than the wait before the last retry of an execution. */
async function waitForEnd(world: World, timeoutMs: number): Promise<void> {
  let open = Number.POSITIVE_INFINITY;
  let seen = "";
  let since = performance.now();
  while (open > 0 && performance.now() - since < timeoutMs) {
    const counts = await Promise.all(openStates.map((state) => total(world, state)));
    if (counts.every((count) => count !== null)) open = counts.reduce((sum, count) => sum + (count ?? 0), 0);
    const now = `${counts} ${world.ledger.lastChange}`;
    if (now !== seen) since = performance.now();
    seen = now;
    await sleep(250);
  }
  // A frozen process, or a request in flight, may still write. The service looks for duplicate writes one window later.
  const quiet = Math.max(10, world.options.lease) * 1000 + 8000;
  const began = performance.now();
  while (performance.now() - Math.max(world.ledger.lastChange, began) < quiet && performance.now() - began < 90_000)
    await sleep(100);
}

async function total({ replicas }: World, state: string): Promise<number | null> {
  for (const { client } of replicas) {
    try {
      const { status, headers } = await client.get(`/api/task-executions?limit=1&state=${state}`, { timeout: 5000 });
      if (status === 200) return Number(headers.get("x-total-count"));
    } catch {
      // The next replica may respond.
    }
  }
  return null;
}

/** Reads a path of the API from any replica that responds. */
type Reader = <T>(path: string) => Promise<T>;

async function aReader({ replicas }: World): Promise<Reader> {
  return <T>(path: string) =>
    eventually(
      async () => {
        for (const { client } of replicas) {
          const { status, body } = await client.get<T>(path, { timeout: 20_000 }).catch(() => ({ status: 0, body: null as T }));
          if (status === 200) return body;
        }
        throw new Error(`no replica answers GET ${path}`);
      },
      { timeout: 60_000, interval: 500 },
    ) as Promise<T>;
}

async function all<T>(read: Reader, path: string): Promise<T[]> {
  const rows: T[] = [];
  for (;;) {
    const page = await read<T[]>(`${path}?limit=1000&offset=${rows.length}`);
    rows.push(...page);
    if (page.length < 1000) return rows;
  }
}
