import { existsSync } from "node:fs";
import type { Flavour } from "../harness/databases.ts";
import { compileCache, runtimeUnderTest } from "../harness/process.ts";
import { startService } from "../harness/service.ts";

let filled: Promise<unknown> = Promise.resolve();

/**
 * Fills the cache of compiled code on a fresh clone, while the first tests run. Node writes it when a process exits, with the
 * functions that this process called. Most of the first services are killed and write nothing, and after a command, which shares
 * code with the service, starts would compile the other functions again.
 */
export function setup(): void {
  if (runtimeUnderTest() !== "node" || existsSync(compileCache)) return;
  // Their flags differ, so each has its own cache.
  const databases: readonly Flavour[] = process.env.TEST_DATABASE_URL ? ["postgres", "embedded"] : ["embedded"];
  // If the service cannot start, the tests say so.
  filled = Promise.allSettled(databases.map((database) => startAndStop(database)));
}

export const teardown = (): Promise<unknown> => filled;

async function startAndStop(database: Flavour): Promise<void> {
  const service = await startService({ database });
  await service.close();
}
