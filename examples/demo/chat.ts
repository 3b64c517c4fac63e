/** The members of a request to `POST /v1/chat/completions` that a script uses. */
export interface ChatRequest {
  readonly model: string;
  readonly messages: readonly ChatMessage[];
  readonly tools?: readonly {
    readonly type: "function";
    readonly function: { readonly name: string; readonly parameters?: unknown };
  }[];
  readonly tool_choice?: unknown;
  readonly temperature?: number;
  readonly stream?: boolean;
  readonly stream_options?: { readonly include_usage?: boolean };
}

export interface ChatMessage {
  readonly role: string;
  readonly content?: string | null | readonly { readonly type: string; readonly text?: string }[];
  readonly tool_calls?: readonly {
    readonly id: string;
    readonly function: { readonly name: string; readonly arguments: string };
  }[];
  readonly tool_call_id?: string;
}

export interface ToolCall {
  readonly name: string;
  /** Sent as JSON; a string is sent unchanged, so that a script can send broken JSON. */
  readonly arguments: unknown;
}

/** The reply of a script. */
export interface Reply {
  readonly content?: string | null;
  readonly tool_calls?: readonly ToolCall[];
  readonly delayMs?: number;
  /** An error in OpenAI's shape, with this status. */
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Never answers. */
  readonly hang?: boolean;
  /** Closes the connection in the middle of the response. */
  readonly truncate?: boolean;
  /** 200 with an unrelated body. */
  readonly rubbish?: boolean;
  /** 200 with this JSON instead of a completion. */
  readonly raw?: unknown;
  /** Default: estimated from the texts. */
  readonly usage?: { readonly prompt_tokens: number; readonly completion_tokens: number };
}

export const textOf = (message: ChatMessage): string =>
  typeof message.content === "string" ? message.content : (message.content ?? []).map((part) => part.text ?? "").join("\n");

/** All text of a request, or the text of one role. */
export const allText = (request: ChatRequest, role?: string): string =>
  request.messages
    .filter((message) => role === undefined || message.role === role)
    .map(textOf)
    .join("\n");

/** The response in OpenAI's format: a JSON body or server-sent events. */
export function completion(request: ChatRequest, reply: Reply, number: number): Response {
  const id = `chatcmpl-demo${number}`;
  const head = { id, created: Math.floor(Date.now() / 1000), model: request.model, system_fingerprint: "fp_demo" };
  const calls = (reply.tool_calls ?? []).map((call, index) => ({
    id: `call_${number}_${index}`,
    type: "function" as const,
    function: {
      name: call.name,
      arguments: typeof call.arguments === "string" ? call.arguments : JSON.stringify(call.arguments),
    },
  }));
  const finish_reason = calls.length > 0 ? "tool_calls" : "stop";
  const content = reply.content ?? (calls.length > 0 ? null : "");
  const usage = usageOf(request, reply, calls);
  const headers = { ...reply.headers, ...misbehaviour(reply) };
  if (request.stream)
    return streamResponse(
      { ...head, object: "chat.completion.chunk" },
      { content, calls, finish_reason, usage },
      request,
      headers,
    );
  const message = {
    role: "assistant",
    content,
    refusal: null,
    annotations: [],
    ...(calls.length > 0 ? { tool_calls: calls } : {}),
  };
  const choices = [{ index: 0, message, logprobs: null, finish_reason }];
  return Response.json({ ...head, object: "chat.completion", choices, usage, service_tier: "default" }, { headers });
}

interface Parts {
  readonly content: string | null;
  readonly calls: readonly {
    readonly id: string;
    readonly type: "function";
    readonly function: { name: string; arguments: string };
  }[];
  readonly finish_reason: string;
  readonly usage: unknown;
}

function streamResponse(head: object, parts: Parts, request: ChatRequest, headers: Record<string, string>): Response {
  const chunk = (delta: object, finish_reason: string | null = null) =>
    event({ ...head, choices: [{ index: 0, delta, logprobs: null, finish_reason }] });
  const events = [
    chunk({ role: "assistant", content: parts.content === null ? null : "" }),
    ...(parts.content?.match(/[\s\S]{1,24}/g) ?? []).map((content) => chunk({ content })),
    ...parts.calls.flatMap((call, index) => [
      chunk({ tool_calls: [{ index, id: call.id, type: call.type, function: { name: call.function.name, arguments: "" } }] }),
      ...(call.function.arguments.match(/[\s\S]{1,24}/g) ?? []).map((part) =>
        chunk({ tool_calls: [{ index, function: { arguments: part } }] }),
      ),
    ]),
    chunk({}, parts.finish_reason),
    ...(request.stream_options?.include_usage ? [event({ ...head, choices: [], usage: parts.usage })] : []),
    "data: [DONE]\n\n",
  ];
  const encoder = new TextEncoder();
  const body = new ReadableStream({
    start(controller) {
      for (const text of events) controller.enqueue(encoder.encode(text));
      controller.close();
    },
  });
  return new Response(body, {
    headers: { ...headers, "content-type": "text/event-stream; charset=utf-8", "cache-control": "no-cache" },
  });
}

const event = (data: unknown): string => `data: ${JSON.stringify(data)}\n\n`;

const misbehaviour = (reply: Reply): Record<string, string> =>
  reply.truncate ? { "x-misbehave": "truncate" } : reply.rubbish ? { "x-misbehave": "rubbish" } : {};

function usageOf(request: ChatRequest, reply: Reply, calls: unknown) {
  const prompt_tokens =
    reply.usage?.prompt_tokens ?? tokensOf(JSON.stringify(request.messages) + JSON.stringify(request.tools ?? ""));
  const completion_tokens = reply.usage?.completion_tokens ?? tokensOf((reply.content ?? "") + JSON.stringify(calls));
  return { prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens };
}

/** Roughly four characters per token of English. */
export const tokensOf = (text: string): number => Math.max(1, Math.ceil(text.length / 4));
