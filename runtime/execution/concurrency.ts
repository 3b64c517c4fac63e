import { totalmem } from "node:os";
import { getHeapStatistics } from "node:v8";

/** Memory reserved for a run that waits for its model, including its prompt and answers. Most runs need far less. */
const bytesOfRun = 4 * 1_048_576;
const [minRuns, maxRuns, maxRunsEmbedded] = [16, 512, 64];

/**
 * How many executions a replica runs at a time. A run spends most of its time waiting for the model, which costs only memory, so
 * the default follows from the memory. Database connections are not the limit, because runs write together.
 */
export function concurrentRuns(setting: number, isEmbedded: boolean, memory = memoryOfProcess()): number {
  if (setting > 0) return setting;
  return Math.min(isEmbedded ? maxRunsEmbedded : maxRuns, Math.max(minRuns, Math.floor(memory / bytesOfRun)));
}

/** Memory that this process may use: the machine, its container and V8 each have a limit. */
const memoryOfProcess = (): number =>
  Math.min(totalmem(), process.constrainedMemory?.() || Number.POSITIVE_INFINITY, getHeapStatistics().heap_size_limit);
