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
  WebhookPayload,
  WebhookRequest,
} from "@signalbox/sdk";
import type { DeclaredContributions } from "@signalbox/sdk/manifest";
import { z } from "zod";
import { authCheck } from "../../platform/webhook-auth.ts";
import * as shapes from "./answer-shapes.ts";
import { type AnyCall, type Caller, callAndCheck, callOptions, type Mask, type Target } from "./caller.ts";
import { connectionSchema } from "./connection-schema.ts";
import { limits } from "./limits.ts";

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
    memories: mapEach(declarations.memories, (name, { about }) => {
      return { about, ...functions({ kind: "memories", name }, shapes.memoryAnswers, call) } as unknown as MemoryStore;
    }),
    knowledge: mapEach(declarations.knowledge, (name, one) => knowledge(name, one, call, mask)),
    queues: mapEach(declarations.queues, (name, { about, forwards, feeds }) => {
      const { publish, ...consuming } = shapes.queueAnswers;
      const answers = { publish, ...(!forwards && consuming), ...(feeds && shapes.feedAnswers) };
      return { about, ...functions({ kind: "queues", name }, answers, call) } as unknown as Queue | ForwardingQueue;
    }),
    useCases: mapEach(declarations.useCases, (name, { about }) => useCase(name, about, call)),
    routes: mapEach(declarations.routes, (name, one) => route(name, one, call)),
  };
}

function source(name: string, declaration: DeclaredContributions["sources"][string], call: Caller, mask: Mask): Source {
  const of = { kind: "sources", name } as const;
  const { about, secrets, required, signature, has } = declaration;
  const implemented = Object.entries(shapes.optionalSourceAnswers).filter(([method]) => (has as string[]).includes(method));
  const verify = async (request: WebhookRequest, connection: Settings): Promise<VerificationResult> => {
    // The body is too long for the process, so only the host's check of the signature decides.
    if (signature && request.body.byteLength > limits.sent / 2) return { ok: true };
    const sent = { headers: request.headers, body: Buffer.from(request.body).toString("base64") };
    return callAndCheck(call, { ...of, method: "verify" }, shapes.verdict, [sent, mask(connection)]);
  };
  return {
    about,
    secrets,
    required,
    ...(signature && { signature }),
    connection: connectionSchema(declaration.connection),
    verify: withSignature(signature, verify),
    parse: (request: WebhookPayload) => callAndCheck(call, { ...of, method: "parse" }, shapes.sourceEvent, [request]),
    ...functions(of, { ...shapes.sourceAnswers, ...Object.fromEntries(implemented) }, call, mask),
  } as unknown as Source;
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
    ...functions({ kind: "tools", name }, { run: shapes.json, ...(find && { find: shapes.json }) }, call, mask),
  } as unknown as Tool;
}

function knowledge(
  name: string,
  { about, config, secrets }: DeclaredContributions["knowledge"][string],
  call: Caller,
  mask: Mask,
): KnowledgeConnector {
  const own = functions({ kind: "knowledge", name }, shapes.knowledgeAnswers, call, mask);
  return { about, secrets, config: connectionSchema(config), ...own } as unknown as KnowledgeConnector;
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
    return callAndCheck(
      call,
      { kind: "routes", name, method: "run" },
      shapes.routeAnswer,
      [request],
      options,
    ) as Promise<RouteResponse>;
  },
});

/**
 * Functions of a contribution, with the shapes of their answers. With `mask`, the last argument of each is the object of its call, whose
 * settings are masked.
 */
const functions = (
  of: Pick<Target, "kind" | "name">,
  answers: Readonly<Record<string, z.ZodType>>,
  call: Caller,
  mask?: Mask,
): Record<string, (...args: unknown[]) => Promise<unknown>> =>
  Object.fromEntries(
    Object.entries(answers).map(([method, shape]) => [
      method,
      (...args) => {
        const options = mask && callOptions(args.pop() as AnyCall, mask);
        return callAndCheck(call, { ...of, method }, shape, args, options);
      },
    ]),
  );

function useCase(name: string, about: string, call: Caller): UseCase {
  const target = (method: string): Target => ({ kind: "useCases", name, method });
  return {
    about,
    setup: (request, { signal, state, save }) =>
      callAndCheck(call, target("setup"), shapes.useCaseAnswers.setup, [request], { call: { state }, signal, save }),
    teardown: ({ signal, state, save }) =>
      callAndCheck(call, target("teardown"), shapes.useCaseAnswers.teardown, [], { call: { state }, signal, save }),
  };
}
