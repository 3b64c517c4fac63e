import { type Part, stateText } from "../part-words.ts";
import type { Tone } from "../words.ts";

/** A state in one word, with its explanation as a tooltip. `of`: what has the state. */
export function State({ of, state }: { of: Part; state: string }) {
  const { label, sentence, tone } = stateText(of, state);
  return (
    <span class={`state ${tone}`} title={sentence}>
      {label}
    </span>
  );
}

export function Badge({ tone = "idle", children }: { tone?: Tone; children: string }) {
  return <span class={`state ${tone}`}>{children}</span>;
}
