import { meaningOf, type Tone } from "../words.ts";

/** A state in one word, with its explanation as a tooltip. */
export function State({ state }: { state: string }) {
  const { label, sentence, tone } = meaningOf(state);
  return (
    <span class={`state ${tone}`} title={sentence}>
      {label}
    </span>
  );
}

export function Badge({ tone = "idle", children }: { tone?: Tone; children: string }) {
  return <span class={`state ${tone}`}>{children}</span>;
}
