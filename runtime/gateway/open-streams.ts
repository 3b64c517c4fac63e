import { problem } from "@signalbox/schema/problem";
import { offerSeconds } from "../execution/run.ts";
import { within } from "../platform/abortable.ts";
import type { Bus, Topic } from "../platform/bus.ts";
import type { Sql } from "../platform/database/client.ts";
import { newId } from "../platform/ids.ts";
import type { Log } from "../platform/log.ts";
import { type Loop, startLoop } from "../platform/loop.ts";
import { AgentStreams } from "./agent-streams.ts";
import * as queries from "./queries.ts";
import { TaskStream } from "./task-stream.ts";

/** How long a stream counts as open without renewal by the replica that serves it, seconds. */
const streamSeconds = 15;
/** Interval at which this replica renews its streams and looks for offers whose message was lost, in milliseconds. */
const sweepMs = 3_000;
/** How long a message to the replicas may take, in milliseconds: longer than a statement may take. */
const publishMs = 10_000;

interface OpenStreamsOptions {
  readonly sql: Sql;
  readonly bus: Bus;
  readonly log: Log;
  readonly leaseSeconds: number;
  readonly keys: queries.ConfiguredKeys;
  /** Default: `publishMs`. */
  readonly publishMs?: number;
}

/** The streams of agents that are open on this replica. Hands them the executions that are offered to their agents. */
export class OpenStreams {
  readonly #options: OpenStreamsOptions;
  readonly #agents = new Map<string, AgentStreams>();
  readonly #leaving = new Set<Promise<void>>();
  readonly #sweeps: Loop;

  constructor(options: OpenStreamsOptions) {
    const { bus, log } = options;
    this.#options = options;
    bus.on("gateway", (agentId) => this.#agents.get(agentId)?.startRound());
    bus.on("handed-in", (executionId) => this.#finished(executionId));
    bus.on("cancel", (executionId) => this.#finished(executionId));
    const onError = (error: unknown) => log.warn("failed to renew the streams of agents; retrying", { error });
    this.#sweeps = startLoop({ everyMs: sweepMs, run: () => this.#sweep(), onError });
  }

  /** The executions for one stream, until `signal` is aborted. Then unfinished executions return to the queue. */
  async *receive(session: queries.Session, maxInFlight: number, signal: AbortSignal): AsyncGenerator<queries.AssignedExecution> {
    const stream = new TaskStream(newId(), session, maxInFlight);
    const agent = await this.#join(stream);
    let isAnnounced = false;
    try {
      // If this fails, the stream must be closed, because other replicas would offer it nothing.
      await agent.announced();
      isAnnounced = true;
      agent.startRound();
      yield* stream.executions(signal);
    } finally {
      await this.#untilClose(this.#leave(agent, stream, isAnnounced));
    }
  }

  /** Waits until the tasks of ended streams are back in the queue. */
  async close(): Promise<void> {
    await Promise.all([this.#sweeps.stop(), ...this.#leaving]);
  }

  async #untilClose(leaving: Promise<void>): Promise<void> {
    this.#leaving.add(leaving);
    await leaving.finally(() => this.#leaving.delete(leaving));
  }

  #finished(executionId: string): void {
    for (const agent of this.#agents.values())
      for (const stream of agent.streams.values()) if (stream.leasedIds.delete(executionId)) agent.startRound();
  }

  async #join(stream: TaskStream): Promise<AgentStreams> {
    const { id, session } = stream;
    const row = { id, agent_id: session.agent_id, session_hash: session.id_hash };
    await queries.insertStream(this.#options.sql, row, streamSeconds);
    const agent = this.#agents.get(session.agent_id) ?? this.#openAgent(session.agent_id);
    this.#agents.set(session.agent_id, agent);
    agent.streams.set(id, stream);
    return agent;
  }

  #openAgent(agentId: string): AgentStreams {
    const { sql, log, leaseSeconds, keys } = this.#options;
    const agent: AgentStreams = new AgentStreams(agentId, {
      take: (slots) => queries.claimOffered(sql, agentId, { slots, leaseSeconds, keys }),
      announce: () => this.#publish("streams"),
      release: (streamId) => this.#release(agent, streamId),
      onError: (error) => log.warn("failed to take offered executions; retrying", { agent_id: agentId, error }),
    });
    return agent;
  }

  async #leave(agent: AgentStreams, stream: TaskStream, isAnnounced: boolean): Promise<void> {
    agent.streams.delete(stream.id);
    if (agent.streams.size === 0 && this.#agents.get(agent.agentId) === agent) this.#agents.delete(agent.agentId);
    await this.#release(agent, stream.id, isAnnounced);
  }

  /** `isAnnounced`: otherwise the replicas may not be reachable, so the caller does not wait until they know the end of the stream. */
  async #release(agent: AgentStreams, streamId: string, isAnnounced = true): Promise<void> {
    const { sql, log } = this.#options;
    const onLate = (error: unknown) =>
      log.warn("failed to announce that a stream has ended; the other replicas find out within seconds", {
        agent_id: agent.agentId,
        error,
      });
    try {
      const released = await queries.releaseStream(sql, streamId, agent.agentId);
      // Runs first, so that no execution is offered to an agent that has disconnected.
      if (agent.streams.size === 0) {
        const announcement = this.#untilClose(this.#publish("streams").catch(onLate));
        if (isAnnounced) await announcement;
      }
      if (released) await this.#publish("queue").catch(onLate);
    } catch (error) {
      log.warn("failed to return a stream's tasks to the queue; their leases will expire", { agent_id: agent.agentId, error });
    }
  }

  /** All streams of an agent wait for the same announcement, so one without an answer would hold every one of them. */
  #publish(topic: Topic): Promise<void> {
    const { bus, publishMs: ms = publishMs } = this.#options;
    const late = () =>
      problem("unavailable", `Signalbox could not reach its replicas within ${ms / 1000} seconds. Connect again.`, {
        retryAfter: 2,
      });
    return within(bus.publish(topic), ms, late);
  }

  async #sweep(): Promise<void> {
    const { sql, keys } = this.#options;
    const streams = [...this.#agents.values()].flatMap((agent) => [...agent.streams.values()]);
    if (streams.length === 0) return;
    const ids = streams.map(({ id }) => id);
    const streamTasks = streams.flatMap((stream) => [...stream.leasedIds].map((id) => ({ stream, id })));
    const renewedIds = await queries.renewStreams(sql, { ids, seconds: streamSeconds, keys });
    await queries.extendOffers(sql, [...this.#agents.keys()], offerSeconds);
    const leased = await queries.listLeasedBy(sql, ids);
    for (const { stream, id } of streamTasks) if (!leased.has(id)) stream.leasedIds.delete(id);
    for (const stream of streams) if (!renewedIds.has(stream.id)) stream.end(await this.#whyEnded(stream));
    for (const agent of this.#agents.values()) agent.startRound();
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
