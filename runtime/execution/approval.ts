import type { EffectivePolicy } from "@signalbox/schema/policy";
import type { StepRow } from "./steps/rows.ts";

/** Which writes of an execution wait for approval. */
export interface Approval {
  /** `write`: the qualified name of a tool, or `comment` for the answer. */
  needs(write: string): boolean;
  /** How long a proposal can be approved, in milliseconds; `null`: without limit. */
  readonly ttlMs: number | null;
}

/** By the policy at the time of each write. */
export const approvalOf = (policy: () => Pick<EffectivePolicy, "staged" | "approve">, ttlMs: number | null): Approval => ({
  needs: (write) => {
    const { staged, approve } = policy();
    return staged.value || approve.value.some((pattern) => covers(pattern, write));
  },
  ttlMs,
});

function covers(pattern: string, write: string): boolean {
  const name = pattern.toLowerCase();
  return (
    name === "*" || name === write.toLowerCase() || (name.endsWith(".*") && write.toLowerCase().startsWith(name.slice(0, -1)))
  );
}

/** Result that the model receives for a write that waits for approval. */
export const proposedResult = {
  proposed: true,
  note: "Not done yet: a person has to approve it first. Do not call it again. If you mention it, say that it is proposed, not done.",
};

/** Whether a proposal waits for a decision. */
export const isOpen = ({ state, decided }: StepRow): boolean => state === "proposed" && !decided;
/** Whether a proposal is approved and its write has no stored outcome. */
export const isApproved = ({ state, decided }: StepRow): boolean =>
  decided === true && (state === "proposed" || state === "started");

export function waitingFor(open: readonly StepRow[]): string {
  const names = open.map(({ kind, name }) => (kind === "post" ? "the comment" : name));
  return `approval of ${open.length === 1 ? "one proposal" : `${open.length} proposals`}: ${names.join(", ")}`.slice(0, 500);
}
