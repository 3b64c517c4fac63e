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
  const root = { value };
  let values = 0;
  let characters = 0;
  let level: Holder[] = [root];
  while (level.length > 0) {
    const next: Holder[] = [];
    for (const holder of level) {
      const isList = Array.isArray(holder);
      if (isList && holder.length > maxValues) holder.length = maxValues;
      for (const name of Object.keys(holder)) {
        const members = holder as Record<string, unknown>;
        const member = members[name];
        const size = (typeof member === "string" ? Math.min(member.length, maxString) : 0) + (isList ? 0 : name.length);
        if (++values > maxValues || characters + size > maxCharacters) {
          if (isList) {
            holder.length = Number(name);
            break;
          }
          delete members[name];
          continue;
        }
        characters += size;
        if (typeof member === "string" && member.length > maxString) members[name] = member.slice(0, maxString);
        else if (typeof member === "object" && member !== null) next.push(member as Holder);
      }
    }
    level = next;
  }
  return root.value;
}

parentPort?.on("message", ({ bytes }: Question) => {
  const read = readJson(bytes);
  const answer: Answer = "value" in read ? { text: JSON.stringify(cutToLimits(read.value)) } : read;
  parentPort?.postMessage(answer);
});
