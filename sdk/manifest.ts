import { z } from "zod";
import { contributionKinds, type DeclaredContributions, declaredContributions, name, objectSchema } from "./contributes.ts";
import { CONTRACT_VERSION } from "./plugin.ts";
import { semanticVersion } from "./semantic-version.ts";

export {
  builtKnowledge,
  builtRoute,
  builtSource,
  builtTool,
  type ContributionKind,
  contributionKinds,
  type DeclaredContributions,
  declaredContributions,
  signatureScheme,
} from "./contributes.ts";
export { permissionDiff } from "./permission-diff.ts";

/** Edition of the manifest's own format. */
export const MANIFEST_VERSION = 1;

const id = z
  .string()
  .regex(/^[a-z][a-z0-9-]{0,62}$/, 'must be lower-case letters, digits and "-", starting with a letter, at most 63 characters');
const version = z.string().max(100).regex(semanticVersion, "must be a semantic version such as 1.2.0");
/** Shown to operators, who must read what stands there: nothing that steers a terminal, or turns a text around. */
const sentence = (max: number) =>
  z
    .string()
    .trim()
    .min(1, "must not be empty")
    .max(max)
    .regex(/^[^\u202a-\u202e\u2066-\u2069]*$/, "must not hold characters that turn the direction of text around")
    .regex(/^(?:\P{Cc}|[\n\t])*$/u, "must not hold control characters");
const sha256 = z.string().regex(/^[0-9a-f]{64}$/, "must be a SHA-256 as 64 lower-case hexadecimal digits");

