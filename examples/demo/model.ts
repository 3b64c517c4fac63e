import { realpathSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { allText, type ChatRequest, completion, type Reply } from "./chat.ts";
import { demoScript } from "./demo-script.ts";
import { type EmbeddingsRequest, embeddings } from "./embeddings.ts";
import type { ActiveFault, FaultRule } from "./faults.ts";
import { type Received, startLoopback } from "./loopback-server.ts";

/** `number` counts chat requests from 1. */
export type Script = (request: ChatRequest, number: number) => Reply | Promise<Reply>;

/** A reply used instead of the script's. Plain JSON, so that it can also be sent to `POST /_control/replies`. */
interface CannedReply {
  /** Regular expression on all text of the request. Default: any request. */
  readonly when?: string;
  readonly reply: Reply;
  /** How often it is used. Default: 1. 0: always. */
  readonly times?: number;
}

export interface ModelOptions {
  readonly port?: number;
  readonly script?: Script;
  /** Delay before each response. Milliseconds. */
  readonly delayMs?: number;
  /** API key that every request must have. Default: none. */
  readonly apiKey?: string;
}

/** An OpenAI-compatible API on loopback that follows a script. */
export interface Model {
  /** Base URL for OpenAI's clients, including `/v1`. */
  readonly url: string;
  readonly requests: Received[];
  delayMs: number;
  /** Canned replies take precedence over the script; of several that match, the oldest is used. */
  answerWith(cannedReply: CannedReply): void;
  fault(rule: FaultRule): ActiveFault;
  clearFaults(): void;
  /** Received chat requests, newest last. */
  chats(): ChatRequest[];
  close(): Promise<void>;
}

export async function startModel(options: ModelOptions = {}): Promise<Model> {
  const cannedReplies: { rule: CannedReply; left: number }[] = [];
  const script = options.script ?? demoScript;
  let chats = 0;
  const chat = async (request: ChatRequest): Promise<Response> => {
    const number = ++chats;
    const at = cannedReplies.findIndex(({ rule }) => new RegExp(rule.when ?? "", "i").test(allText(request)));
    const cannedReply = cannedReplies[at];
    if (cannedReply && --cannedReply.left === 0) cannedReplies.splice(at, 1);
    return answer(request, cannedReply?.rule.reply ?? (await script(request, number)), number);
  };
  const server = await startLoopback({
    ...(options.port === undefined ? {} : { port: options.port }),
    handler: (request) => route(request, options.apiKey ?? null, chat),
    errorBody: (status) => ({ error: openAiError(status) }),
  });
  server.delayMs = options.delayMs ?? 0;
  const answerWith = (rule: CannedReply): void => {
    new RegExp(rule.when ?? "");
    cannedReplies.push({ rule, left: rule.times ?? 1 });
  };
  server.control.post("/replies", async (c) => {
    answerWith(await c.req.json<CannedReply>());
    return c.json({ waiting: cannedReplies.length }, 201);
  });
  server.control.delete("/replies", (c) => {
    cannedReplies.length = 0;
    return c.body(null, 204);
  });
  server.control.onError((error, c) => c.json({ error: error.message }, 400));
  return {
    url: `${server.url}/v1`,
    requests: server.requests,
    get delayMs() {
      return server.delayMs;
    },
    set delayMs(ms: number) {
      server.delayMs = ms;
    },
    answerWith,
    fault: (rule) => server.faults.add(rule),
    clearFaults: () => server.faults.clear(),
    chats: () => server.requests.filter(({ path }) => path === "/v1/chat/completions").map(({ body }) => body as ChatRequest),
    close: () => server.close(),
  };
}

async function route(
  request: Request,
  apiKey: string | null,
  chat: (request: ChatRequest) => Promise<Response>,
): Promise<Response> {
  const path = new URL(request.url).pathname;
  if (apiKey !== null && request.headers.get("authorization") !== `Bearer ${apiKey}`) return failure(401);
  if (request.method === "GET" && path === "/v1/models") return Response.json({ object: "list", data: models });
  if (request.method !== "POST") return failure(404, `Unknown request URL: ${request.method} ${path}.`);
  const body = (await request.json().catch(() => null)) as Record<string, unknown> | null;
  if (body === null || typeof body !== "object") return failure(400, "We could not parse the JSON body of your request.");
  if (typeof body.model !== "string") return failure(400, "you must provide a model parameter");
  if (path === "/v1/embeddings") return embeddings(body as unknown as EmbeddingsRequest);
  if (path !== "/v1/chat/completions") return failure(404, `Unknown request URL: POST ${path}.`);
  if (!Array.isArray(body.messages) || body.messages.length === 0) return failure(400, "Invalid 'messages': empty array.");
  return chat(body as unknown as ChatRequest);
}

async function answer(request: ChatRequest, reply: Reply, number: number): Promise<Response> {
  if (reply.delayMs) await sleep(reply.delayMs);
  if (reply.hang) return new Response(null, { headers: { "x-misbehave": "hang" } });
  if (reply.status && reply.status !== 200) return failure(reply.status, reply.content ?? undefined, reply.headers);
  if (reply.raw !== undefined) return Response.json(reply.raw);
  return completion(request, reply, number);
}

const models = ["scripted-demonstration-model", "text-embedding-3-small"].map((id) => ({
  id,
  object: "model",
  created: 1_767_225_600,
  owned_by: "signalbox-demo",
}));

const failure = (status: number, message?: string, headers: Readonly<Record<string, string>> = {}): Response =>
  Response.json({ error: openAiError(status, message) }, { status, headers });

function openAiError(status: number, message = `The scripted model is configured to answer with ${status}.`) {
  const type = status === 429 ? "requests" : status >= 500 ? "server_error" : "invalid_request_error";
  const code = status === 429 ? "rate_limit_exceeded" : status === 401 ? "invalid_api_key" : null;
  return { message: status === 401 ? "Incorrect API key provided." : message, type, param: null, code };
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: { port: { type: "string", default: "0" }, delay: { type: "string", default: "0" }, key: { type: "string" } },
  });
  const settings = { port: Number(values.port), delayMs: Number(values.delay) };
  const model = await startModel(values.key === undefined ? settings : { ...settings, apiKey: values.key });
  console.log(JSON.stringify({ url: model.url }));
}

if (process.argv[1] && realpathSync(process.argv[1]) === import.meta.filename) await main();
