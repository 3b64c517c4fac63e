import { list as listExecutions } from "@signalbox/schema/executions";
import type { Output } from "@signalbox/schema/operation";
import type { get as getStatus } from "@signalbox/schema/status";
import { list as listEvents } from "@signalbox/schema/webhooks";
import { amountText } from "../platform/amount-text.ts";
import { toSecond } from "./output.ts";
import { ask, RequestError } from "./request.ts";

export type Status = Output<typeof getStatus>;
type Queue = NonNullable<Status["queue"]>;
type Executions = Output<typeof listExecutions>["items"];
type Events = Output<typeof listEvents>["items"];

/** Working connections are listed individually up to this number. */
const maxConnections = 20;
const hourMs = 3_600_000;
/** Number of rows that are read of each list. */
const maxRows = 100;

/** The status as lines of text. Also requests and shows what fills the queue, what failed and which webhooks were refused. */
export async function statusLines(status: Status): Promise<string[]> {
  const { checks, queue, paused, replicas, agents, version, timestamp } = status;
  const problems = checks.filter((check) => check.state !== "ok");
  return [
    `Signalbox ${version}: ${stateText(status, problems.length)}`,
    `Queue: ${queue ? queueLine(queue) : "unknown"}`,
    `Replicas: ${replicas.map(replicaText).join(", ") || "none"}`,
    ...(agents.length > 0
      ? [`Connected agents: ${agents.map(({ agent_id, running }) => `${agent_id} (${runsText(running)})`).join(", ")}`]
      : []),
    ...paused.map(
      ({ scope, id, reason, paused_at }) =>
        `Paused: ${[scope, id].filter(Boolean).join(" ")} since ${toSecond(paused_at)}: ${reason}`,
    ),
    ...problems.map(
      ({ name, state: how, since, message, next_try_at: next }) =>
        `${how.toUpperCase()} ${name} since ${toSecond(since)}: ${next === null ? message : `${message.replace(/\.$/, "")}; next try at ${toSecond(next)}`}`,
    ),
    ...(problems.length === 0 ? [`All ${checks.length} checks are ok.`] : []),
    // These lines show the remaining rate limit and, during a rotation, when the previous secret was last used.
    ...checks
      .filter((check) => check.state === "ok" && check.name.startsWith("connection:"))
      .slice(0, maxConnections)
      .map(({ name, message }) => `ok ${name}: ${message}`),
    ...(queue ? await detailsOf(queue, timestamp) : []),
  ];
}

/** A pause is the operator's own doing, so it is not shown as a failure. */
function stateText({ state, paused }: Status, problems: number): string {
  if (paused.some(({ scope }) => scope === "all")) return `${state}, because everything is paused`;
  return state === "degraded" && problems === 0 ? "degraded, because part of it is paused" : state;
}

const replicaText = ({ host, role, running, silent_seconds: silent }: Status["replicas"][number]): string =>
  `${host} (role ${role}, ${silent ? `silent for ${silent} s` : runsText(running)})`;

const runsText = (running: number): string => `${amountText(running, "execution")} running`;

function queueLine({ queued, running, held, waiting, failed_last_hour, oldest_queued_seconds: oldest }: Queue): string {
  const age = oldest === null ? "" : ` (oldest for ${oldest < 120 ? `${oldest} s` : `${Math.round(oldest / 60)} min`})`;
  return `${queued} queued${age}, ${running} running, ${held} held, ${waiting} waiting, ${failed_last_hour} failed in the last hour`;
}

/** Omits the lists that the API key may not read. If a list cannot be read for another reason, a line says so. */
async function detailsOf(queue: Queue, now: string): Promise<string[]> {
  const all = {
    "queued executions": newestQueued(queue),
    "held executions": reasonsOf("held", queue.held),
    "waiting executions": reasonsOf("waiting", queue.waiting),
    "failed executions": recentFailures(queue, now),
    "refused webhooks": recentRefusals(),
  };
  const lines = Object.entries(all).map(([what, listed]) =>
    listed.catch((error) => {
      if (!(error instanceof RequestError)) throw error;
      return error.status === 403 ? [] : [`Failed to list the ${what}: ${error.message}`];
    }),
  );
  return (await Promise.all(lines)).flat();
}

