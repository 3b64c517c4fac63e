import { expect } from "vitest";
import type { JsonAnswer } from "./json-client.ts";

/** An error has one status and one shape: a text with the reason, and no internals of the program. */
export function expectRefused(answer: JsonAnswer<unknown>, status: number, saying: RegExp = /\w/): void {
  expect({ status: answer.status, body: answer.body }).toEqual({ status, body: { error: expect.stringMatching(saying) } });
  expect(answer.headers.get("content-type")).toMatch(/^application\/json/);
  const { error } = answer.body as { error: string };
  expect(error).not.toMatch(/\.ts:\d|\bat \w+ \(|insert into|select .* from|PostgresError|node_modules/i);
}
