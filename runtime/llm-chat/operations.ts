import { chat } from "@signalbox/schema/llm";
import { problem } from "@signalbox/schema/problem";
import { findAgent } from "../agents/queries.ts";
import { Events, handle, type ServerEvent } from "../platform/operation.ts";
import { type ChatDeps, type Listeners, runChat, toolCallOf } from "./chat.ts";

export const chatOperation = (deps: ChatDeps) =>
  handle(chat, async ({ agent_id, messages, stream }, { sql, signal }) => {
    const agent = await findAgent(sql, agent_id);
    if (!agent) throw problem("not_found", `There is no agent "${agent_id}".`, { field: "agent_id" });
    if (!deps.llm)
      throw problem(
        "unavailable",
        "No LLM is configured. Set LLM_BASE_URL (and LLM_API_KEY, LLM_MODEL) to an OpenAI-compatible API.",
      );
    if (!stream) return runChat(agent, messages, { sql, signal }, deps);
    return new Events(
      events(signal, async (until, listeners) => ({
        event: "answer",
        data: await runChat(agent, messages, { sql, signal: until }, deps, listeners),
      })),
    );
  });

/** What a chat tells while it goes on, in order. Ending the iteration ends the chat. */
function events(
  signal: AbortSignal,
  run: (signal: AbortSignal, listeners: Listeners) => Promise<ServerEvent>,
): AsyncIterable<ServerEvent> {
  const gone = new AbortController();
  type Heard = { readonly one: ServerEvent } | { readonly fault: unknown };
  let put: ReadableStreamDefaultController<Heard> | undefined;
  const start = (controller: typeof put) => {
    put = controller;
  };
  const heard = new ReadableStream<Heard>({ start }).getReader();
  const tell = (event: string, data: unknown) => put?.enqueue({ one: { event, data } });
  const listeners: Listeners = {
    onDelta: (delta) => tell("delta", { delta }),
    onToolCall: (step) => tell("tool_call", toolCallOf(step)),
  };
  run(AbortSignal.any([signal, gone.signal]), listeners)
    .then(
      ({ event, data }) => tell(event, data),
      // In its turn, behind what was told before.
      (fault) => put?.enqueue({ fault }),
    )
    .finally(() => put?.close());
  return {
    [Symbol.asyncIterator]: () => ({
      next: async () => {
        const { done, value } = await heard.read();
        if (done) return { done: true, value: undefined };
        if ("fault" in value) throw value.fault;
        return { done: false, value: value.one };
      },
      return: async () => {
        gone.abort(new Error("nobody listens any more"));
        return { done: true, value: undefined };
      },
    }),
  };
}