/** A host name, perhaps with a port; no scheme, no path, no wildcard and no address: what is written is what is reached. */
const hostName = z
  .string()
  .max(260)
  .regex(
    /^(?=.*[a-z])([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*(:\d{1,5})?$/,
    "must be a lower-case host name such as api.linear.app, without https:// and without a path; only https is spoken",
  );
export const httpMethods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"] as const;

/** One host that `fetch` may reach, and for what. Shown to the operator, word by word. */
const httpPermission = z.strictObject({
  host: hostName,
  methods: z.array(z.enum(httpMethods)).min(1),
  why: sentence(300),
});
/** Operations with these nouns decide who may do what, so no plugin may call them, whatever an operator approves. */
const reservedNouns = ["keys", "plugins", "integrations", "mcp-servers", "gateway", "audit-log", "pause", "erase"];
/** Whether a plugin may be permitted to call an operation of the host. */
export const isGrantable = (operation: string): boolean => !reservedNouns.includes(operation.split(".")[0] as string);

/** One of the host's own operations that the capability `operations` may call, for example `projects.create`. */
const operationPermission = z.strictObject({
  id: z
    .string()
    .regex(/^[a-z][a-z-]*\.[a-z][a-z-]*$/, "must be an operation such as projects.create")
    .refine(isGrantable, `must not be an operation of ${reservedNouns.join(", ")}; no plugin may call those`),
  why: sentence(300),
});

/** Headers that belong to the connection: the host sets them. */
export const connectionHeader =
  /^(host|connection|keep-alive|content-length|transfer-encoding|te|trailer|upgrade|expect|forwarded|x-forwarded-.*|proxy-.*|sec-.*|:.*)$/i;

const inject = z.strictObject({
  as: z.literal("header"),
  name: z
    .string()
    .regex(/^[a-z0-9-]{1,100}$/, "must be a header name in lower case")
    .refine((name) => !connectionHeader.test(name), "must not be a header of the connection, such as host or content-length"),
  /** `{}` stands for the value: `Bearer {}`. */
  format: z
    .string()
    .max(200)
    .regex(/^[^{}\r\n]*\{\}[^{}\r\n]*$/, "must hold {} once, where the value goes, such as Bearer {}")
    .default("{}"),
  /** Among those of `permissions.http`. */
  hosts: z.array(hostName).min(1),
});
/**
 * A setting that is a credential. With `inject` the plugin never sees it: it is handed a stand-in, and the host puts the
 * value into the header of requests to `hosts`. Without, the plugin reads it.
 */
const secret = z.strictObject({
  title: sentence(200),
  inject: inject.optional(),
});

/** What the sandbox allows; the operator's own ceilings hold beside them. */
const limits = z.strictObject({
  /** Heap of the process, MiB. The process as a whole ends at this plus 192. */
  memory_mb: z.int().min(16).max(1024).default(64),
  /** Calls at the same time; more wait. */
  concurrency: z.int().min(1).max(256).default(32),
  /** Deadline of one call, milliseconds. */
  call_ms: z.int().min(100).max(600_000).default(30_000),
});

/** A route that asks for no API key. Shown to the operator, word by word. */
const openRoute = z.strictObject({ name, why: sentence(300) });

const permissions = z.strictObject({
  http: z.array(httpPermission).max(64).default([]),
  operations: z.array(operationPermission).max(64).default([]),
  open_routes: z.array(openRoute).max(64).optional(),
});

const declared = {
  manifest: z.literal(MANIFEST_VERSION, {
    error: ({ input }) =>
      input === undefined
        ? `is missing; it must be ${MANIFEST_VERSION}, the edition of the manifest`
        : `expected edition ${MANIFEST_VERSION} of the manifest; it is of edition ${JSON.stringify(input)}`,
  }),
  id,
  title: sentence(100).optional(),
  about: sentence(1_000).optional(),
  kinds: z.array(z.enum(contributionKinds)).min(1),
  /** The one bundle, relative to package.json. */
  entry: z
    .string()
    .regex(
      /^(?!.*(^|\/)\.\.?(\/|$))[\w@-][\w@./-]*\.m?js$/,
      "must be a relative path to one JavaScript file, such as dist/plugin.js",
    )
    .default("dist/plugin.js"),
  /** Range of sdk versions that it was written for. */
  sdk: z
    .string()
    .max(100)
    .refine((range) => !["", "*", "x", "latest"].includes(range.trim()), 'must be a range such as ^0.1.0; "*" is refused'),
  /** The capabilities that `setup` is handed. */
  needs: z.array(z.string().regex(/^[a-z][a-zA-Z]{0,62}$/)).default([]),
  permissions: permissions.prefault({}),
  secrets: z.record(name, secret).default({}),
  limits: limits.prefault({}),
} as const;

type Rules = {
  secrets: Record<string, z.output<typeof secret>>;
  permissions: z.output<typeof permissions>;
  kinds: string[];
  needs: string[];
};

/** What one member alone cannot say. */
function check({ secrets, permissions, kinds: own, needs }: Rules, context: z.RefinementCtx): void {
  const hosts = permissions.http.map(({ host }) => host);
  const issue = (path: (string | number)[], message: string) => context.addIssue({ code: "custom", path, message });
  for (const [list, path] of [
    [hosts, ["permissions", "http"]],
    [permissions.operations.map((one) => one.id), ["permissions", "operations"]],
    [permissions.open_routes?.map((one) => one.name) ?? [], ["permissions", "open_routes"]],
    [own, ["kinds"]],
    [needs, ["needs"]],
  ] as const) {
    const twice = list.find((one, i) => list.indexOf(one) !== i);
    if (twice !== undefined) issue([...path], `names ${twice} twice`);
  }
  for (const [key, one] of Object.entries(secrets)) {
    const outside = one.inject?.hosts.find((host) => !hosts.includes(host));
    if (outside !== undefined) issue(["secrets", key, "inject", "hosts"], `${outside} is not among permissions.http`);
  }
  if (hosts.length > 0 && !needs.includes("fetch")) issue(["needs"], 'must name "fetch", because permissions.http names hosts');
  if (permissions.operations.length > 0 && !needs.includes("operations"))
    issue(["needs"], 'must name "operations", because permissions.operations names some');
}

/**
 * The member `signalbox` of a plugin's package.json: data only, read without running the plugin. Strict: an unknown member
 * is an error.
 */
export const manifest = z.strictObject(declared).superRefine(check);
export type Manifest = z.output<typeof manifest>;

/** What is open to everybody is open only where the operator was told. */
function checkRoutes(
  {
    contributes,
    permissions: { open_routes = [] },
  }: { contributes: DeclaredContributions; permissions: z.output<typeof permissions> },
  context: z.RefinementCtx,
): void {
  for (const [key, { scope }] of Object.entries(contributes.routes)) {
    if (scope !== "open" || open_routes.some((one) => one.name === key)) continue;
    const message = `must name the route ${key}, which asks for no API key`;
    context.addIssue({ code: "custom", path: ["permissions", "open_routes"], message });
  }
}

/**
 * `dist/plugin.json`, written by `signalbox plugin build`: the manifest with its defaults filled in, the version of
 * package.json, the digest of the bundle and what the bundle declared. All that the host reads at install and list time.
 */
export const builtManifest = z
  .strictObject({
    ...declared,
    version,
    /** Major of the contract that the sdk in the bundle stamped. */
    contract: z.int().min(1).default(CONTRACT_VERSION),
    bundle: z.strictObject({
      sha256,
      bytes: z
        .int()
        .min(1)
        .max(16 * 1024 * 1024),
    }),
    /** JSON Schema of the plugin's own settings. */
    config: objectSchema.default({ type: "object" }),
    contributes: declaredContributions.prefault({}),
  })
  .superRefine(check)
  .superRefine(checkRoutes);
export type BuiltManifest = z.output<typeof builtManifest>;

/** The first thing wrong with a manifest, in one sentence that names the member. */
export function manifestError(error: z.ZodError): string {
  const [issue] = error.issues;
  if (!issue) return "it is not valid";
  const path = issue.path.length > 0 ? `signalbox.${issue.path.join(".")}` : "signalbox";
  const [, missing] = /^Invalid input: expected (\w+), received undefined$/.exec(issue.message) ?? [];
  return `${path}: ${missing ? `is missing; it must be ${/^[aeiou]/.test(missing) ? "an" : "a"} ${missing}` : issue.message}`;
}
