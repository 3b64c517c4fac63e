import { z } from "zod";

/** The kinds of contributions, as `setup` names them. */
export const contributionKinds = ["sources", "tools", "memories", "knowledge", "queues", "useCases", "routes"] as const;
export type ContributionKind = (typeof contributionKinds)[number];

/** Of a contribution, and of a secret. */
export const name = z
  .string()
  .regex(
    /^[a-z][a-z0-9_-]{0,62}$/,
    "must be lower-case letters, digits, `_` and `-`, starting with a letter, such as add_comment",
  );

/** JSON Schema, draft 2020-12, of an object. */
export const objectSchema = z.looseObject({ type: z.literal("object") });
const anySchema = z.looseObject({});
const about = z.string().max(10_000);

/** A tool as the bundle declares it. */
export const builtTool = z.strictObject({
  about,
  category: z.string().max(100).optional(),
  effect: z.enum(["read", "write"]),
  idempotent: z.boolean().default(false),
  /** It has `find`, which looks for what an earlier try with the same key left. */
  find: z.boolean().default(false),
  input: objectSchema,
  output: anySchema,
});

/** How a webhook proves itself, in data, so that the host checks it while the plugin is away. See `Signature` of the contract. */
export const signatureScheme = z.strictObject({
  type: z.enum(["hmac-sha256", "token"]),
  /** Name of the header, lower case. */
  header: z.string().regex(/^[a-z0-9-]{1,100}$/, "must be a header name in lower case"),
  /** What stands before the value, such as `sha256=`. */
  prefix: z.string().max(50).optional(),
  /** Member of `connection` that holds the secret. */
  secret: z.string().max(100),
});

export const builtSource = z.strictObject({
  about,
  connection: objectSchema,
  secrets: z.array(z.string().max(100)).max(100),
  required: z.array(z.string().max(100)).max(100),
  signature: signatureScheme.optional(),
  /** Which of the optional functions it has. */
  has: z.array(z.enum(["poll", "createIssue", "closeIssue", "projectId", "findAll", "retract"])).default([]),
});
/** A connector to documents: `config` are the settings of one source. */
export const builtKnowledge = z.strictObject({ about, config: objectSchema, secrets: z.array(z.string().max(100)).max(100) });
const described = z.strictObject({ about });
/** A route: `input` is of the query of a GET, or of the body of a POST. */
export const builtRoute = z.strictObject({
  about,
  method: z.enum(["GET", "POST"]),
  scope: z.enum(["read", "write", "admin", "open"]),
  input: objectSchema.optional(),
});

/** What a bundle contributes, in data: what `setup` returned, as the sandbox tells it. */
export const declaredContributions = z.strictObject({
  sources: z.record(name, builtSource).default({}),
  tools: z.record(name, builtTool).default({}),
  memories: z.record(name, described).default({}),
  knowledge: z.record(name, builtKnowledge).default({}),
  queues: z.record(name, described).default({}),
  useCases: z.record(name, described).default({}),
  routes: z.record(name, builtRoute).default({}),
});
export type DeclaredContributions = z.output<typeof declaredContributions>;
