/** The thread in which large JSON texts are parsed. Its result is small enough to be parsed again immediately. */
import { parentPort } from "node:worker_threads";
import { readJson } from "./json.ts";
import type { Answer, Question } from "./large-json.ts";

/** Maximum number of values, including arrays and objects. Those nearest to the top are kept. */
const maxValues = 50_000;
/** Maximum number of characters in all strings together. */
const maxCharacters = 4_000_000;
const maxString = 1_000_000;

type Holder = Record<string, unknown> | unknown[];

/** Cuts the value to the limits, level by level from the top, in place. */
function cutToLimits(value: unknown): unknown {
  const top = { root: { value } };
  let values = 0;
  let characters = 0;
  /** The part of an array or object that is kept. */
  const cut = (holder: Holder): Holder => {
    const isList = Array.isArray(holder);
    if (isList && holder.length > maxValues) holder.length = maxValues;
    const kept: [string, unknown][] = [];
    for (const name of Object.keys(holder)) {
      if (values >= maxValues) break;
      const member = (holder as Record<string, unknown>)[name];
      const size = (typeof member === "string" ? Math.min(member.length, maxString) : 0) + (isList ? 0 : name.length);
      values++;
      if (characters + size > maxCharacters) {
        if (isList) break;
        continue;
      }
      characters += size;
      kept.push([name, typeof member === "string" ? member.slice(0, maxString) : member]);
    }
    if (isList) return kept.map(([, member]) => member);
    // Deleting members of an object with a million of them would take longer than parsing it.
    return Object.fromEntries(kept);
  };
  let level: [holder: Record<string, unknown>, name: string][] = [[top, "root"]];
  while (level.length > 0) {
    const next: typeof level = [];
    for (const [holder, name] of level) {
      const inner = holder[name];
      if (typeof inner !== "object" || inner === null) continue;
      const kept = cut(inner as Holder) as Record<string, unknown>;
      holder[name] = kept;
      for (const child of Object.keys(kept)) next.push([kept, child]);
    }
    level = next;
  }
  return top.root.value;
}

parentPort?.on("message", ({ bytes }: Question) => {
  const read = readJson(bytes);
  const answer: Answer = "value" in read ? { text: JSON.stringify(cutToLimits(read.value)) } : read;
  parentPort?.postMessage(answer);
});
