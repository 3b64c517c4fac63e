import { z } from "zod";
import { exactObject } from "./manifest-error.ts";

/** The kinds of contributions that `setup` can return. */
export const contributionKinds = ["sources", "tools", "memories", "knowledge", "queues", "useCases", "routes"] as const;
export type ContributionKind = (typeof contributionKinds)[number];

/** Name of a contribution or of a secret. */
export const name = z
  .string()
  .regex(
    /^[a-z][a-z0-9_-]{0,62}$/,
    "must start with a lower-case letter and contain only lower-case letters, digits, `_` and `-`, for example add_comment",
  );

/** JSON Schema, draft 2020-12, of an object. */
export const objectSchema = z.looseObject({ type: z.literal("object", "must be object, as z.object({}) is") });
const anySchema = z.looseObject({});
const about = z.string().max(10_000);

/** A tool in a built manifest. */
export const builtTool = exactObject({
  about,
  category: z.string().max(100).optional(),
  effect: z.enum(["read", "write"]),
  idempotent: z.boolean().default(false),
  /** Whether the tool implements `find`. */
  find: z.boolean().default(false),
  /** Whether the tool writes privately in a private run. See `Tool.keeps_private`. */
  keeps_private: z.boolean().default(false),
  input: objectSchema,
  output: anySchema,
});

/** How webhooks are signed. See `SignatureScheme`. */
export const signatureScheme = exactObject({
  type: z.enum(["hmac-sha256", "token"]),
  /** Name of the header, lower case. */
  header: z.string().regex(/^[a-z0-9-]{1,100}$/, "must be a header name in lower case"),
  /** Text before the value in the header, for example `sha256=`. */
  prefix: z.string().max(50).optional(),
  /** Member of `connection` that holds the secret. */
  secret: z.string().max(100),
});

/** A source in a built manifest. */
export const builtSource = exactObject({
  about,
  connection: objectSchema,
  secrets: z.array(z.string().max(100)).max(100),
  required: z.array(z.string().max(100)).max(100),
  signature: signatureScheme.optional(),
  /** The optional functions that the source implements. */
  has: z
    .array(
      z.enum([
        ...(["poll", "createIssue", "closeIssue", "projectId", "findAll", "retract"] as const),
        ...(["react", "update", "standing", "checkWebhook", "describe"] as const),
      ]),
    )
    .default([]),
});
/** A knowledge connector in a built manifest. `config` is the schema of one knowledge source's settings. */
export const builtKnowledge = exactObject({ about, config: objectSchema, secrets: z.array(z.string().max(100)).max(100) });
const aboutOnly = exactObject({ about });
/** A queue in a built manifest. `forwards`: it is a `ForwardingQueue`; `feeds`: it is a `WebhookFeed` too. */
export const builtQueue = exactObject({
  about,
  forwards: z.boolean().default(false),
  feeds: z.boolean().optional(),
});
/** An HTTP route in a built manifest. `input` is the schema of the query of a GET or of the body of a POST. */
export const builtRoute = exactObject({
  about,
  method: z.enum(["GET", "POST"]),
  scope: z.enum(["read", "write", "admin", "open"]),
  input: objectSchema.optional(),
  /** Whether the route accepts any body and receives its bytes. See `Route.raw`. */
  raw: z.boolean().default(false),
});

/** The contributions of a bundle: what its `setup` returned in the sandbox, as data. */
export const declaredContributions = exactObject({
  sources: z.record(name, builtSource).default({}),
  tools: z.record(name, builtTool).default({}),
  memories: z.record(name, aboutOnly).default({}),
  knowledge: z.record(name, builtKnowledge).default({}),
  queues: z.record(name, builtQueue).default({}),
  useCases: z.record(name, aboutOnly).default({}),
  routes: z.record(name, builtRoute).default({}),
});
export type DeclaredContributions = z.output<typeof declaredContributions>;
