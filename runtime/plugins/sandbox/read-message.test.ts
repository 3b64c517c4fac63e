import { expect, test } from "vitest";
import { limits } from "./limits.ts";
import { readMessage } from "./read-message.ts";

const nested = (levels: number) => `${'{"a":'.repeat(levels)}1${"}".repeat(levels)}`;

test("an answer that is nested too deep fails the call that it is of; a request is dropped", () => {
  expect(readMessage(`{"id":3,"result":${nested(limits.depth - 1)}}`)?.message).toHaveProperty("result");
  expect(readMessage(`{"id":3,"result":${nested(limits.depth + 1)}}`)?.message).toEqual({
    id: 3,
    error: { message: "its answer is nested deeper than 200 levels" },
  });
  expect(readMessage(`{"id":3,"method":"fetch","params":${nested(limits.depth + 1)}}`)?.message).toBeNull();
});

test("what a line costs is known before it is parsed; commas within texts cost nothing", () => {
  const line = (inside: string) => `{"id":1,"result":[${inside}]}`;
  expect(readMessage(line(`${"[],".repeat(limits.values)}[]`))).toBeNull();
  expect(readMessage(line(JSON.stringify(`${'\\"[{,'.repeat(limits.values)}`)))?.message).toHaveProperty("result");
  expect(readMessage(line("1,2,[3]"))?.values).toBe(7);
  for (const rubbish of ["", "42", "null", "[]", "{", '"x"']) expect(readMessage(rubbish)).toEqual({ message: null, values: 1 });
});
