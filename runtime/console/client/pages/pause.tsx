import { useState } from "preact/hooks";
import type { Pause } from "../../../../schema/gen/client.ts";
import { call } from "../api/call.ts";
import { ActionButton } from "../parts/dialog.tsx";
import { Text } from "../parts/text.tsx";
import { Time } from "../parts/time.tsx";

type Scope = Pause["scope"];
const scopes: readonly (readonly [Scope, string])[] = [
  ["all", "everything"],
  ["agent", "one agent"],
  ["project", "one project"],
  ["source", "one source"],
];

/** Stops new runs: all of them, or those of an agent, a project or a source. */
export function PauseButton({ reload }: { reload: () => Promise<void> }) {
  const [scope, setScope] = useState<Scope>("all");
  const [id, setId] = useState("");
  const [reason, setReason] = useState("");
  const pause = async () => {
    await call("pauses.pause", {
      scope,
      ...(scope !== "all" && { id: id.trim() }),
      reason: reason.trim() || "paused in the console",
    });
    await reload();
  };
  return (
    <ActionButton
      label="Pause"
      kind="danger"
      needs="write"
      run={pause}
      confirm={
        <>
          <p>
            Webhooks are still accepted and stored. No new runs start, and runs in progress finish. You can resume at any time.
          </p>
          <label>
            <span>Scope</span>
            <select value={scope} onChange={(event) => setScope(event.currentTarget.value as Scope)}>
              {scopes.map(([value, text]) => (
                <option key={value} value={value}>
                  {text}
                </option>
              ))}
            </select>
          </label>
          {scope !== "all" && (
            <label>
              <span>{scope === "source" ? "Source name" : `${scope === "agent" ? "Agent" : "Project"} id`}</span>
              <input value={id} onInput={(event) => setId(event.currentTarget.value)} />
            </label>
          )}
          <label>
            <span>Reason</span>
            <input
              value={reason}
              onInput={(event) => setReason(event.currentTarget.value)}
              placeholder="shown wherever a run waits"
            />
          </label>
        </>
      }
    />
  );
}

const pausedPart = (scope: Scope, id: string | null): string => (scope === "all" ? "Everything" : `The ${scope} ${id}`);

export function PauseBanner({ pauses, reload }: { pauses: readonly Pause[]; reload: () => Promise<void> }) {
  return (
    <>
      {pauses.map(({ scope, id, reason, paused_by, paused_at }) => (
        <div key={`${scope} ${id}`} class="banner paused">
          <span>
            <strong>{pausedPart(scope, id)} is paused:</strong> <Text max={500}>{reason}</Text> (by <Text>{paused_by}</Text>,{" "}
            <Time at={paused_at} />)
          </span>
          <ActionButton
            label="Resume"
            of={pausedPart(scope, id)}
            kind="primary"
            needs="write"
            run={async () => {
              await call("pauses.resume", { scope, ...(id !== null && { id }) });
              await reload();
            }}
          />
        </div>
      ))}
    </>
  );
}
