import { z } from "zod";
import { maxDepth } from "../../platform/json.ts";
import { cleanStart } from "../../untrusted/clean.ts";
import { ServerFault } from "./server-fault.ts";
import { type SessionOptions, withSession } from "./session.ts";

const anyObject = z.looseObject({});

/**
 * Calls a tool and returns its structured content, or else its text; several texts as a list, because they may have several authors:
 * each is cleaned separately. Images, audio and files are named but not included: a text model cannot use their bytes.
 * Throws `ServerFault`, also if the answer is marked as an error.
 */
export async function callMcpTool(
  options: SessionOptions,
  name: string,
  parameters: Readonly<Record<string, unknown>>,
): Promise<unknown> {
  const answer = await withSession(options, (client) =>
    client.request({ method: "tools/call", params: { name, arguments: parameters } }, anyObject, { timeout: options.timeoutMs }),
  );
  return readResult(answer);
}

export function readResult(answer: Readonly<Record<string, unknown>>): unknown {
  const { content, structuredContent, isError } = answer;
  const texts = Array.isArray(content) ? content.map(asText) : [];
  if (isError === true) throw new ServerFault(`answered with an error: ${errorOf(texts) || "no message"}`);
  if (typeof structuredContent === "object" && structuredContent !== null) {
    if (tooDeep(structuredContent, maxDepth)) throw new ServerFault(`returned content nested more than ${maxDepth} levels deep`);
    return structuredContent;
  }
  if (!Array.isArray(content)) throw new ServerFault("returned an invalid answer to tools/call");
  return texts.length > 1 ? texts : (texts[0] ?? "");
}

/** Maximum length of the texts of an error that are read, in characters: a fault is cut after fewer. */
const maxErrorLength = 2_000;

/** The texts of an error as one. Each is cleaned before, and begins a paragraph, so that none of them can hide another. */
function errorOf([first = "", ...others]: readonly string[]): string {
  if (others.length === 0) return first;
  const shown: string[] = [];
  let remainingLength = maxErrorLength;
  for (const text of [first, ...others]) {
    if (remainingLength <= 0) break;
    shown.push(cleanStart(text, remainingLength));
    remainingLength -= Math.max(1, text.length);
  }
  return shown.join("\n\n");
}

function asText(part: unknown): string {
  const { type, text, mimeType, resource, uri, name } = (part ?? {}) as Record<string, unknown>;
  if (type === "text" && typeof text === "string") return text;
  const inner = (typeof resource === "object" && resource !== null ? resource : {}) as Record<string, unknown>;
  if (type === "resource" && typeof inner.text === "string") return inner.text;
  const kind = typeof type === "string" ? type.slice(0, 50) : "content of an unknown kind";
  const about = [name, uri ?? inner.uri, mimeType ?? inner.mimeType]
    .filter((one) => typeof one === "string")
    .map((one) => String(one).slice(0, 500));
  return `[${[kind, ...about].join(" ")}]`;
}

/** Iterative, because deep nesting would overflow the stack. */
function tooDeep(value: unknown, max: number): boolean {
  let level: unknown[] = [value];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > max) return true;
    level = level.flatMap((one) => (typeof one === "object" && one !== null ? Object.values(one) : []));
  }
  return false;
}
