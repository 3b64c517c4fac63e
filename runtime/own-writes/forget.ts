import type { Sql } from "../platform/database/client.ts";
import type { Log } from "../platform/log.ts";
import { forgetWrites } from "./queries.ts";

const everyMs = 60_000;

/** Removes what is no longer needed to recognise our own writes. Any number of replicas may do so. */
export function startForgetting(sql: Sql, log: Pick<Log, "warn">): { stop(): void } {
  const forget = () => void forgetWrites(sql).catch((error) => log.warn("failed to remove records of own writes", { error }));
  const timer = setInterval(forget, everyMs);
  timer.unref();
  return { stop: () => clearInterval(timer) };
}
