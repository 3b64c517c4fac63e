import { type BuiltManifest, builtManifest, permissionDiff } from "@signalbox/sdk/manifest";
import fc from "fast-check";
import { describe, expect, test } from "vitest";

const hosts = ["a.example", "b.example"];
const subset = <T>(all: readonly T[]) => fc.subarray([...all]);
const some = <T>(names: readonly string[], value: fc.Arbitrary<T>) =>
  fc.array(fc.tuple(fc.constantFrom(...names), value), { maxLength: 3 }).map((pairs) => Object.fromEntries(pairs));

/** Small manifests with few names, so that two of them have much in common. */
const members = fc.record({
  http: fc.uniqueArray(
    fc.record({
      host: fc.constantFrom(...hosts),
      methods: fc.subarray(["GET", "POST", "PUT"], { minLength: 1 }),
      why: fc.constant("w"),
    }),
    { selector: ({ host }) => host },
  ),
  operations: subset(["projects.create", "projects.delete"]),
  needs: subset(["log", "embed"]),
  secrets: some(["s", "t"], fc.record({ name: fc.constantFrom("x-key", "x-token"), readable: fc.boolean() })),
  routes: some(["r", "q"], fc.constantFrom("open", "read", "write", "admin")),
  tools: some(["read_it", "write_it"], fc.constantFrom("read", "write")),
  queues: subset(["box"]),
  memories: subset(["shelf"]),
  limits: fc.record({
    memory_mb: fc.constantFrom(64, 128),
    concurrency: fc.constantFrom(8, 32),
    call_ms: fc.constantFrom(1_000, 60_000),
  }),
});
type Members = typeof members extends fc.Arbitrary<infer T> ? T : never;
/** Two versions that differ in a member or two. */
const pairs = fc
  .tuple(
    members,
    members,
    fc.subarray(["http", "operations", "needs", "secrets", "routes", "tools", "queues", "memories", "limits"] as const, {
      minLength: 1,
      maxLength: 2,
    }),
  )
  .map(([one, other, changed]) => [one, { ...one, ...Object.fromEntries(changed.map((key) => [key, other[key]])) }] as const);

const manifestOf = (given: Members): BuiltManifest => {
  const reached = given.http.map(({ host }) => host);
  const secrets = Object.entries(given.secrets).map(([key, { name, readable }]) => [
    key,
    { title: "T", ...(!readable && reached.length > 0 && { inject: { as: "header", name, hosts: reached } }) },
  ]);
  const open = Object.entries(given.routes).filter(([, scope]) => scope === "open");
  const about = { about: "A." };
  return builtManifest.parse({
    manifest: 1,
    id: "p",
    kinds: ["tools"],
    sdk: "^0.1.0",
    version: "1.0.0",
    limits: given.limits,
    bundle: { sha256: "0".repeat(64), bytes: 1 },
    needs: [...given.needs, ...(reached.length > 0 ? ["fetch"] : []), ...(given.operations.length > 0 ? ["operations"] : [])],
    permissions: {
      http: given.http,
      operations: given.operations.map((id) => ({ id, why: "w" })),
      open_routes: open.map(([name]) => ({ name, why: "w" })),
    },
    secrets: Object.fromEntries(secrets),
    contributes: {
      routes: Object.fromEntries(Object.entries(given.routes).map(([name, scope]) => [name, { ...about, method: "GET", scope }])),
      tools: Object.fromEntries(
        Object.entries(given.tools).map(([name, effect]) => [name, { ...about, effect, input: { type: "object" }, output: {} }]),
      ),
      queues: Object.fromEntries(given.queues.map((name) => [name, about])),
      memories: Object.fromEntries(given.memories.map((name) => [name, about])),
    },
  });
};

/** The facts about who may call what, and about the plugin's permissions: more facts mean more permissions. */
function facts(one: BuiltManifest): Set<string> {
  const { permissions, secrets, needs, contributes, limits } = one;
  const callers = ["open", "read", "write", "admin"];
  const from = <T>(record: Record<string, T>, tell: (name: string, value: T) => string[]) =>
    Object.entries(record).flatMap(([name, value]) => tell(name, value));
  return new Set([
    ...permissions.http.flatMap(({ host, methods }) => methods.map((method) => `${method} ${host}`)),
    ...permissions.operations.map(({ id }) => id),
    ...needs,
    // A plugin that can read a credential can send it to every host that it reaches, in every header.
    ...from(secrets, (name, { inject }) => [
      `has ${name}`,
      ...["x-key", "x-token"].flatMap((header) =>
        hosts
          .filter((host) => !inject || (inject.name === header && inject.hosts.includes(host)))
          .map((host) => `${name} ${header} ${host}`),
      ),
      ...(inject ? [] : [`reads ${name}`]),
    ]),
    ...from(contributes.routes, (name, { scope }) =>
      callers.slice(callers.indexOf(scope)).map((caller) => `${caller} calls ${name}`),
    ),
    ...from(contributes.tools, (name, { effect }) => [`tool ${name}`, ...(effect === "write" ? [`${name} writes`] : [])]),
    ...Object.keys(contributes.queues).map((name) => `queue ${name}`),
    ...Object.keys(contributes.memories).map((name) => `memory ${name}`),
    ...[64, 128].filter((mb) => limits.memory_mb >= mb).map((mb) => `${mb} MiB`),
    ...[8, 32].filter((calls) => limits.concurrency >= calls).map((calls) => `${calls} calls`),
    ...[1_000, 60_000].filter((ms) => limits.call_ms >= ms).map((ms) => `${ms} ms`),
  ]);
}

describe("permissionDiff", () => {
  test("reports exactly the permissions that one version has and the other does not", () => {
    const seen = new Set<boolean>();
    fc.assert(
      fc.property(pairs, (pair) => {
        const [before, after] = pair.map(manifestOf) as [BuiltManifest, BuiltManifest];
        const isMore = !facts(after).isSubsetOf(facts(before));
        seen.add(isMore);
        expect(permissionDiff(before, after).length > 0).toBe(isMore);
      }),
      { numRuns: 1_000 },
    );
    expect(seen.size).toBe(2);
  });
  const built = (contributes: object) =>
    builtManifest.parse({
      manifest: 1,
      id: "p",
      kinds: ["tools"],
      sdk: "^0.1.0",
      version: "1.0.0",
      contributes,
      bundle: { sha256: "0".repeat(64), bytes: 1 },
    });
  test("describes who may call what, and what writes", () => {
    const route = (scope: string) => built({ routes: { stats: { about: "S.", method: "GET", scope } } });
    const tool = (effect: string) => built({ tools: { note: { about: "N.", effect, input: { type: "object" }, output: {} } } });
    expect(permissionDiff(route("admin"), route("read"))).toEqual([
      "route: stats, for API keys with the scope read, before admin",
    ]);
    expect(permissionDiff(route("read"), route("admin"))).toEqual([]);
    expect(permissionDiff(null, route("read"))).toEqual(["route: stats, for API keys with the scope read"]);
    expect(permissionDiff(tool("read"), tool("write"))).toEqual(["tool: note, which writes; until now it only read"]);
    expect(permissionDiff(tool("write"), tool("read"))).toEqual([]);
    expect(permissionDiff(null, tool("read"))).toEqual([]);
    expect(permissionDiff(built({}), tool("read"))).toEqual(["tool: note, which reads"]);
  });
});
