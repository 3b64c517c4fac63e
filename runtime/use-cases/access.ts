import { Problem, type ProblemCode } from "@signalbox/schema/problem";
import { type Json, type OperationsAccess, PluginError, type PluginErrorCode, type TrackersAccess } from "@signalbox/sdk";
import type { Sql } from "../platform/database/client.ts";
import type { Log } from "../platform/log.ts";
import { type Actor, type BoundOperation, invoke } from "../platform/operation.ts";
import type { Connection, Connections } from "../plugins/connections.ts";
import type { Receiver } from "../webhooks/receive.ts";

interface AccessOptions {
  readonly sql: Sql;
  readonly log: Log;
  readonly connections: Pick<Connections, "fromEnvironment" | "environment">;
  readonly trackerUpdates: boolean;
}
interface StartedService {
  readonly operations: readonly BoundOperation[];
  readonly receiver: Receiver;
}

/** Timeout of one call of a tracker. */
const callMs = 60_000;
const actor: Actor = { kind: "anonymous", name: "use case", scopes: ["read", "write", "admin"] };

/** The capabilities `operations` and `trackers`. They can be called once the service has started. */
export function openAccess({ sql, log, connections, trackerUpdates }: AccessOptions) {
  let service: StartedService | null = null;
  const requireService = (): StartedService => {
    if (service) return service;
    throw new PluginError(
      "unavailable",
      "The service has not started yet: call operations and trackers from the plugin's functions, not from setup.",
    );
  };
  const operations: OperationsAccess = {
    call: async (id, input, { on_behalf_of: name = actor.name } = {}) => {
      const operation = requireService().operations.find(({ op }) => op.id === id);
      if (!operation || operation.op.streaming) throw new PluginError("invalid_input", `There is no operation ${id} to call.`);
      try {
        return (await invoke(operation, input, {
          sql,
          log,
          actor: { ...actor, name },
          signal: AbortSignal.timeout(callMs),
        })) as Json;
      } catch (error) {
        throw error instanceof Problem ? asPluginError(error) : error;
      }
    },
  };
  const writableConnection = (name: string): Connection | null => {
    const connection = connections.environment(name);
    return trackerUpdates && connection && connection.missingSettings.length === 0 ? connection : null;
  };
  const callOf = (connection: Connection, { key, signal }: { key: string; signal: AbortSignal }) => ({
    key,
    connection: connection.settings,
    signal: AbortSignal.any([signal, AbortSignal.timeout(callMs)]),
  });
  const trackers: TrackersAccess = {
    configured: () =>
      connections
        .fromEnvironment()
        .filter((one) => one.missingSettings.length === 0)
        .map((one) => one.source.name),
    createIssue: async (name, issue, call) => {
      const connection = writableConnection(name);
      const source = connection?.source.adapter;
      if (!connection || !source?.createIssue) return null;
      const { event, key, url } = await source.createIssue(issue, callOf(connection, call));
      if (event) await requireService().receiver.acceptEvent(connection, event, { kind: "own" });
      return { key, url };
    },
    projectId: async (name, project, call) => {
      const connection = connections.environment(name);
      const source = connection?.source.adapter;
      if (!connection || connection.missingSettings.length > 0 || !source?.projectId) return project;
      return source.projectId(project, callOf(connection, call));
    },
    closeIssue: async (name, issue, call) => {
      const connection = writableConnection(name);
      const source = connection?.source.adapter;
      if (!connection || !source?.closeIssue) return false;
      await source.closeIssue(issue, callOf(connection, call));
      return true;
    },
  };
  const use = (parts: StartedService): void => {
    service = parts;
  };
  return { operations, trackers, use };
}

const codes: Partial<Record<ProblemCode, PluginErrorCode>> = {
  bad_request: "invalid_input",
  not_found: "not_found",
  already_exists: "conflict",
  wrong_state: "conflict",
  changed_meanwhile: "conflict",
  unavailable: "unavailable",
  bad_gateway: "unavailable",
};
const asPluginError = (fault: Problem): PluginError =>
  new PluginError(codes[fault.code] ?? "failed", fault.message, { cause: fault });
