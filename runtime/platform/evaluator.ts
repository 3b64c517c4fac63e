import { type ChildProcess, fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { ExtractionField } from "@signalbox/schema/webhook-mappings";
import { siblingFile } from "./sibling-file.ts";

/** A request to the child process; the body is a webhook's raw bytes. */
export interface Question {
  readonly kind: "filter" | "compile" | "paths";
  readonly body: Uint8Array;
  readonly program: string;
  readonly rules: Readonly<Record<string, string>>;
}
export interface Answer {
  readonly matched?: boolean;
  readonly found?: Readonly<Partial<Record<ExtractionField, string>>>;
  readonly error?: string;
}

/** Evaluates expressions of users in another process, with a deadline. Throws an Error with the reason. */
export interface Evaluator {
  /** Whether the first output of a jq filter is neither false nor null. */
  matches(filter: string, body: Uint8Array): Promise<boolean>;
  /** Throws if jq does not compile the filter. */
  compile(filter: string): Promise<void>;
  /** The first node of each JSONPath, as text. */
  extract(rules: Readonly<Record<string, string>>, body: Uint8Array): Promise<Partial<Record<ExtractionField, string>>>;
  /** Starts the process, so that the first webhook does not wait for it. */
  warm(): void;
  close(): void;
}

/** Time limit of one evaluation: a second, plus a part that depends on the size of the payload. */
const baseMs = 1_000;
const perMegabyteMs = 150;
/** Maximum time that an evaluation waits for its turn, in milliseconds. */
const maxWaitMs = 5_000;
const startMs = 20_000;
/** After this share of its time limit, an evaluation that others wait for is left alone in its process. */
const lateShare = 0.2;
/** How long an expression that timed out is evaluated separately from the others. */
const isolatedForMs = 600_000;

/**
 * Uses at most three processes: one for all expressions, one for an expression that takes long while others wait, and one for those
 * that timed out recently, so that an endless filter delays only itself.
 */
export function createEvaluator(limitMs = baseMs): Evaluator {
  const quickProcess = createProcess(limitMs, true);
  const slowProcess = createProcess(limitMs, false);
  const isolationEnds = new Map<string, number>();
  const ask = async (expression: string, question: Question): Promise<Answer> => {
    const isolatedUntil = isolationEnds.get(expression) ?? 0;
    const chosenProcess = isolatedUntil > Date.now() ? slowProcess : quickProcess;
    const answer = await chosenProcess.ask(question).catch((error) => {
      if (error instanceof OutOfTime) {
        if (isolationEnds.size > 1000) isolationEnds.clear();
        isolationEnds.set(expression, Date.now() + isolatedForMs);
      }
      throw error;
    });
    if (answer.error !== undefined) throw new Error(answer.error);
    return answer;
  };
  const noBody = new Uint8Array(0);
  return {
    matches: async (filter, body) => (await ask(filter, { kind: "filter", body, program: filter, rules: {} })).matched === true,
    compile: async (filter) => void (await ask(filter, { kind: "compile", body: noBody, program: filter, rules: {} })),
    extract: async (rules, body) => (await ask(JSON.stringify(rules), { kind: "paths", body, program: "", rules })).found ?? {},
    warm: quickProcess.warm,
    close: () => {
      quickProcess.close();
      slowProcess.close();
    },
  };
}

class OutOfTime extends Error {}

interface PendingQuestion {
  readonly question: Question;
  readonly since: number;
  readonly done: (answer: Answer) => void;
  readonly fail: (error: Error) => void;
}

/** A process, and what it evaluates now. */
interface Evaluating {
  readonly process: ChildProcess;
  ready: boolean;
  current: PendingQuestion | null;
  /** Whether the current evaluation takes long, so that others get another process. */
  isLate: boolean;
  timer?: ReturnType<typeof setTimeout> | undefined;
  lateTimer?: ReturnType<typeof setTimeout> | undefined;
}

/**
 * One process and the queue of evaluations that wait for it. `mayStepAside`: if an evaluation takes long while others wait, they
 * get another process, and the first one ends with its evaluation.
 */
function createProcess(limitMs: number, mayStepAside: boolean) {
  let child: Evaluating | null = null;
  let aside: Evaluating | null = null;
  let closed = false;
  const queue: PendingQuestion[] = [];

  const complete = (from: Evaluating, act: (one: PendingQuestion) => void) => {
    clearTimeout(from.timer);
    clearTimeout(from.lateTimer);
    const one = from.current;
    from.current = null;
    from.isLate = false;
    if (aside === from) {
      aside = null;
      from.process.kill("SIGKILL");
    }
    if (one) act(one);
    sendNext();
  };
  const drop = (from: Evaluating, error: Error) => {
    if (child === from) child = null;
    from.process.kill("SIGKILL");
    complete(from, (one) => one.fail(error));
    if (error instanceof OutOfTime && !closed) child ??= start();
  };
  const start = () => {
    // The process gets no environment, so expressions find no secrets.
    const file = fileURLToPath(siblingFile(import.meta.url, "evaluator-process"));
    const evaluator: Evaluating = {
      process: fork(file, [], { serialization: "advanced", env: {}, execArgv: [], stdio: "ignore" }),
      ready: false,
      current: null,
      isLate: false,
    };
    const isUsed = () => child === evaluator || aside === evaluator;
    evaluator.process.on("message", (message) => {
      if (!isUsed()) return;
      if (message !== "ready") return complete(evaluator, (one) => one.done(message as Answer));
      evaluator.ready = true;
      clearTimeout(evaluator.timer);
      if (evaluator.current) send(evaluator, evaluator.current);
    });
    const onExit = () => {
      if (isUsed()) drop(evaluator, new Error("the process that evaluates filters exited unexpectedly"));
    };
    evaluator.process.on("error", onExit);
    evaluator.process.on("exit", onExit);
    // Neither the process nor its channel keeps the service running.
    evaluator.process.unref();
    evaluator.process.channel?.unref();
    return evaluator;
  };
  const send = (to: Evaluating, one: PendingQuestion) => {
    const limit = limitMs + (one.question.body.byteLength / 1e6) * perMegabyteMs;
    to.timer = setTimeout(() => drop(to, new OutOfTime(`it did not finish within ${Math.round(limit)} ms`)), limit);
    to.lateTimer = setTimeout(() => {
      to.isLate = true;
      sendNext();
    }, limit * lateShare);
    to.process.send(one.question);
  };
  const stepAside = () => {
    if (!mayStepAside || !child?.isLate || aside || queue.length === 0) return;
    aside = child;
    child = null;
  };
  const sendNext = () => {
    stepAside();
    while (!child?.current && queue.length > 0 && !closed) {
      const one = queue.shift() as PendingQuestion;
      if (Date.now() - one.since > maxWaitMs) {
        one.fail(new Error("it waited too long behind other filters"));
        continue;
      }
      child ??= start();
      const chosen = child;
      chosen.current = one;
      if (chosen.ready) send(chosen, one);
      else chosen.timer = setTimeout(() => drop(chosen, new Error("the process that evaluates filters did not start")), startMs);
    }
  };
  return {
    ask: (question: Question) =>
      new Promise<Answer>((done, fail) => {
        if (closed) return fail(new Error("the service is stopping"));
        queue.push({ question, since: Date.now(), done, fail });
        sendNext();
      }),
    warm: () => {
      if (!closed) child ??= start();
    },
    close: () => {
      closed = true;
      for (const one of [child, aside]) if (one) drop(one, new Error("the service is stopping"));
      for (const one of queue.splice(0)) one.fail(new Error("the service is stopping"));
    },
  };
}
