import { Problem, type ProblemCode } from "@signalbox/schema/problem";
import { type Json, type OperationsAccess, PluginError, type PluginErrorCode, type TrackersAccess } from "@signalbox/sdk";
import type { Sql } from "../platform/database/client.ts";
import type { Log } from "../platform/log.ts";
import { type Actor, type Bound, invoke } from "../platform/operation.ts";
import type { Connection, Connections } from "../plugins/connections.ts";
import type { Receiver } from "../webhooks/receive.ts";

interface AccessOptions {
  readonly sql: Sql;
  readonly log: Log;
  readonly connections: Pick<Connections, "all" | "environment">;
  readonly trackerUpdates: boolean;
}
interface Later {
  readonly bound: readonly Bound[];
  readonly inbox: Receiver;
}

/** Longest that a tracker may take over one call. */
const callMs = 60_000;
const actor: Actor = { kind: "anonymous", name: "use case", scopes: ["read", "write", "admin"] };

/** The capabilities `operations` and `trackers`, which answer once the service is put together. */
export function openAccess({ sql, log, connections, trackerUpdates }: AccessOptions) {
  let later: Later | null = null;
  const ready = (): Later => {
    if (later) return later;
    throw new PluginError(
      "unavailable",
      "The service has not started yet: operations and trackers are for calls, not for setup.",
    );
  };
  const operations: OperationsAccess = {
    call: async (id, input) => {
      const bound = ready().bound.find(({ op }) => op.id === id);
      if (!bound || bound.op.streaming) throw new PluginError("invalid_input", `There is no operation ${id} to call.`);
      try {
        return (await invoke(bound, input, { sql, log, actor, signal: AbortSignal.timeout(callMs) })) as Json;
      } catch (error) {
        throw error instanceof Problem ? asPluginError(error) : error;
      }
    },
  };
  const able = (name: string): Connection | null => {
    const connection = connections.environment(name);
    return trackerUpdates && connection && connection.missing.length === 0 ? connection : null;
  };
  const callOf = (connection: Connection, { key, signal }: { key: string; signal: AbortSignal }) => ({
    ...{ key, connection: connection.settings },
    signal: AbortSignal.any([signal, AbortSignal.timeout(callMs)]),
  });
  const trackers: TrackersAccess = {
    configured: () =>
      connections
        .all()
        .filter((one) => one.missing.length === 0)
        .map((one) => one.source.name),
    createIssue: async (name, issue, call) => {
      const connection = able(name);
      const source = connection?.source.source;
      if (!connection || !source?.createIssue) return null;
      const { event, key, url } = await source.createIssue(issue, callOf(connection, call));
      if (event) {
        const body = new TextEncoder().encode(JSON.stringify(event.payload));
        await ready().inbox.accept(connection, name, { headers: event.headers, body }, event.payload, { own: true });
      }
      return { key, url };
    },
    projectId: async (name, project, call) => {
      const connection = connections.environment(name);
      const source = connection?.source.source;
      if (!connection || connection.missing.length > 0 || !source?.projectId) return project;
      return source.projectId(project, callOf(connection, call));
    },
    closeIssue: async (name, issue, call) => {
      const connection = able(name);
      const source = connection?.source.source;
      if (!connection || !source?.closeIssue) return false;
      await source.closeIssue(issue, callOf(connection, call));
      return true;
    },
  };
  const use = (parts: Later): void => {
    later = parts;
  };
  return { operations, trackers, use };
}

const codes: Partial<Record<ProblemCode, PluginErrorCode>> = {
  ...{ bad_request: "invalid_input", not_found: "not_found", conflict: "conflict", unavailable: "unavailable" },
  bad_gateway: "unavailable",
};
const asPluginError = (fault: Problem): PluginError =>
  new PluginError(codes[fault.code] ?? "failed", fault.message, { cause: fault });
