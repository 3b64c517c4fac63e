import { ConfigError, readConfig, StartError } from "./platform/config.ts";
import { isNetworkError, isUnavailable } from "./platform/database/unavailable.ts";
import { createLog, type Log, toStandardError } from "./platform/log.ts";
import { builtIns } from "./plugins/built-ins.ts";
import { start } from "./service.ts";

/**
 * Ctrl-C signals the whole process group, and npm forwards its own signal: two within this time count as one, milliseconds. A
 * later one stops at once.
 */
const sameSignalMs = 1_000;

/**
 * Maximum duration of a stop: the drain of the executions, and a small margin. Shorter than the 30 s after which supervisors
 * kill.
 */
const stopMs = 29_000;

/** Starts the service from the environment and stops it on SIGTERM or SIGINT. */
async function main(): Promise<void> {
  const config = readConfig();
  const log = createLog({ pretty: config.LOG_FORMAT ? config.LOG_FORMAT === "text" : config.terminal, level: config.LOG_LEVEL });
  surviveNetworkErrors(log);
  let stoppedAt: number | null = null;
  if (config.startedByNpm)
    whenOrphaned(() => {
      if (stoppedAt !== null) return;
      log.error("npm, which started the service, was killed; exiting");
      process.exit(1);
    });
  // Before the service runs, there is nothing to drain. As the first process of a container, this one gets only signals that it handles.
  let stop = (signal: string): void => {
    log.info("stopping", { signal });
    process.exit(0);
  };
  for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, () => stop(signal));
  const modules = await Promise.all(Object.values(builtIns).map((load) => load()));
  const service = await start(config, { builtIns: modules.map((module) => module.default) }, log);
  stop = (signal) => {
    const now = performance.now();
    if (stoppedAt !== null && now - stoppedAt <= sameSignalMs) return;
    if (stoppedAt !== null) process.exit(1);
    stoppedAt = now;
    log.info("stopping", { signal });
    setTimeout(() => {
      log.error("shutdown took too long; exiting", { seconds: stopMs / 1000 });
      process.exit(1);
    }, stopMs).unref();
    service.stop().then(
      () => process.exit(0),
      (error) => {
        log.error("shutdown failed", { error });
        process.exit(1);
      },
    );
  };
}

/** Handles errors that no code catches: one of the network or the database does not end the process; any other does. */
function surviveNetworkErrors(log: Log): void {
  const onError = (event: string) => (error: unknown) => {
    const passing = isUnavailable(error) || isNetworkError(error);
    log.error(`${event}; ${passing ? "the service continues" : "the process ends"}`, { error });
    if (!passing) process.exit(1);
  };
  process.on("unhandledRejection", onError("unhandled rejection"));
  process.on("uncaughtException", onError("uncaught exception"));
}

/**
 * If only npm is killed, the service must end too, because it would otherwise keep its ports. Running executions resume at the
 * next start.
 */
function whenOrphaned(then: () => void): void {
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    then();
  }, 200);
  timer.unref();
}

main().catch((error) => {
  // The operator must fix a configuration error: one line per problem, no stack.
  const message = error instanceof StartError ? error.message : (error?.stack ?? error);
  const text = error instanceof ConfigError ? `Invalid configuration:\n${error.message}` : message;
  // Written after everything that was logged before.
  toStandardError(text);
  process.exit(1);
});
