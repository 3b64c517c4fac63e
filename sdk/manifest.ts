import { z } from "zod";
import {
  contributionKinds,
  type DeclaredContributions,
  declaredContributions,
  name,
  objectSchema,
} from "./declared-contributions.ts";
import { exactObject } from "./manifest-error.ts";
import { CONTRACT_VERSION, semanticVersion } from "./plugin.ts";

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
} from "./declared-contributions.ts";
export { manifestError } from "./manifest-error.ts";
export { permissionDiff } from "./permission-diff.ts";

/** Version of the manifest format. */
export const MANIFEST_VERSION = 1;

const id = z
  .string()
  .regex(
    /^[a-z][a-z0-9-]{0,62}$/,
    'must start with a lower-case letter and contain at most 63 lower-case letters, digits and "-"',
  );
const version = z.string().max(100).regex(semanticVersion, "must be a semantic version such as 1.2.0");
/** Text shown to operators. It must not contain characters that control a terminal or change the direction of text. */
const sentence = (max: number) =>
  z
    .string()
    .trim()
    .min(1, "must not be empty")
    .max(max)
    .regex(/^[^\u202a-\u202e\u2066-\u2069]*$/, "must not contain characters that change the direction of text")
    .regex(/^(?:\P{Cc}|[\n\t])*$/u, "must not contain control characters");
const sha256 = z.string().regex(/^[0-9a-f]{64}$/, "must be a SHA-256 as 64 lower-case hexadecimal digits");

