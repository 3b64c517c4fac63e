import fc from "fast-check";
import { expect, test } from "vitest";
import {
  packedStep,
  packedText,
  readStep,
  type StoredStep,
  shownResult,
  shownStep,
  storedResult,
  withoutAnswer,
} from "./stored-steps.ts";

type Row = { seq: number; kind: string; state: string; input: unknown; output: unknown };

const bytes = (packed: string | undefined) => (packed === undefined ? null : Buffer.from(packed, "base64"));

/** The columns of a step as they are read after it was stored with these steps. */
function stored(step: Row, steps: readonly Row[] = []): StoredStep<Row> {
  const { packed, packed_output, ...row } = packedStep(withoutAnswer(step, steps));
  const named = (row.input as { body_after_step?: [number, string] } | null)?.body_after_step;
  const answer = named && steps.find(({ seq }) => seq === named[0]);
  const { output, packed_output: packedAnswer } = answer ? packedStep(answer) : {};
  return {
    ...row,
    packed: bytes(packed),
    packed_output: bytes(packed_output),
    answer_output: output ?? null,
    packed_answer: bytes(packedAnswer),
  };
}

const words = fc.tuple(fc.string({ maxLength: 4_000, unit: "grapheme" }), fc.integer({ min: 1, max: 5 }));
const text = words.map(([word, times]) => word.repeat(times));
const model = (content: string): Row => ({
  seq: 1,
  kind: "model",
  state: "succeeded",
  input: null,
  output: { content, tool_calls: [] },
});
const post = (body: string, place: object = { thread: "1" }): Row => ({
  seq: 2,
  kind: "post",
  state: "succeeded",
  input: { body, ...place },
  output: { id: "1" },
});

test("a step is read as it was written, packed or not", () => {
  const step = fc.record({ kind: fc.constantFrom("prompt", "model", "tool", "post"), text });
  fc.assert(
    fc.property(step, ({ kind, text: content }) => {
      const row = {
        seq: 0,
        kind,
        state: "succeeded",
        input: { messages: [{ role: "user", content }] },
        output: { content },
      };
      expect(readStep(stored(row))).toEqual(row);
      expect(shownStep(stored(row))).toEqual(row);
    }),
  );
});

const prose = Array.from(
  { length: 500 },
  (_, n) => "the order total is wrong after a reload of the page".split(" ")[(n * n * 7 + n) % 11],
).join(" ");

/**
 * Prose of 0 to 2,000 characters, with all lengths about as frequent. Random strings are mostly short, and packing does not
 * shorten them.
 */
const proseOf = fc.noBias(fc.tuple(fc.integer({ min: 0, max: 40 }), fc.integer({ min: 0, max: 2_000 })));
const anyText = fc.oneof(
  text,
  proseOf.map(([from, length]) => prose.slice(from, from + length)),
);
const place = fc.record({ thread: fc.string({ maxLength: 200 }), private: fc.constant(true) }, { requiredKeys: [] });

test("a post and a result that repeat an answer are read as they were written, with the white space around it", () => {
  const space = fc.string({ maxLength: 3, unit: fc.constantFrom(" ", "\n", "\t") });
  fc.assert(
    fc.property(anyText, space, space, anyText, place, (said, before, after, rest, at) => {
      const result = said.trim();
      fc.pre(result !== "");
      const steps = [model(before + result + after), post(result + rest, at)] as const;
      for (const step of steps) {
        expect(readStep(stored(step, steps))).toEqual(step);
        expect(shownStep(stored(step, steps))).toEqual(step);
      }
      const kept = storedResult(result, steps);
      const [answer, posted] = steps.map((step) => stored(step, steps));
      if (result.length >= 100) {
        expect(kept).toEqual({ answer_step: 1 });
        if (rest.length <= 300) expect(posted?.input).toEqual({ ...at, body_after_step: [1, rest] });
      }
      const row =
        kept.answer_step === undefined
          ? { result: kept.result ?? null, packed_result: bytes(kept.packed_result), answer_output: null, packed_answer: null }
          : { result: null, packed_result: null, answer_output: answer?.output, packed_answer: answer?.packed_output ?? null };
      expect(shownResult(row)).toEqual({ result });
    }),
  );
});

test("a shortened post that was packed is read with the step that has its answer, and is never taken for the whole text", () => {
  const [answer, after] = [model(prose), " It is fixed. ".repeat(20)];
  const packed = bytes(packedText("prompt", JSON.stringify({ thread: "1", body_after_step: [1, after] })));
  const row = { ...post(""), input: null, packed, packed_output: null, answer_output: null, packed_answer: null };
  const others = [stored(answer), row];
  expect(packed).not.toBeNull();
  expect(readStep(row, others)).toEqual(post(prose + after));
  expect(shownStep(row, others)).toEqual(post(prose + after));
  expect(() => readStep(row)).toThrow("the step 1 with the answer is missing");
  expect(shownStep(row)).toMatchObject({
    input: null,
    unreadable: "The stored input cannot be read: the step 1 with the answer is missing",
  });
});

test("a text that differs from the answer, an answer of a failed step, and a living comment are stored whole", () => {
  const said = "The order total is wrong after a reload of the page. ".repeat(4).trim();
  const steps = [model(said), post(said)] as const;
  for (const other of [post(`Note: ${said}`), { ...post(said), is_living: true }])
    expect(withoutAnswer(other, steps)).toBe(other);
  const failed = [{ ...model(said), state: "failed" }, post(said)];
  expect(withoutAnswer(post(said), failed)).toEqual(post(said));
  for (const result of [storedResult(`${said}!`, steps), storedResult(said, failed)]) expect(result.answer_step).toBeUndefined();
});

test("a prompt, an answer and its post in prose take less than half", () => {
  const prompt = { ...post(""), kind: "prompt", input: { content: prose } };
  for (const step of [prompt, model(prose), post(prose)]) {
    const { input, output, packed, packed_output } = packedStep(step);
    expect((packed ?? packed_output ?? "").length, step.kind).toBeGreaterThan(0);
    expect(JSON.stringify([input, output, packed, packed_output]).length).toBeLessThan(prose.length / 2);
  }
});

test("a damaged text is null and named; the rest of the row is shown, but not given to a run", () => {
  const damaged = (packed: Uint8Array | null) => packed && Buffer.from(packed.subarray(0, -9));
  const steps = [model(prose), post(prose)] as const;
  const [answer, posted] = steps.map((step) => stored(step, steps)) as [StoredStep<Row>, StoredStep<Row>];
  const half = { ...answer, packed_output: damaged(answer.packed_output) };
  expect(shownStep(half)).toEqual({
    ...model(""),
    output: null,
    unreadable: "The stored output cannot be read: unexpected end of file",
  });
  expect(() => readStep(half)).toThrow("unexpected end of file");
  // The post, and the result, name the step with the damaged answer.
  expect(shownStep({ ...posted, packed_answer: damaged(posted.packed_answer) })).toEqual({
    ...post(""),
    input: null,
    unreadable: "The stored input cannot be read: unexpected end of file",
  });
  const row = { id: "1", result: null, packed_result: Buffer.from([8, 255]), answer_output: null, packed_answer: null };
  expect(shownResult(row)).toEqual({
    id: "1",
    result: null,
    unreadable: expect.stringContaining("packed with dictionary 8, which this release does not have"),
  });
});
