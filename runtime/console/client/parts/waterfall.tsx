import type { ExecutionStep } from "../../../../schema/gen/client.ts";
import { query, setQuery } from "../route/location.ts";
import { Empty } from "./page.tsx";
import { StepDetail } from "./step-detail.tsx";
import { Text } from "./text.tsx";
import { durationText } from "./time.tsx";

/** The steps of a run on one line of time. A press opens one; which one is open is in the address. */
export function Waterfall({ steps, running }: { steps: readonly ExecutionStep[]; running: boolean }) {
  if (steps.length === 0)
    return (
      <Empty title={running ? "The first step is on its way." : "There is no step yet."}>Steps appear here as they happen.</Empty>
    );
  const spans = spansOf(steps, running);
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
                {step.state === "failed" && <span class="soft"> failed</span>}
                {step.state === "dry_run" && <span class="soft"> dry run</span>}
              </span>
              <Bar step={step} from={span.start / end} share={span.length / end} />
              <span class="bar-time">
                {step.state === "started" ? (running ? "running" : "not ended") : durationText(step.duration_ms)}
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

function Bar({ step, from, share }: { step: ExecutionStep; from: number; share: number }) {
  const width = Math.max(0.4, share * 100);
  return (
    <span class="bar-track" aria-hidden="true">
      <svg viewBox="0 0 100 12" preserveAspectRatio="none" aria-hidden="true">
        <rect
          class={`fill-${step.state === "failed" ? "failed" : step.kind}`}
          x={Math.min(99.6, from * 100)}
          y="0"
          width={width}
          height="12"
        />
      </svg>
    </span>
  );
}

interface Span {
  readonly start: number;
  readonly length: number;
}

/** A wait between two steps, for an approval or the next attempt, is shown no longer than this. */
const longestGapMs = 2_000;

/** When each step began, in milliseconds after the first, and how long it took, or has taken until now. */
function spansOf(steps: readonly ExecutionStep[], running: boolean): Span[] {
  let [at, last] = [0, Date.parse(steps[0]?.started_at ?? "")];
  return steps.map(({ started_at, ended_at, duration_ms, state }) => {
    const isUnderWay = state === "started" && running;
    // Steps of older versions tell only how long they took.
    const gap = ended_at === null && !isUnderWay ? 0 : Date.parse(started_at) - last;
    const start = at + Math.min(Math.max(0, gap), longestGapMs);
    last = Date.parse(ended_at ?? started_at);
    const length = isUnderWay ? Math.max(0, Date.now() - Date.parse(started_at)) : duration_ms;
    at = start + length;
    return { start, length };
  });
}
