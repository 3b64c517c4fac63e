import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** A payload that was recorded or that a platform documents, with the headers by which it is delivered. */
export interface Recorded {
  /** Path below the folder of its source. */
  readonly file: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly payload: Readonly<Record<string, unknown>>;
}

/** What has to become of it. Every member follows from the payload and the documentation of its platform. */
export interface Expected {
  readonly file: string;
  /** Event name as mappings spell it, and action. */
  readonly event: string;
  readonly action: string | null;
  /** Under the default mappings: the trigger, or `null` if it is discarded. */
  readonly trigger: string | null;
  /** Under a mapping of the event for any action: why it starts nothing all the same; `null` if it runs. */
  readonly refused: string | null;
  readonly subject: string | null;
  readonly actor: string | null;
  readonly kind: string | null;
  readonly standing: string | null;
  /** Parts of what the agent reads. */
  readonly text: readonly string[];
  /** Method, path and members beside the text of the answer; `null` if nothing is posted. */
  readonly answer: string | null;
}

export const payloads = join(import.meta.dirname, "../../../../shared/payloads");

/** Every payload of a source, sorted. `headersOf` gives the headers that a file does not have. */
export function recordedOf(
  source: string,
  headersOf: (file: string, payload: Record<string, unknown>) => Record<string, string>,
): Recorded[] {
  const folder = join(payloads, source);
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".json"));
  return files.sort().map((file) => {
    const payload = JSON.parse(readFileSync(join(folder, file), "utf8")) as Record<string, unknown>;
    return { file, payload, headers: headersOf(file, payload) };
  });
}

/** The value at a path of a payload; `undefined` if there is none. */
export function at(value: unknown, ...path: readonly string[]): unknown {
  return path.reduce<unknown>((here, name) => (here as Record<string, unknown> | null | undefined)?.[name], value);
}

/** The first line of each text at these paths: enough to see that the agent gets it. */
export function firstLines(payload: unknown, paths: readonly (readonly string[])[]): string[] {
  return paths.flatMap((path) => {
    const text = at(payload, ...path);
    const line = typeof text === "string" ? text.trim().split(/\r?\n/)[0]?.trim() : "";
    return line ? [line.slice(0, 120)] : [];
  });
}
