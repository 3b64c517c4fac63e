import type { ExecutionStep, TaskExecution } from "../../../../schema/gen/client.ts";
import { query, setQuery } from "../route/location.ts";
import { Empty } from "./page.tsx";
import { StepDetail } from "./step-detail.tsx";
import { Text } from "./text.tsx";
import { durationText } from "./time.tsx";

/** The steps of a run on a time line. A click opens a step, and the page's address names the open one. */
export function Waterfall({ steps, state }: { steps: readonly ExecutionStep[]; state: TaskExecution["state"] }) {
  const isRunning = state === "running";
  // A refused write keeps the state `started`, so that a restart of the run resumes there.
  const isFailed = (step: ExecutionStep) =>
    step.state === "failed" || (state === "failed" && step.state === "started" && step === steps.at(-1));
  if (steps.length === 0)
    return <Empty title={isRunning ? "The first step has started." : "No steps yet."}>Steps appear here as they happen.</Empty>;
  const spans = spansOf(steps, isRunning);
  const end = Math.max(1, ...spans.map((span) => span.start + span.length));
  const open = query.value.get("step");
  return (
    <div class="scroll waterfall">
      {steps.map((step, index) => {
        const span = spans[index] ?? { start: 0, length: 0 };
        const isOpen = open === String(step.seq);
        return (
          <div key={step.seq}>
            <button
              type="button"
              class="bar-row"
              aria-expanded={isOpen}
              onClick={() => setQuery({ step: isOpen ? null : step.seq })}
            >
              <span class="bar-name">
                {labels[step.kind]} {step.name && <Text max={80}>{step.name}</Text>}
                {isFailed(step) && <span class="soft"> failed</span>}
                {step.state === "dry_run" && <span class="soft"> dry run</span>}
              </span>
              <Bar kind={isFailed(step) ? "failed" : step.kind} from={span.start / end} share={span.length / end} />
              <span class="bar-time">
                {step.state !== "started"
                  ? durationText(step.duration_ms)
                  : isRunning
                    ? "running"
                    : isFailed(step)
                      ? ""
                      : "not finished"}
              </span>
            </button>
            {isOpen && <StepDetail step={step} />}
          </div>
        );
      })}
    </div>
  );
}

const labels = { prompt: "Prompt", model: "Model", tool: "Tool", post: "Post to" } as const;

function Bar({ kind, from, share }: { kind: ExecutionStep["kind"] | "failed"; from: number; share: number }) {
  const width = Math.max(0.4, share * 100);
  return (
    <span class="bar-track" aria-hidden="true">
      <svg viewBox="0 0 100 12" preserveAspectRatio="none" aria-hidden="true">
        <rect class={`fill-${kind}`} x={Math.min(99.6, from * 100)} y="0" width={width} height="12" />
      </svg>
    </span>
  );
}

interface Span {
  readonly start: number;
  readonly length: number;
}

/** A wait between two steps, for an approval or the next attempt, is shown no longer than this. */
const maxGapMs = 2_000;

/** When each step began, in milliseconds after the first, and its duration, so far if it has not ended. */
function spansOf(steps: readonly ExecutionStep[], isRunning: boolean): Span[] {
  let [at, last] = [0, Date.parse(steps[0]?.started_at ?? "")];
  return steps.map(({ started_at, ended_at, duration_ms, state }) => {
    const isUnderWay = state === "started" && isRunning;
    // Steps of older versions contain only their duration.
    const gap = ended_at === null && !isUnderWay ? 0 : Date.parse(started_at) - last;
    const start = at + Math.min(Math.max(0, gap), maxGapMs);
    last = Date.parse(ended_at ?? started_at);
    const length = isUnderWay ? Math.max(0, Date.now() - Date.parse(started_at)) : duration_ms;
    at = start + length;
    return { start, length };
  });
}
