import { useState } from "preact/hooks";
import type { OptionalMappings } from "../../../../schema/gen/client.ts";
import { call } from "../api/call.ts";
import { ActionButton } from "../parts/dialog.tsx";

const sets: readonly (readonly [OptionalMappings, string])[] = [
  ["comments", "Comments: an agent interprets the discussion after each new comment."],
  ["reviews", "Reviews: an agent turns each review of a pull request into steps."],
  ["updates", "Updates: an agent examines each edit of an issue and each push to a pull request."],
  ["closes", "Closes: an agent verifies each closed issue or pull request."],
];

interface Props {
  readonly reload: () => Promise<void>;
}

/** Creates the default agents, tasks and mappings, and optionally mappings for more events. */
export function SeedAgents({ reload }: Props) {
  const [include, select] = useState<OptionalMappings[]>([]);
  const seed = async () => {
    await call("agents.seed", {});
    await call("tasks.seed", {});
    await seedMappings(include);
    await reload();
  };
  return (
    <ActionButton
      label="Create defaults"
      kind="primary"
      needs="write"
      confirm={
        <>
          <p>
            Creates five agents, nine tasks and the mappings that fire them. Existing objects do not change. You can delete any of
            the new ones later.
          </p>
          <p>New issues and pull requests start runs. What else should?</p>
          <Sets selected={include} select={select} />
        </>
      }
      run={seed}
      done="Created"
    />
  );
}

/** Maps the events that start no task by default. */
export function SeedMore({ reload }: Props) {
  const [include, select] = useState<OptionalMappings[]>(sets.map(([name]) => name));
  const seed = async () => {
    await seedMappings(include);
    await reload();
  };
  return (
    <ActionButton
      label="Start runs for more events"
      needs="write"
      confirm={
        <>
          <p>
            Maps these events to the default tasks. Existing mappings do not change. Each set starts more runs. You can remove
            mappings under Routing.
          </p>
          <Sets selected={include} select={select} />
        </>
      }
      run={seed}
      done="Created"
    />
  );
}

async function seedMappings(include: OptionalMappings[]): Promise<void> {
  await call("triggers.seed", { include });
  await call("sources.seed", { include });
}

interface SetsProps {
  readonly selected: readonly OptionalMappings[];
  readonly select: (selected: OptionalMappings[]) => void;
}

function Sets({ selected, select }: SetsProps) {
  return sets.map(([name, text]) => (
    <label key={name} class="row top">
      <input
        type="checkbox"
        checked={selected.includes(name)}
        onChange={(event) => select(event.currentTarget.checked ? [...selected, name] : selected.filter((one) => one !== name))}
      />
      <span>{text}</span>
    </label>
  ));
}
