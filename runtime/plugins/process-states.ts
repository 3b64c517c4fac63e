import type { Bus } from "../platform/bus.ts";
import type { Sql } from "../platform/database/client.ts";
import type { Log, Report } from "../platform/log.ts";
import type { LoadedThirdParty } from "./load-third-party.ts";
import { setQuarantine } from "./queries.ts";
import type { ProcessStatus, SupervisedProcess } from "./sandbox/supervise.ts";

export type StateListener = (id: string, status: ProcessStatus) => void;

interface ProcessStatesDeps {
  readonly sql: Sql;
  readonly bus: Bus;
  readonly log: Log;
  readonly alarm: Report;
}

/** Reports state changes of plugins' processes to listeners and the watchdog, and quarantines to the other replicas. */
export class ProcessStates {
  readonly #deps: ProcessStatesDeps;
  readonly #listeners: StateListener[] = [];
  /** Why this machine cannot run a process, as reported: each start finds it again. */
  readonly #noSandbox = new WeakMap<SupervisedProcess, string | null>();
  /** Processes whose quarantine is being stored. If that fails, the next refresh starts them again. */
  readonly #storing = new Set<SupervisedProcess>();

  constructor(deps: ProcessStatesDeps) {
    this.#deps = deps;
  }

  onState(listener: StateListener): void {
    this.#listeners.push(listener);
  }
  isStoring(process: SupervisedProcess): boolean {
    return this.#storing.has(process);
  }
  notify(id: string, status: ProcessStatus): void {
    for (const listener of this.#listeners) listener(id, status);
  }

  /** `stored`: whether the plugin is in the database, so its quarantine is stored there. */
  recordStatus(
    { manifest: { id, version } }: LoadedThirdParty,
    process: SupervisedProcess,
    status: ProcessStatus,
    stored: boolean,
  ): void {
    const { alarm, sql, bus, log } = this.#deps;
    this.notify(id, status);
    const { state, code, reason, crashes } = status;
    if (state === "backoff" && code === "NO_SANDBOX") this.#reportNoSandbox(process, { plugin: id, version, code, reason });
    else if (state === "backoff") alarm("a plugin's process exited", { plugin: id, version, code, reason, crashes });
    if (state !== "quarantined") return;
    alarm("a plugin was quarantined", { plugin: id, version, code, reason, crashes });
    if (!stored) return;
    this.#storing.add(process);
    setQuarantine(sql, id, version, code ?? "PLUGIN_CRASHED", reason ?? "")
      .finally(() => this.#storing.delete(process))
      .then(() => bus.publish("plugins"))
      .catch((error) => log.warn("failed to store a plugin's quarantine", { plugin: id, error }));
  }

  #reportNoSandbox(process: SupervisedProcess, context: { reason: string | null } & Record<string, unknown>): void {
    if (this.#noSandbox.get(process) === context.reason) return;
    this.#noSandbox.set(process, context.reason);
    this.#deps.alarm("this machine cannot run a plugin; the service tries again every minute", context);
  }
}
