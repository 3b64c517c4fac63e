import { messageOf } from "../platform/error-text.ts";
import { type Kind, pack, unpack } from "../platform/packing/packed.ts";

/*
 * Prompts and answers are long, and only read whole. Packed, they are small enough to stay beside their rows.
 *
 * An answer is a step of the model, the text of the post, and the result of its execution. It stays in the step of the model, where it
 * was stored first: the post and the execution name that step, and readers put the text back.
 */

interface Step {
  readonly kind: string;
  readonly input: unknown;
  readonly output: unknown;
}

/** The output of the step of the model that has an answer; both null if there is no such step. */
interface StoredAnswer {
  readonly answer_output: unknown;
  readonly packed_answer: Uint8Array | null;
}

/** A step as `textsOf` of `text-queries.ts` reads it. */
export type StoredStep<S> = S & StoredAnswer & { readonly packed: Uint8Array | null; readonly packed_output: Uint8Array | null };

/** Why a stored text cannot be read. */
interface Unreadable {
  readonly unreadable?: string | undefined;
}

/** A text as it is stored: packed, in base64, if that is shorter. */
export const packedText = (kind: Kind, text: string): string | undefined => pack(kind, Buffer.from(text))?.toString("base64");

const asJson = (value: unknown) =>
  value === null || value === undefined ? undefined : packedText("prompt", JSON.stringify(value));

/** The input of a post that begins with an answer: the number of the answer's step, and the text after the answer. */
interface ShortenedStep {
  readonly body_after_step?: readonly [seq: number, after: string];
}

/**
 * A step as it is stored: the input of a prompt or post and the output of a model are packed if that is shorter. A shortened post is
 * not packed, because the database reads the number of the answer's step from it.
 */
export function packedStep<S extends Step>(step: S): S & { packed?: string; packed_output?: string } {
  const { body_after_step } = (step.kind === "post" && step.input ? step.input : {}) as ShortenedStep;
  const isPacked = step.kind === "prompt" || (step.kind === "post" && body_after_step === undefined);
  const packed = isPacked ? asJson(step.input) : undefined;
  const packed_output = step.kind === "model" ? asJson(step.output) : undefined;
  return { ...step, ...(packed && { input: null, packed }), ...(packed_output && { output: null, packed_output }) };
}

interface NumberedStep extends Step {
  readonly seq: number;
  readonly state: string;
  readonly is_living?: boolean;
}

/** An answer without the spaces and line breaks around it, as it is posted. */
const contentOf = (output: unknown): string => {
  const { content } = (output ?? {}) as { content?: unknown };
  return typeof content === "string" ? content.trim() : "";
};

/** Number of the step of the model whose answer this text is, or begins with; `undefined` if there is none. */
const answerStepOf = (steps: readonly NumberedStep[], matches: (answer: string) => boolean): NumberedStep | undefined =>
  steps.findLast((step) => step.kind === "model" && step.state === "succeeded" && matches(contentOf(step.output)));

/** A shorter answer is stored again: a reference to it is not shorter. */
const minShortenedLength = 100;
/** A post with a longer text after the answer is stored whole, because packed it takes about as little space as that text alone. */
const longestAfter = 300;

/**
 * A post without the answer that it begins with, which one of the steps has. The text of a living comment stays: its next edit
 * reads it.
 */
export function withoutAnswer<S extends NumberedStep>(step: S, steps: readonly NumberedStep[]): S {
  if (step.kind !== "post" || step.is_living) return step;
  const { body, ...rest } = (step.input ?? {}) as { body?: unknown };
  if (typeof body !== "string") return step;
  const of = answerStepOf(steps, (answer) => answer.length >= minShortenedLength && body.startsWith(answer));
  if (!of) return step;
  const after = body.slice(contentOf(of.output).length);
  if (after.length > longestAfter) return step;
  const shortened: ShortenedStep = { body_after_step: [of.seq, after] };
  return { ...step, input: { ...rest, ...shortened } };
}

