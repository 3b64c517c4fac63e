import * as executions from "@signalbox/schema/executions";
import { problem } from "@signalbox/schema/problem";
import type { Bus } from "../bus.ts";
import { type Bound, handle } from "../operations.ts";
import { cancelExecution, findExecution, listExecutions, listSteps } from "./queries.ts";

const absent = (id: string) => problem("not_found", `There is no task execution ${id}.`);

export function executionOperations(bus: Bus): Bound[] {
  return [
    handle(executions.list, (filter, { sql }) => listExecutions(sql, filter)),
    handle(executions.get, async ({ id }, { sql }) => {
      const execution = await findExecution(sql, id);
      if (!execution) throw absent(id);
      return { ...execution, transcript: await listSteps(sql, id) };
    }),
    handle(executions.cancel, async ({ id }, { sql }) => {
      const cancelled = await cancelExecution(sql, id);
      if (cancelled) {
        await bus.publish("cancel", id);
        // Its subject is free.
        await bus.publish("queue");
        return cancelled;
      }
      const execution = await findExecution(sql, id);
      if (!execution) throw absent(id);
      throw problem("conflict", `The execution is ${execution.state}; only a queued or running one can be cancelled.`);
    }),
  ];
}
