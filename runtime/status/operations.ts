import type { Output } from "@signalbox/schema/operation";
import * as status from "@signalbox/schema/status";
import { listPauses } from "../pauses/queries.ts";
import type { Sql } from "../platform/database/client.ts";
import { handle } from "../platform/operation.ts";
import { version } from "../platform/version.ts";
import type { Board } from "./board.ts";
import { listReplicas, readQueue } from "./queries.ts";

export interface StatusParts {
  readonly board: Pick<Board, "read">;
  /** Id of this replica. */
  readonly replica: string;
}

type Status = Output<typeof status.get>;
/** Longest wait for the figures of the queue, milliseconds: without the database there are none. */
const patienceMs = 2_000;

export const statusOperation = ({ board, replica }: StatusParts) =>
  handle(status.get, async (_, { sql }) => {
    const [checks, stored] = await Promise.all([board.read(), readStored(sql, replica)]);
    const { queue, paused, replicas } = stored ?? { queue: null, paused: [], replicas: [] };
    const state = stateOf(checks, stored && { paused, replicas });
    return { state, checks, queue, paused, replicas, version, timestamp: new Date().toISOString() };
  });

type Stored = Pick<Status, "queue" | "paused" | "replicas">;

async function readStored(sql: Sql, replica: string): Promise<Stored | null> {
  const read = async () => ({
    queue: await readQueue(sql),
    paused: (await listPauses(sql, { limit: 1000, offset: 0 })).items,
    replicas: await listReplicas(sql, replica),
  });
  const late = new Promise<null>((done) => setTimeout(() => done(null), patienceMs).unref());
  return Promise.race([read().catch(() => null), late]);
}

function stateOf(checks: Status["checks"], stored: Pick<Stored, "paused" | "replicas"> | null): Status["state"] {
  if (!stored || stored.paused.some(({ scope }) => scope === "all")) return "stopped";
  const works = stored.replicas.some(({ role }) => role !== "api");
  if (!works) return "stopped";
  const isWell = checks.every(({ state }) => state === "ok" || state === "unknown");
  return isWell && stored.paused.length === 0 ? "ok" : "degraded";
}
