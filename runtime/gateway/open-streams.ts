import { problem } from "@signalbox/schema/problem";
import { offerSeconds } from "../execution/run.ts";
import type { Bus } from "../platform/bus.ts";
import type { Sql } from "../platform/database/client.ts";
import { newId } from "../platform/ids.ts";
import type { Log } from "../platform/log.ts";
import { type Loop, startLoop } from "../platform/loop.ts";
import { AgentDesk } from "./agent-desk.ts";
import * as queries from "./queries.ts";
import { TaskStream } from "./task-stream.ts";

/** How long a stream counts as open without renewal by the replica that serves it, seconds. */
const streamSeconds = 15;
/** How often this replica renews its streams and looks for offers whose notice was lost, milliseconds. */
const sweepMs = 3_000;

export interface OpenStreamsOptions {
  readonly sql: Sql;
  readonly bus: Bus;
  readonly log: Log;
  readonly leaseSeconds: number;
  readonly keys: queries.ConfiguredKeys;
}

/** The streams of agents that are open on this replica. Hands them the executions that are offered to their agents. */
export class OpenStreams {
  readonly #options: OpenStreamsOptions;
  readonly #desks = new Map<string, AgentDesk>();
  readonly #leaving = new Set<Promise<void>>();
  readonly #sweeps: Loop;

  constructor(options: OpenStreamsOptions) {
    const { bus, log } = options;
    this.#options = options;
    bus.on("gateway", (agentId) => this.#desks.get(agentId)?.look());
    bus.on("handed-in", (executionId) => this.#finished(executionId));
    bus.on("cancel", (executionId) => this.#finished(executionId));
    const failed = (error: unknown) => log.warn("failed to renew the streams of agents; retrying", { error });
    this.#sweeps = startLoop({ everyMs: sweepMs, run: () => this.#sweep(), failed });
  }

  /** The executions for one stream, until `signal` is aborted. What is not completed by then goes back to the queue. */
  async *receive(session: queries.Session, maxInFlight: number, signal: AbortSignal): AsyncGenerator<queries.HandedOver> {
    const stream = new TaskStream(newId(), session, maxInFlight);
    const desk = await this.#join(stream);
    try {
      // If this fails, the stream must go: other replicas would not offer it anything.
      if (desk.streams.size === 1) await this.#options.bus.publish("streams");
      desk.look();
      yield* stream.until(signal);
    } finally {
      const left = this.#leave(desk, stream);
      this.#leaving.add(left);
      await left.finally(() => this.#leaving.delete(left));
    }
  }

  /** Waits until the tasks of ended streams are back in the queue. */
  async close(): Promise<void> {
    await Promise.all([this.#sweeps.stop(), ...this.#leaving]);
  }

  #finished(executionId: string): void {
    for (const desk of this.#desks.values())
      for (const stream of desk.streams.values()) if (stream.held.delete(executionId)) desk.look();
  }

  async #join(stream: TaskStream): Promise<AgentDesk> {
    const { id, session } = stream;
    const row = { id, agent_id: session.agent_id, session_hash: session.id_hash };
    await queries.insertStream(this.#options.sql, row, streamSeconds);
    const desk = this.#desks.get(session.agent_id) ?? this.#newDesk(session.agent_id);
    this.#desks.set(session.agent_id, desk);
    desk.streams.set(id, stream);
    return desk;
  }

  #newDesk(agentId: string): AgentDesk {
    const { sql, log, leaseSeconds, keys } = this.#options;
    const desk: AgentDesk = new AgentDesk(agentId, {
      take: (slots) => queries.takeOffered(sql, agentId, { slots, leaseSeconds, keys }),
      release: (streamId) => this.#release(desk, streamId),
      failed: (error) => log.warn("failed to take offered executions; retrying", { agent_id: agentId, error }),
    });
    return desk;
  }

  async #leave(desk: AgentDesk, stream: TaskStream): Promise<void> {
    desk.streams.delete(stream.id);
    if (desk.streams.size === 0 && this.#desks.get(desk.agentId) === desk) this.#desks.delete(desk.agentId);
    await this.#release(desk, stream.id);
  }

  async #release(desk: AgentDesk, streamId: string): Promise<void> {
    const { sql, bus, log } = this.#options;
    try {
      const released = await queries.releaseStream(sql, streamId, desk.agentId);
      // First, so that no execution is offered to an agent that has disconnected.
      if (desk.streams.size === 0) await bus.publish("streams");
      if (released) await bus.publish("queue");
    } catch (error) {
      log.warn("failed to return a stream's tasks to the queue; their leases will expire", { agent_id: desk.agentId, error });
    }
  }

  async #sweep(): Promise<void> {
    const { sql, keys } = this.#options;
    const streams = [...this.#desks.values()].flatMap((desk) => [...desk.streams.values()]);
    if (streams.length === 0) return;
    const ids = streams.map(({ id }) => id);
    const believed = streams.flatMap((stream) => [...stream.held].map((id) => ({ stream, id })));
    const kept = await queries.renewStreams(sql, { ids, seconds: streamSeconds, keys });
    await queries.keepOffers(sql, [...this.#desks.keys()], offerSeconds);
    const held = await queries.heldBy(sql, ids);
    for (const { stream, id } of believed) if (!held.has(id)) stream.held.delete(id);
    for (const stream of streams) if (!kept.has(stream.id)) stream.end(await this.#whyEnded(stream));
    for (const desk of this.#desks.values()) desk.look();
  }

  async #whyEnded({ session }: TaskStream): Promise<Error> {
    if (await queries.findSession(this.#options.sql, session.id_hash, this.#options.keys))
      return problem(
        "bad_gateway",
        "A task's lease expired without a Heartbeat, and the task went back to the queue. Connect again.",
      );
    return problem("unauthenticated", "The session has ended. Call RegisterAgent for a new one.");
  }
}
