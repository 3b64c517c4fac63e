import type { TaskExecution } from "../../../../schema/gen/client.ts";
import { call } from "../api/call.ts";
import { ActionButton } from "../parts/dialog.tsx";

interface RunActionsProps {
  readonly run: Pick<TaskExecution, "id" | "state">;
  readonly reload: () => Promise<void>;
  /** Names the run, if the page shows several. */
  readonly of?: string;
}

interface Offered {
  readonly label: string;
  readonly kind: "primary" | "danger";
  readonly states: readonly TaskExecution["state"][];
  /** What the action does, and whether it can be undone. */
  readonly about: string;
  readonly run: (id: string) => Promise<unknown>;
}

const all: readonly Offered[] = [
  {
    label: "Restart",
    kind: "primary",
    states: ["failed"],
    about:
      "The run is queued again and resumes after its last finished step, so nothing is done twice. You can cancel it while it runs.",
    run: (id) => call("tasks.restart", { id }),
  },
  {
    label: "Release",
    kind: "primary",
    states: ["held"],
    about:
      "The run is queued and is no longer held by an hourly, daily or monthly budget, but it still counts towards them. You can cancel it while it runs.",
    run: (id) => call("task-executions.release", { id }),
  },
  {
    label: "Cancel run",
    kind: "danger",
    states: ["queued", "held", "running", "waiting"],
    about:
      "The run stops and posts nothing more. What its tools have already written stays. It cannot be resumed. To do the work again, replay its delivery.",
    run: (id) => call("task-executions.cancel", { id }),
  },
];

/** The actions that a run allows in its state. */
export function RunActions({ run: { id, state }, reload, of }: RunActionsProps) {
  return (
    <>
      {all
        .filter(({ states }) => states.includes(state))
        .map(({ label, kind, about, run }) => (
          <ActionButton
            key={label}
            label={label}
            {...(of !== undefined && { of })}
            kind={kind}
            needs="write"
            confirm={<p>{about}</p>}
            run={async () => {
              await run(id);
              await reload();
            }}
          />
        ))}
    </>
  );
}
