import type {
  Contributions,
  ForwardingQueue,
  KnowledgeConnector,
  MemoryStore,
  Queue,
  Route,
  RouteResponse,
  Source,
  Tool,
  UseCase,
  VerificationResult,
  WebhookRequest,
} from "@signalbox/sdk";
import type { DeclaredContributions } from "@signalbox/sdk/manifest";
import { z } from "zod";
import { authCheck } from "../../platform/webhook-auth.ts";
import { type AnyCall, ask, type Caller, callOf, type Mask, type Target } from "./caller.ts";
import { connectionSchema } from "./connection-schema.ts";
import { limits } from "./limits.ts";
import * as shapes from "./shapes.ts";

/**
 * The contributions of a sandboxed plugin: the same values as in this process, but each function is a call of the plugin's
 * process.
 */
export function contributionsOf(declarations: DeclaredContributions, call: Caller, mask: Mask): Contributions {
  const mapEach = <D, T>(all: Record<string, D>, make: (name: string, one: D) => T): Record<string, T> =>
    Object.fromEntries(Object.entries(all).map(([name, one]) => [name, make(name, one)]));
  return {
    sources: mapEach(declarations.sources, (name, one) => source(name, one, call, mask)),
    tools: mapEach(declarations.tools, (name, one) => tool(name, one, call, mask)),
    memories: mapEach(declarations.memories, (name, { about }) =>
      functions<MemoryStore>({ kind: "memories", name }, about, shapes.memoryAnswers, call),
    ),
    knowledge: mapEach(declarations.knowledge, (name, one) => knowledge(name, one, call, mask)),
    queues: mapEach(declarations.queues, (name, { about, forwards, feeds }) => {
      const { publish, ...consuming } = shapes.queueAnswers;
      const answers = { publish, ...(!forwards && consuming), ...(feeds && shapes.feedAnswers) };
      return functions<Queue | ForwardingQueue>({ kind: "queues", name }, about, answers, call);
    }),
    useCases: mapEach(declarations.useCases, (name, { about }) => useCase(name, about, call)),
    routes: mapEach(declarations.routes, (name, one) => route(name, one, call)),
  };
}

function source(name: string, declaration: DeclaredContributions["sources"][string], call: Caller, mask: Mask): Source {
  const target = (method: string): Target => ({ kind: "sources", name, method });
  const callWithArgument =
    <S extends z.ZodType>(method: string, shape: S) =>
    (first: unknown, use: AnyCall) =>
      ask(call, target(method), shape, [first], callOf(use, mask));
  const callWithoutArgument =
    <S extends z.ZodType>(method: string, shape: S) =>
    (use: AnyCall) =>
      ask(call, target(method), shape, [], callOf(use, mask));
  const { about, secrets, required, signature, has } = declaration;
  const asVerdict = async (request: WebhookRequest, connection: Settings): Promise<VerificationResult> => {
    // The body is too long for the process, so only the host's check of the signature decides.
    if (signature && request.body.byteLength > limits.sent / 2) return { ok: true };
    return ask(call, target("verify"), shapes.verdict, [
      { headers: request.headers, body: Buffer.from(request.body).toString("base64") },
      mask(connection),
    ]);
  };
  return {
    about,
    secrets,
    required,
    ...(signature && { signature: signature as NonNullable<Source["signature"]> }),
    connection: connectionSchema(declaration.connection),
    verify: withSignature(signature, asVerdict),
    parse: (request) => ask(call, target("parse"), shapes.sourceEvent, [request]),
    account: callWithoutArgument("account", shapes.account),
    check: callWithoutArgument("check", shapes.accountReport),
    deliver: callWithArgument("deliver", shapes.postedComment),
    find: callWithArgument("find", shapes.postedComment.nullable()),
    ...(has.includes("findAll") && { findAll: callWithArgument("findAll", shapes.postedComment.array().max(1_000)) }),
    ...(has.includes("retract") && {
      retract: (post: unknown, comment: unknown, use: AnyCall) =>
        ask(call, target("retract"), shapes.noResult, [post, comment], callOf(use, mask)),
    }),
    ...(has.includes("react") && {
      react: (subject: unknown, reaction: unknown, use: AnyCall) =>
        ask(call, target("react"), shapes.noResult, [subject, reaction], callOf(use, mask)),
    }),
    ...(has.includes("update") && {
      update: (post: unknown, comment: unknown, use: AnyCall) =>
        ask(call, target("update"), shapes.postedComment, [post, comment], callOf(use, mask)),
    }),
    ...(has.includes("poll") && { poll: callWithArgument("poll", shapes.pollResult) }),
    ...(has.includes("createIssue") && { createIssue: callWithArgument("createIssue", shapes.createdIssue) }),
    ...(has.includes("projectId") && { projectId: callWithArgument("projectId", shapes.projectId) }),
    ...(has.includes("describe") && { describe: callWithArgument("describe", shapes.subjectDetails) }),
    ...(has.includes("standing") && { standing: callWithArgument("standing", shapes.standing) }),
    ...(has.includes("checkWebhook") && { checkWebhook: callWithArgument("checkWebhook", shapes.webhookReport) }),
    ...(has.includes("closeIssue") && { closeIssue: callWithArgument("closeIssue", shapes.noResult) }),
  } as Source;
}

