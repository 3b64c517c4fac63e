import type { TaskExecution } from "../../../../schema/gen/client.ts";
import { call } from "../api/call.ts";
import { may } from "../api/session.ts";
import { ActionButton } from "../parts/dialog.tsx";

interface RunActionsProps {
  readonly run: Pick<TaskExecution, "id" | "state">;
  readonly reload: () => Promise<void>;
}

const readOnly = "Your key may only read.";

/** What can be done with a run in its state. */
export function RunActions({ run, reload }: RunActionsProps) {
  const disabled = !may.value.write;
  const then = (action: () => Promise<unknown>) => async () => {
    await action();
    await reload();
  };
  return (
    <>
      {run.state === "failed" && (
        <ActionButton
          label="Restart"
          kind="primary"
          disabled={disabled}
          why={readOnly}
          confirm={
            <p>
              The run is queued again and goes on after its last finished step: nothing that it has done is done twice. You can
              cancel it while it runs.
            </p>
          }
          run={then(() => call("tasks.restart", { id: run.id }))}
        />
      )}
      {["queued", "running", "waiting"].includes(run.state) && (
        <ActionButton
          label="Cancel the run"
          kind="danger"
          disabled={disabled}
          why={readOnly}
          confirm={
            <p>
              The run ends and posts nothing after that. What its tools have already written stays. It cannot be resumed; replay
              its delivery to do the work again.
            </p>
          }
          run={then(() => call("task-executions.cancel", { id: run.id }))}
        />
      )}
    </>
  );
}
