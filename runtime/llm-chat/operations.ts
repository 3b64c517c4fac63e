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

/** The events of a chat, in order. Ending the iteration aborts the chat. */
function events(
  signal: AbortSignal,
  run: (signal: AbortSignal, listeners: Listeners) => Promise<ServerEvent>,
): AsyncIterable<ServerEvent> {
  const disconnect = new AbortController();
  type Item = { readonly kind: "event"; readonly event: ServerEvent } | { readonly kind: "error"; readonly error: unknown };
  let queue: ReadableStreamDefaultController<Item> | undefined;
  const start = (controller: typeof queue) => {
    queue = controller;
  };
  const items = new ReadableStream<Item>({ start }).getReader();
  const emit = (event: string, data: unknown) => queue?.enqueue({ kind: "event", event: { event, data } });
  const listeners: Listeners = {
    onDelta: (delta) => emit("delta", { delta }),
    onToolCall: (step) => emit("tool_call", toolCallOf(step)),
  };
  run(AbortSignal.any([signal, disconnect.signal]), listeners)
    .then(
      ({ event, data }) => emit(event, data),
      // Emits events in order.
      (error) => queue?.enqueue({ kind: "error", error }),
    )
    .finally(() => queue?.close());
  return {
    [Symbol.asyncIterator]: () => ({
      next: async () => {
        const { done, value } = await items.read();
        if (done) return { done: true, value: undefined };
        if (value.kind === "error") throw value.error;
        return { done: false, value: value.event };
      },
      return: async () => {
        disconnect.abort(new Error("the client disconnected"));
        return { done: true, value: undefined };
      },
    }),
  };
}
