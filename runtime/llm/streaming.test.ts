import { expect, test } from "vitest";
import { assembleAnswer } from "./streaming.ts";

type Call = { index?: number; id?: string; function: { name?: string; arguments?: string } };

function answerOf(...deltas: Call[][]) {
  const chunks = async function* () {
    for (const tool_calls of deltas) yield { choices: [{ delta: { tool_calls } }] };
    yield { choices: [{ delta: {}, finish_reason: "tool_calls" }] };
    yield { choices: [], usage: { prompt_tokens: 7 } };
  };
  return assembleAnswer(chunks(), "m", () => {});
}
const callsOf = async (...deltas: Call[][]) => (await answerOf(...deltas)).toolCalls;

const two = [
  { id: "a", name: "get_issue", arguments: '{"issue":1}' },
  { id: "b", name: "add_comment", arguments: '{"body":"x"}' },
];

test("calls in pieces, in sequence and interleaved", async () => {
  const pieces: Call[] = [
    { index: 0, id: "a", function: { name: "get_issue", arguments: "" } },
    { index: 0, function: { arguments: '{"issue"' } },
    { index: 1, id: "b", function: { name: "add_comment", arguments: '{"body":' } },
    { index: 0, function: { arguments: ":1}" } },
    { index: 1, function: { arguments: '"x"}' } },
  ];
  expect(await callsOf(...pieces.map((piece) => [piece]))).toEqual(two);
  expect(await callsOf(pieces)).toEqual(two);
});

test.each([
  ["that all have the number 0", { index: 0 }],
  ["without a number", {}],
])("whole calls %s are separate calls", async (_, number) => {
  const whole = two.map(({ id, ...rest }): Call => ({ ...number, id, function: rest }));
  expect(await callsOf(...whole.map((call) => [call]))).toEqual(two);
  expect(await callsOf(whole)).toEqual(two);
});

test("calls without ids get ids", async () => {
  const calls = await callsOf([{ index: 0, function: { name: "one" } }], [{ index: 1, function: { name: "other" } }]);
  expect(calls.map(({ id, name }) => [id, name])).toEqual([
    ["call_0", "one"],
    ["call_1", "other"],
  ]);
});

test("of more calls than are carried out, one is read, in one piece and in many, and so is the usage after them", async () => {
  const calls = Array.from({ length: 300 }, (_, index): Call => ({ index, id: `c${index}`, function: { name: "get_issue" } }));
  for (const deltas of [[calls], calls.map((call) => [call])]) {
    const { toolCalls, promptTokens } = await answerOf(...deltas);
    expect(toolCalls.map(({ id }) => id)).toEqual(calls.slice(0, 101).map(({ id }) => id));
    expect(promptTokens).toBe(7);
  }
  expect(await callsOf(calls.slice(0, 100))).toHaveLength(100);
});

test("a streamed answer may name its model, of which 200 characters are kept", async () => {
  const chunks = async function* () {
    yield { model: "m".repeat(100_000), choices: [{ delta: { content: "Hi" } }] };
    yield { model: "", choices: [{ delta: {}, finish_reason: "stop" }] };
  };
  expect((await assembleAnswer(chunks(), "asked", () => {})).model).toBe("m".repeat(200));
});
