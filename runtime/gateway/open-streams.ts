import { problem } from "@signalbox/schema/problem";
import { offerSeconds } from "../execution/run.ts";
import type { Bus } from "../platform/bus.ts";
import { isUniqueViolation, type Sql } from "../platform/database/client.ts";
import { newId } from "../platform/ids.ts";
import type { Log } from "../platform/log.ts";
import * as queries from "./queries.ts";
import { TaskStream } from "./task-stream.ts";

/** How long a stream counts as open without a sign of life from the replica that serves it, seconds. */
const streamSeconds = 15;
/** How often this replica looks after its streams, milliseconds: also the net under notices that got lost. */
const sweepMs = 3_000;
/** Most executions that one look takes. */
const mostAtOnce = 64;

export interface OpenStreams {
  /** The executions for one stream, until `signal` is aborted. What is not completed by then goes back to the queue. */
  receive(session: queries.Session, maxInFlight: number, signal: AbortSignal): AsyncIterable<queries.HandedOver>;
  /** Waits until what ended streams held is given back. */
  close(): Promise<void>;
}

export interface StreamParts {
  readonly sql: Sql;
  readonly bus: Bus;
  readonly log: Log;
  readonly leaseSeconds: number;
}

/** The streams of one agent on this replica, and whether somebody is looking for executions for them. */
interface Desk {
  readonly agentId: string;
  /** The one that was last given something stands last. */
  readonly streams: Map<string, TaskStream>;
  looking: boolean;
  again: boolean;
}

/** Hands executions that are offered to agents to the streams that are open on this replica. */
export function openStreams({ sql, bus, log, leaseSeconds }: StreamParts): OpenStreams {
  const desks = new Map<string, Desk>();
  const leaving = new Set<Promise<void>>();
  const all = () => [...desks.values()].flatMap((desk) => [...desk.streams.values()]);

  bus.on("gateway", (agentId) => look(desks.get(agentId)));
  const freed = (executionId: string) => {
    for (const desk of desks.values())
      for (const stream of desk.streams.values()) if (stream.held.delete(executionId)) look(desk);
  };
  bus.on("handed-in", freed);
  bus.on("cancel", freed);

  /** One look at a time for each agent; who comes meanwhile is seen to by one more. */
  function look(desk: Desk | undefined): void {
    if (!desk) return;
    desk.again = true;
    if (desk.looking) return;
    desk.looking = true;
    handOut(desk).catch((error) => log.warn("offered executions could not be taken; they are looked for again", { error }));
  }

  async function handOut(desk: Desk): Promise<void> {
    try {
      while (desk.again) {
        desk.again = false;
        const slots = freeSlots(desk);
        if (slots.length === 0) continue;
        try {
          const taken = await queries.takeOffered(sql, desk.agentId, slots, leaseSeconds);
          for (const one of taken) await give(desk, one);
          if (taken.length > 0) desk.again = true;
        } catch (error) {
          if (!isUniqueViolation(error)) throw error;
          // Another replica took something about the same subject first: look again.
          desk.again = true;
        }
      }
    } finally {
      // Together with the last look at `again`, or a notice right in between would be seen to by nobody.
      desk.looking = false;
    }
  }

  async function give(desk: Desk, one: queries.HandedOver): Promise<void> {
    const stream = desk.streams.get(one.stream_id);
    if (!stream) return release(desk, one.stream_id); // it has ended meanwhile
    desk.streams.delete(stream.id);
    desk.streams.set(stream.id, stream);
    stream.give(one);
  }

  async function release(desk: Desk, streamId: string): Promise<void> {
    try {
      const released = await queries.releaseStream(sql, streamId, desk.agentId);
      // First of all, lest the executions be offered to an agent that has gone.
      if (desk.streams.size === 0) await bus.publish("streams");
      if (released) await bus.publish("queue");
    } catch (error) {
      log.warn("a stream's tasks were not given back; their leases will end", { error });
    }
  }

  async function sweep(): Promise<void> {
    const streams = all();
    if (streams.length === 0) return;
    const ids = streams.map(({ id }) => id);
    const believed = streams.flatMap((stream) => [...stream.held].map((id) => ({ stream, id })));
    const kept = await queries.renewStreams(sql, ids, streamSeconds);
    await queries.keepOffers(sql, [...desks.keys()], offerSeconds);
    const held = await queries.heldBy(sql, ids);
    for (const { stream, id } of believed) if (!held.has(id)) stream.held.delete(id);
    for (const stream of streams) if (!kept.has(stream.id)) stream.end(await whyEnded(sql, stream));
    for (const desk of desks.values()) look(desk);
  }
  const timer = setInterval(() => sweep().catch((error) => log.warn("streams of agents not looked after", { error })), sweepMs);

  async function join(stream: TaskStream): Promise<Desk> {
    const { id, session } = stream;
    await queries.insertStream(sql, { id, agent_id: session.agent_id, session_hash: session.id_hash }, streamSeconds);
    const desk = desks.get(session.agent_id) ?? { agentId: session.agent_id, streams: new Map(), looking: false, again: false };
    desks.set(session.agent_id, desk);
    desk.streams.set(id, stream);
    return desk;
  }

  async function leave(desk: Desk, stream: TaskStream): Promise<void> {
    desk.streams.delete(stream.id);
    if (desk.streams.size === 0 && desks.get(desk.agentId) === desk) desks.delete(desk.agentId);
    await release(desk, stream.id);
  }

  return {
    receive: async function* (session, maxInFlight, signal) {
      const stream = new TaskStream(newId(), session, maxInFlight);
      const desk = await join(stream);
      try {
        // Where that fails the stream must go again: nobody would read what it is given.
        if (desk.streams.size === 1) await bus.publish("streams");
        look(desk);
        yield* stream.until(signal);
      } finally {
        const left = leave(desk, stream);
        leaving.add(left);
        await left.finally(() => leaving.delete(left));
      }
    },
    close: async () => {
      clearInterval(timer);
      await Promise.all(leaving);
    },
  };
}

/** Ids of streams that may have more, the idlest first, each as often as it has room. */
function freeSlots({ streams }: Desk): string[] {
  const slots: string[] = [];
  for (let round = 1; slots.length < mostAtOnce; round++) {
    const before = slots.length;
    for (const stream of streams.values()) if (stream.room >= round && slots.length < mostAtOnce) slots.push(stream.id);
    if (slots.length === before) break;
  }
  return slots;
}

async function whyEnded(sql: Sql, { session }: TaskStream): Promise<Error> {
  if (await queries.findSession(sql, session.id_hash))
    return problem("bad_gateway", "No Heartbeat came before the lease of a task ended; somebody else has it now. Connect again.");
  return problem("unauthenticated", "The session has ended. Call RegisterAgent for a new one.");
}