/** The result of an execution as it is stored: the number of the step that has it, or the text, packed if that is shorter. */
export function storedResult(
  result: string,
  steps: readonly NumberedStep[],
): { readonly answer_step?: number; readonly result?: string; readonly packed_result?: string } {
  const of = result.length < minShortenedLength ? undefined : answerStepOf(steps, (answer) => answer === result);
  if (of) return { answer_step: of.seq };
  const packed_result = packedText("prompt", result);
  return packed_result === undefined ? { result } : { packed_result };
}

/** The value of a packed column, or of the one beside it if that is null. */
export const readPacked = (packed: Uint8Array | null, value: unknown): unknown =>
  packed === null ? value : JSON.parse(textOf(packed));

const textOf = (packed: Uint8Array) => Buffer.from(unpack(packed)).toString();
const answerOf = ({ packed_answer, answer_output }: StoredAnswer) => contentOf(readPacked(packed_answer, answer_output));

/** The other steps of an execution, as they are stored. */
type StoredSteps = readonly (StoredStep<Step> & { readonly seq: number })[];

function inputOf({ kind, input, packed, ...step }: StoredStep<Step>, others: StoredSteps = []): unknown {
  const stored = readPacked(packed, input);
  const { body_after_step: named, ...rest } = (kind === "post" && stored ? stored : {}) as ShortenedStep;
  if (named === undefined) return stored;
  const [seq, after] = named;
  if (step.packed_answer !== null || step.answer_output !== null) return { ...rest, body: answerOf(step) + after };
  // Earlier versions packed shortened posts too, so the database does not find their answers.
  const answer = others.find((other) => other.seq === seq);
  // Without the answer, a part of the text would be taken for the whole.
  if (!answer) throw new Error(`the step ${seq} with the answer is missing`);
  return { ...rest, body: contentOf(outputOf(answer)) + after };
}

const outputOf = ({ output, packed_output }: StoredStep<Step>): unknown => readPacked(packed_output, output);

const withTexts = <S>({ packed, packed_output, answer_output, packed_answer, ...step }: StoredStep<S>, texts: object) =>
  ({ ...step, ...texts }) as S;

/** The step as it was stored. Throws if a text of it is damaged, or packed by a release that has more dictionaries. */
export const readStep = <S extends Step>(row: StoredStep<S>, others?: StoredSteps): S =>
  withTexts<S>(row, { input: inputOf(row, others), output: outputOf(row) });

/** The step as it is shown: a text that cannot be read is null, and `unreadable` says why. */
export function shownStep<S extends Step>(row: StoredStep<S>, others?: StoredSteps): S & Unreadable {
  const [input, output] = [readable("input", () => inputOf(row, others)), readable("output", () => outputOf(row))];
  return withTexts<S & Unreadable>(row, { input: input.value, output: output.value, ...unreadableOf(input, output) });
}

/** The columns of the result of an execution: see `resultOf` of `text-queries.ts`. */
export interface StoredResult extends StoredAnswer {
  readonly result: string | null;
  readonly packed_result: Uint8Array | null;
}

/** A row with its result, if it has one; null if that cannot be read, and `unreadable` says why. */
export function shownResult<R extends object>(row: R & Partial<StoredResult>): R & Unreadable {
  const { packed_result = null, answer_output = null, packed_answer = null, ...rest } = row;
  if (packed_result === null && packed_answer === null && answer_output === null) return rest as unknown as R;
  const read = () => (packed_result === null ? answerOf({ answer_output, packed_answer }) : textOf(packed_result));
  const result = readable("result", read);
  return { ...rest, result: result.value, ...unreadableOf(result) } as unknown as R & Unreadable;
}

interface Part<T> extends Unreadable {
  readonly value: T | null;
}

/** What `read` returns, or the reason why a part of a row cannot be read: for answers, which have other parts. */
export function readable<T>(part: string, read: () => T): Part<T> {
  try {
    return { value: read() };
  } catch (error) {
    return { value: null, unreadable: `The stored ${part} cannot be read: ${messageOf(error)}` };
  }
}

/** The reasons of the parts that cannot be read, as a member; none if all can. */
export function unreadableOf(...parts: readonly Unreadable[]): Unreadable {
  const reasons = parts.flatMap(({ unreadable }) => unreadable ?? []);
  return reasons.length === 0 ? {} : { unreadable: reasons.join(" ") };
}