/** A host name, optionally with a port; without scheme, path or wildcard, and not an IP address. */
const hostName = z
  .string()
  .max(260)
  .regex(
    /^(?=.*[a-z])([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*(:\d{1,5})?$/,
    "must be a host name in lower case such as api.linear.app, without https:// and without a path",
  );
/** Maximum size of a plugin's bundle, in bytes. */
export const maxBundleBytes = 16 * 1024 * 1024;
export const httpMethods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"] as const;

/** A host that `fetch` may reach, with the reason. Both are shown to the operator. */
const httpPermission = exactObject({
  host: hostName,
  methods: z.array(z.enum(httpMethods)).min(1),
  why: sentence(300),
});
/**
 * Operations with these nouns control access, or require the scope `admin`, so no plugin can call them, even with an approval.
 */
export const reservedNouns: readonly string[] = [
  ...["keys", "plugins", "integrations", "mcp-servers", "gateway", "audit", "audit-log"],
  ...["pauses", "data", "configuration", "knowledge-sources", "sources"],
];
/** Whether a plugin may be permitted to call an operation of the host. */
export const isGrantable = (operation: string): boolean => !reservedNouns.includes(operation.split(".")[0] as string);

/** An operation that the capability `operations` may call, for example `projects.create`. */
const operationPermission = exactObject({
  id: z
    .string()
    .regex(/^[a-z][a-z-]*\.[a-z][a-z-]*$/, "must be the id of an operation such as projects.create")
    .refine(isGrantable, `must not be an operation of ${reservedNouns.join(", ")}; no plugin may call those`),
  why: sentence(300),
});

/** Headers that belong to the connection: the host sets them. */
export const connectionHeader =
  /^(host|connection|keep-alive|content-length|transfer-encoding|te|trailer|upgrade|expect|forwarded|x-forwarded-.*|proxy-.*|sec-.*|:.*)$/i;

const inject = exactObject({
  as: z.literal("header"),
  name: z
    .string()
    .regex(/^[a-z0-9-]{1,100}$/, "must be a header name in lower case")
    .refine((name) => !connectionHeader.test(name), "must not be a header of the connection, such as host or content-length"),
  /** Header value with `{}` in place of the secret, for example `Bearer {}`. */
  format: z
    .string()
    .max(200)
    .regex(/^[^{}\r\n]*\{\}[^{}\r\n]*$/, "must contain {} once in place of the secret, such as Bearer {}")
    .default("{}"),
  /** Hosts that receive the header. They must be in `permissions.http`. */
  hosts: z.array(hostName).min(1),
});
/**
 * A credential. With `inject`, the plugin receives only a placeholder, and the host sends the value in a header of requests to
 * `hosts`. Without `inject`, the plugin receives the value.
 */
const secret = exactObject({
  title: sentence(200),
  inject: inject.optional(),
  /** Whether the plugin works without it. If not set, `doctor` reports a missing value. Default: false. */
  optional: z.boolean().optional(),
});

/** Resource limits of the sandbox. Limits of the operator apply as well. */
const limits = exactObject({
  /** Heap of the process in MiB. The process is killed if its total memory exceeds this by 192 MiB. Default: 64. */
  memory_mb: z.int().min(16).max(1024).default(64),
  /** Maximum number of concurrent calls; further calls wait. Default: 32. */
  concurrency: z.int().min(1).max(256).default(32),
  /** Timeout of one call in milliseconds. Default: 30,000. */
  call_ms: z.int().min(100).max(600_000).default(30_000),
});

/** A route that needs no API key, with the reason. Both are shown to the operator. */
const openRoute = exactObject({ name, why: sentence(300) });

const permissions = exactObject({
  http: z.array(httpPermission).max(64).default([]),
  operations: z.array(operationPermission).max(64).default([]),
  open_routes: z.array(openRoute).max(64).optional(),
});

const declaredMembers = {
  manifest: z.literal(MANIFEST_VERSION, {
    error: ({ input }) =>
      input === undefined
        ? `is required; it must be ${MANIFEST_VERSION}, the version of the manifest format`
        : `must be ${MANIFEST_VERSION}, the version of the manifest format; it is ${JSON.stringify(input)}`,
  }),
  id,
  title: sentence(100).optional(),
  about: sentence(1_000).optional(),
  kinds: z.array(z.enum(contributionKinds)).min(1),
  /** Path of the bundle, relative to package.json. Default: `dist/plugin.js`. */
  entry: z
    .string()
    .regex(
      /^(?!.*(^|\/)\.\.?(\/|$))[\w@-][\w@./-]*\.m?js$/,
      "must be the relative path of a JavaScript file, such as dist/plugin.js",
    )
    .default("dist/plugin.js"),
  /** Range of compatible SDK versions. */
  sdk: z
    .string()
    .max(100)
    .refine(
      (range) => !["", "*", "x", "latest"].includes(range.trim()),
      'must be a version range such as ^0.1.0; "*" is not allowed',
    ),
  /** Capabilities that `setup` receives. */
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

/** Checks the rules that involve several members. */
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
    if (outside !== undefined) issue(["secrets", key, "inject", "hosts"], `${outside} is not in permissions.http`);
  }
  if (hosts.length > 0 && !needs.includes("fetch"))
    issue(["needs"], 'must contain "fetch", because permissions.http names hosts');
  if (permissions.operations.length > 0 && !needs.includes("operations"))
    issue(["needs"], 'must contain "operations", because permissions.operations names operations');
}

/**
 * The member `signalbox` of a plugin's package.json. It is data that is read without running the plugin. Unknown members are
 * errors.
 */
export const manifest = exactObject(declaredMembers).superRefine(check);
export type Manifest = z.output<typeof manifest>;

/** Every open route must be in the permissions that the operator approves. */
function checkRoutes(
  {
    contributes,
    permissions: { open_routes = [] },
  }: { contributes: DeclaredContributions; permissions: z.output<typeof permissions> },
  context: z.RefinementCtx,
): void {
  for (const [key, { scope }] of Object.entries(contributes.routes)) {
    if (scope !== "open" || open_routes.some((one) => one.name === key)) continue;
    const message = `must contain the route ${key}, which needs no API key`;
    context.addIssue({ code: "custom", path: ["permissions", "open_routes"], message });
  }
}

/**
 * `dist/plugin.json`, written by `signalbox plugin build`: the manifest with its defaults, the version from package.json, the
 * digest of the bundle and the contributions of the bundle. The host reads nothing else to install or list a plugin.
 */
export const builtManifest = exactObject({
  ...declaredMembers,
  version,
  /** Contract version of the SDK in the bundle. */
  contract: z.int().min(1).default(CONTRACT_VERSION),
  bundle: exactObject({
    sha256,
    bytes: z.int().min(1).max(maxBundleBytes),
  }),
  /** JSON Schema of the plugin's configuration. */
  config: objectSchema.default({ type: "object" }),
  contributes: declaredContributions.prefault({}),
})
  .superRefine(check)
  .superRefine(checkRoutes);
export type BuiltManifest = z.output<typeof builtManifest>;