type Settings = Readonly<Record<string, unknown>>;

/**
 * Checks a webhook. The host checks a declared signature, and calls `verify` too, so that both must accept the webhook. While the
 * process does not respond, the signature alone decides, and the webhook is deferred.
 */
export function withSignature(
  signature: DeclaredContributions["sources"][string]["signature"],
  verify: (request: WebhookRequest, connection: Settings) => VerificationResult | Promise<VerificationResult>,
): (request: WebhookRequest, connection: Settings) => Promise<VerificationResult> {
  return async (request, connection) => {
    if (!signature) return verify(request, connection);
    const verdict = checkSignature(signature, request, connection);
    if (!verdict.ok) return verdict;
    try {
      return await verify(request, connection);
    } catch (error) {
      if (["unavailable", "timeout"].includes(String((error as { code?: unknown }).code))) return verdict;
      throw error;
    }
  };
}

/** Uses the declaration of the source, so that the process does not have to run. */
function checkSignature(
  { type, header, prefix = "", secret }: NonNullable<DeclaredContributions["sources"][string]["signature"]>,
  request: WebhookRequest,
  connection: Readonly<Record<string, unknown>>,
): VerificationResult {
  const value = connection[secret];
  if (typeof value !== "string" || value === "")
    return { ok: false, reason: `the setting ${secret} is missing, so no webhook can be verified` };
  const auth = type === "token" ? ({ method: "token", header } as const) : ({ method: "hmac_sha256", header, prefix } as const);
  return authCheck(auth, value)({ ...request, address: () => null });
}

function tool(name: string, declaration: DeclaredContributions["tools"][string], call: Caller, mask: Mask): Tool {
  const { about, category, effect, idempotent, keeps_private, find, input } = declaration;
  const callWithInput = (method: string) => (argument: unknown, use: AnyCall) =>
    ask(call, { kind: "tools", name, method }, shapes.json, [argument], callOf(use, mask));
  const members = typeof input.properties === "object" && input.properties !== null ? Object.keys(input.properties) : [];
  return {
    about,
    effect,
    idempotent,
    keeps_private,
    ...(category !== undefined && { category }),
    // The process validates with the plugin's own schema, the host with the JSON Schema of it.
    input: z.looseObject(Object.fromEntries(members.map((member) => [member, z.unknown()]))),
    output: z.unknown(),
    run: callWithInput("run"),
    ...(find && { find: callWithInput("find") }),
  } as unknown as Tool;
}

function knowledge(
  name: string,
  declaration: DeclaredContributions["knowledge"][string],
  call: Caller,
  mask: Mask,
): KnowledgeConnector {
  const { about, config, secrets } = declaration;
  const callWithArgument =
    <S extends z.ZodType>(method: string, shape: S) =>
    (first: unknown, use: AnyCall) =>
      ask(call, { kind: "knowledge", name, method }, shape, [first], callOf(use, mask));
  return {
    about,
    secrets,
    config: connectionSchema(config),
    list: callWithArgument("list", shapes.pageList),
    read: callWithArgument("read", shapes.pages),
  };
}

/** The process validates the input with the plugin's own schema. */
const route = (name: string, { about, method, scope, raw }: DeclaredContributions["routes"][string], call: Caller): Route => ({
  about,
  method,
  scope,
  raw,
  run: ({ query, headers, body, bytes }, { signal, caller }) => {
    const request = { query, headers, body, ...(bytes && { bytes: Buffer.from(bytes).toString("base64") }) };
    const options = { signal, call: { caller } };
    return ask(call, { kind: "routes", name, method: "run" }, shapes.routeAnswer, [request], options) as Promise<RouteResponse>;
  },
});

function functions<T>(
  of: Pick<Target, "kind" | "name">,
  about: string,
  answers: Readonly<Record<string, z.ZodType>>,
  call: Caller,
): T {
  const methods = Object.entries(answers).map(([method, shape]) => [
    method,
    (...args: unknown[]) => ask(call, { ...of, method }, shape, args),
  ]);
  return { about, ...Object.fromEntries(methods) } as T;
}

function useCase(name: string, about: string, call: Caller): UseCase {
  const target = (method: string): Target => ({ kind: "useCases", name, method });
  return {
    about,
    setup: (request, { signal, state, save }) =>
      ask(call, target("setup"), shapes.useCaseAnswers.setup, [request], { call: { state }, signal, save }),
    teardown: ({ signal, state, save }) =>
      ask(call, target("teardown"), shapes.useCaseAnswers.teardown, [], { call: { state }, signal, save }),
  };
}