/** The projects whose executions fill the queue. */
async function newestQueued({ queued }: Queue): Promise<string[]> {
  if (queued < 20) return [];
  const rows = await ask<Executions>(listExecutions, { state: "queued", limit: maxRows });
  const projects = largestFirst(Map.groupBy(rows, ({ subject }) => subject?.replace(/#[^#]*$/, "") ?? "no issue"));
  return [`Newest ${rows.length} queued: ${projects.map(([project, of]) => `${of.length} from ${project}`).join(", ")}`];
}

const nextSteps = {
  held: `To release them now: signalbox task-executions bulk --action release --filter '{"state": "held"}' shows how many match; repeat it with --confirm and the token that it prints`,
  waiting: "To list them: signalbox runs --state waiting. To approve or reject one: signalbox task-executions approve --help",
};

/** Why executions are held or wait, and how to continue them. */
async function reasonsOf(state: "held" | "waiting", count: number): Promise<string[]> {
  if (count === 0) return [];
  const rows = await ask<Executions>(listExecutions, { state, limit: maxRows });
  const groups = Map.groupBy(rows, ({ held_reason, waiting_for }) =>
    failureKind(held_reason ?? waiting_for ?? "no reason is stored"),
  );
  const lines = largestFirst(groups).map(([kind, found]) => {
    const [newest] = found;
    const until =
      state === "waiting" ? "" : `, ${newest?.held_until ? `until ${toSecond(newest.held_until)}` : "until released"}`;
    const name = state === "held" ? "Held" : "Waiting";
    return `${name}: ${sizeOf(found, rows.length)} × "${newest?.held_reason ?? newest?.waiting_for ?? kind}"${until}`;
  });
  return [...lines, nextSteps[state]];
}

/** What differs between errors with the same cause, as in the console: ids, addresses of requests, and numbers except statuses. */
const varyingParts = /[0-9a-f]{8}-[0-9a-f-]{27}|(?<=\b(?:GET|POST|PUT|PATCH|DELETE) )[^\s:]+|(?<!answered \d*)\d+/g;
const failureKind = (error: string): string => error.replace(varyingParts, "·");

/** The failures of the last hour by error, because the check of a connection does not show that the platform refuses comments. */
async function recentFailures({ failed_last_hour }: Queue, now: string): Promise<string[]> {
  if (failed_last_hour === 0) return [];
  const finished_from = toSecond(new Date(Date.parse(now) - hourMs).toISOString());
  const recent = await ask<Executions>(listExecutions, { state: "failed", finished_from, limit: maxRows });
  const groups = Map.groupBy(recent, ({ error }) => failureKind(error ?? "no error is stored"));
  const shown = largestFirst(groups);
  const others = recent.filter((one) => !shown.some(([, rows]) => rows.includes(one)));
  const lines = shown.map(
    ([kind, rows]) =>
      `Failed in the last hour: ${sizeOf(rows, recent.length)} × "${rows[0]?.error ?? kind}", most recently on ${rows[0]?.subject ?? "no issue"}`,
  );
  return [
    ...lines,
    ...(others.length > 0 ? [`Failed in the last hour with other errors: ${sizeOf(others, recent.length)}`] : []),
    `To list them: signalbox runs --state failed --finished-from ${finished_from}. To restart them together: signalbox task-executions bulk --help`,
  ];
}

async function recentRefusals(): Promise<string[]> {
  const groups = await refusalsOfLastDay();
  const lines = largestFirst(groups).map(
    ([words, events]) =>
      `Webhooks refused in the last day: ${sizeOf(events, rowsIn(groups))} × ${words}, most recently at ${toSecond(events[0]?.received_at ?? "")}`,
  );
  return lines.length > 0 ? [...lines, "To see what to do, run: signalbox doctor"] : [];
}

/** The webhooks that were refused in the last day, by source and reason. */
export async function refusalsOfLastDay(): Promise<Map<string, Events>> {
  const from = new Date(Date.now() - 24 * hourMs).toISOString();
  const refused = await ask<Events>(listEvents, { outcome: "refused", from, limit: maxRows });
  return Map.groupBy(refused, ({ source, reason }) => `${source}: ${reason ?? "no reason is stored"}`);
}

/** The size of a group. If more rows may exist than were read, also names the number of rows in which it was counted. */
export const sizeOf = (group: readonly unknown[], read: number): string =>
  read < maxRows ? `${group.length}` : `${group.length} (of the latest ${maxRows})`;

export const rowsIn = (groups: ReadonlyMap<string, readonly unknown[]>): number =>
  [...groups.values()].reduce((sum, { length }) => sum + length, 0);

/** The three largest groups. */
const largestFirst = <T>(groups: ReadonlyMap<string, T[]>): [string, T[]][] =>
  [...groups].sort(([, a], [, b]) => b.length - a.length).slice(0, 3);
