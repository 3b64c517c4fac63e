import { allText, type ChatRequest, type Reply, textOf } from "../../examples/demo/chat.ts";
import { type Model, startModel } from "../../examples/demo/model.ts";
import { keyOf, type Ledger } from "./ledger.ts";
import { type Random, seeded } from "./random.ts";

/** A model whose answers depend only on its input: its texts name the delivery and the task, so that each text can be counted. */
export interface ChaosModel {
  readonly url: string;
  /** Multiplies the probabilities of its faults; 0 for none. */
  trouble: number;
  /** Milliseconds of each answer, instead of the distribution. */
  fixedDelay: number | null;
  /** Whether it calls tools before it answers. */
  callsTools: boolean;
  close(): Promise<void>;
}

/** Maximum number of requests that the model's server remembers, because their bodies are large. */
const remembered = 200;

export async function startChaosModel(random: Random, ledger: Ledger): Promise<ChaosModel> {
  const settings = { trouble: 0, fixedDelay: null as number | null, callsTools: true };
  const model: Model = await startModel({
    script: (request) => {
      if (model.requests.length > remembered) model.requests.length = 0;
      const fault = randomFault(random, settings.trouble);
      const delayMs = settings.fixedDelay ?? latency(random);
      return { delayMs, ...(fault ?? answerTo(request, ledger, settings.callsTools)) };
    },
  });
  return Object.assign(settings, { url: model.url, close: () => model.close() });
}

/** Log-normal: half of the answers within 250 ms, one in a hundred after more than 2 s. */
function latency(random: Random): number {
  const normal = Math.sqrt(-2 * Math.log(1 - random.next())) * Math.cos(2 * Math.PI * random.next());
  return Math.min(8000, 250 * Math.exp(0.9 * normal));
}

function randomFault(random: Random, trouble: number): Reply | null {
  const faults: readonly (readonly [number, Reply])[] = [
    [0.02, { status: 429, headers: { "retry-after": "1" }, delayMs: 20 }],
    [0.02, { status: 500, delayMs: 50 }],
    [0.01, { content: "An answer that is cut off.", truncate: true }],
    [0.003, { hang: true }],
  ];
  return random.draw(faults, trouble);
}

function answerTo(request: ChatRequest, ledger: Ledger, callsTools: boolean): Reply {
  const user = allText(request, "user");
  const delivery = Number(/chaos-(\d+)/.exec(user)?.[1] ?? 0);
  const task = /^Task: (\w+)$/m.exec(user)?.[1] ?? "none";
  const [, source = "alpha", issue = ""] = /^This event is about (\w+):(\S+)\.$/m.exec(user) ?? [];
  const made = callsMade(request);
  for (const { key, ok } of made) if (ok) ledger.confirmed.add(key);
  const final: Reply = { content: `The cause is known. ${keyOf(delivery, task, "final")}` };
  if (!callsTools) return final;
  const wanted = notesOf(delivery, task);
  const done = made.filter(({ ok }) => ok).length;
  // A model that gets an error calls again with another text, which is another write.
  const tries = made.length - done;
  if (done >= wanted || tries > 2) return final;
  const part = `note${done + 1}${tries > 0 ? `try${tries + 1}` : ""}`;
  const body = `What was found so far. ${keyOf(delivery, task, part)}`;
  return { tool_calls: [{ name: `${source}__add_comment`, arguments: { ...subjectOf(source, issue), body } }] };
}

/** Number of notes that this run writes before it answers: most write none, some one, few two. */
function notesOf(delivery: number, task: string): number {
  const drawn = seeded(`${delivery}/${task}`).next();
  return drawn < 0.6 ? 0 : drawn < 0.9 ? 1 : 2;
}

/** `octo/app#7` is used as it is; for `PROJECT#UUID` and `APP#APP-7`, the two parts are used. */
function subjectOf(source: string, subject: string): Record<string, string> {
  const [project = "", issue = ""] = subject.split("#");
  return source === "alpha" || source === "beta" ? { project, issue: `#${issue}` } : { project, issue };
}

/** The notes of the previous rounds, and whether the service reported that they were written. */
function callsMade(request: ChatRequest): { key: string; ok: boolean }[] {
  const results = new Map(request.messages.map((message) => [message.tool_call_id, textOf(message)]));
  return request.messages.flatMap(({ tool_calls = [] }) =>
    tool_calls.map((call) => ({
      key: /chaos-\d+-[a-z]+-note\d+(?:try\d+)?/.exec(call.function.arguments)?.[0] ?? "",
      // A result is fenced, with its origin before it.
      ok: !(results.get(call.id) ?? '{"error"').includes('{"error"'),
    })),
  );
}
