import { existsSync, readdirSync } from "node:fs";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Built, buildPlugin } from "../../../test/harness/plugin-bundle.ts";
import { cachedBundle } from "../bundle-cache.ts";
import { attacks } from "../testing/hostile/attacks.js";
import { deadly, noise } from "../testing/hostile/deadly.js";
import { buildHostile, bystander, hostFor, makePlace, type Place, secret } from "../testing/hostile/host.ts";
import { type Isolation, noIsolation } from "./launch.ts";
import { openSandbox, type Sandbox } from "./open.ts";

const limit = 60_000;
const delay = monitorEventLoopDelay({ resolution: 10 });

let built: Built;
let place: Place;
let neighbour: Sandbox;
/** The other plugin's answers, and the longest response time; it is called all the time. */
const seen = { answers: 0, failures: [] as string[], slowest: 0 };
let watching: Promise<void> | undefined;
let over = false;

const call = (sandbox: Sandbox, tool: string, input: object) =>
  sandbox.call({ kind: "tools", name: tool, method: "run" }, [input], { call: { key: "k", connection: {} } });
const attack = (sandbox: Sandbox, set: string, name: string) =>
  call(sandbox, "attack", { set, name, at: { ...place, reached: null } });
const open = (callMs = 20_000, isolation?: Isolation) =>
  openSandbox({ bundle: place.bundle, name: "hostile", callMs, isolation });
/** Of `attacks`. */
const isStopped = async (sandbox: Sandbox, name: string) => {
  const result = await attack(sandbox, "attacks", name).then(
    (value) => ({ value }),
    () => null,
  );
  expect(result, `it could do this: ${name}`).toBeNull();
  expect(place.reached).toEqual([]);
};
const alive = async (sandbox: Sandbox) => expect(await call(sandbox, "pollute", {})).toMatchObject({ ok: true });

beforeAll(async () => {
  process.env.HOSTILE_SECRET = secret;
  built = await buildHostile();
  place = await makePlace(built);
  neighbour = await openSandbox({
    bundle: cachedBundle((await buildPlugin(bystander, { id: "bystander" })).bytes).file,
    name: "bystander",
  });
  delay.enable();
  watching = (async () => {
    while (!over) {
      const began = performance.now();
      await call(neighbour, "now", {}).then(
        () => seen.answers++,
        (error) => seen.failures.push(String(error)),
      );
      seen.slowest = Math.max(seen.slowest, performance.now() - began);
      await sleep(20);
    }
  })();
}, limit);
afterAll(async () => {
  over = true;
  await watching;
  await neighbour?.close();
  await place?.close();
});

describe("attacks while it serves", () => {
  let sandbox: Sandbox;
  beforeAll(async () => {
    sandbox = await open();
  }, limit);
  afterAll(() => sandbox?.close());

  test.each(Object.keys(attacks))("%s", async (name) => {
    await isStopped(sandbox, name);
    await alive(sandbox);
  });
  test("it wrote nothing", () => {
    expect(readdirSync(place.folder).sort()).toEqual(["link", "plugin.mjs", "secret.txt", "socket"]);
    expect(existsSync("/dev/null/none")).toBe(false);
  });
  test.each(Object.keys(noise))("%s on the protocol is dropped, and the plugin keeps serving", async (name) => {
    await attack(sandbox, "noise", name);
    await alive(sandbox);
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
  });
  test("a prototype in an answer stays an answer", async () => {
    const answer = (await call(sandbox, "pollute", {})) as object;
    expect(Object.getPrototypeOf(answer)).toBe(Object.prototype);
    expect(Object.hasOwn(answer, "__proto__")).toBe(false);
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
  });
});

test("Deno's permissions alone stop the attacks", { timeout: limit }, async () => {
  const sandbox = await open(20_000, noIsolation);
  try {
    for (const name of Object.keys(attacks)) await isStopped(sandbox, name);
    await alive(sandbox);
  } finally {
    await sandbox.close();
  }
});

describe("attacks that end only its own process", () => {
  const deadline = 1_000;
  // Short compared with reading the message: the process was ended before it was read.
  const costly: Record<string, string> = {
    "a message of brackets": "it sent a message of more than 250000 values",
    "a flood of brackets": "it sent more messages than allowed",
  };
  const hanging = [
    "a loop",
    "a regular expression",
    "a getter that loops in its answer",
    "no answer, and a loop in timers",
    "closed streams and a loop",
  ];
  const cases = Object.keys(deadly);
  // Some of them do not end the process. In all cases, this call fails and no other does.
  test.concurrent.each(cases)(
    "%s",
    async (name) => {
      // On a busy machine, its response to a ping can be later than its message.
      const sandbox = await open(name in costly ? 10 * deadline : deadline);
      const began = performance.now();
      const outcome = await attack(sandbox, "deadly", name).then(
        (value) => ({ value }),
        (error: { code?: string }) => error,
      );
      expect(outcome).not.toHaveProperty("value");
      expect(["timeout", "unavailable", "failed"]).toContain((outcome as { code?: string }).code);
      // On a busy machine, the host takes longer to end a process. Processes that it does not end have run long enough by then.
      const isEnded = hanging.includes(name) || name in costly;
      const left = isEnded ? 20_000 : began + deadline + 1_000 - performance.now();
      await Promise.race([sandbox.whenExited, sleep(left)]);
      sandbox.kill("the case is over");
      const { reason } = await sandbox.whenExited;
      if (hanging.includes(name)) expect(reason).toBe("it did not answer a ping within 1000 ms");
      if (costly[name]) expect(reason).toBe(costly[name]);
      process.stdout.write(`  ${name}: ${reason}\n`);
      expect(place.reached).toEqual([]);
    },
    limit,
  );
});

describe("attempts to read secrets", () => {
  const operations: string[] = [];
  let host: ReturnType<typeof hostFor>;
  const tool = (name: string) => host.contributions.tools?.[name];
  const run = async (name: string, input: object = {}) =>
    (await tool(name)?.run(input as never, { connection: {}, key: "k", signal: AbortSignal.timeout(20_000) } as never)) as Record<
      string,
      unknown
    >;
  const request = (url: string, more: object = {}) => run("request", { url, ...more });
  const refused = (url: string, more: object = {}) =>
    request(url, more).then(
      () => "let through",
      (error) => String(error.message),
    );

  beforeAll(async () => {
    const settings = { token: secret, readable: "r", api_url: `http://127.0.0.1:${place.port}`, undeclared: secret };
    host = hostFor(built, settings, operations);
    await host.process.start();
    expect(host.process.status()).toMatchObject({ state: "ready" });
  }, limit);
  afterAll(() => host?.close());

  test("an injected credential is a placeholder everywhere except in requests to its hosts", async () => {
    const got = await run("secrets");
    expect(got).toMatchObject({ readable: "r", other: null, prototype: null, inherited: null });
    expect(got.token).toMatch(/^signalbox-secret-/);
    expect(JSON.stringify(got)).not.toContain(secret);
    const echoed = await request("https://api.hostile.example/echo", { headers: { authorization: `Bearer ${got.token}` } });
    expect(host.sent.at(-1)?.authorization).toBe(`Bearer ${secret}`);
    expect(JSON.stringify(echoed)).not.toContain(secret);
    const before = place.reached.length;
    await request(`http://127.0.0.1:${place.port}/${got.token}`, { headers: { authorization: `Bearer ${got.token}` } });
    expect(place.reached.slice(before)).toEqual([`GET /${got.token}`]);
  });
  test.each([
    ["its host where it resolves to this machine", "https://api.hostile.example/", "is not a public address"],
    ["its host without TLS", "http://api.hostile.example/", "its permissions are for https"],
    [
      "its host at another port",
      "https://api.hostile.example:8443/",
      "not in permissions.http of its manifest, nor in the URL of a setting",
    ],
    ["another host", "https://leak.example/", "not in permissions.http of its manifest, nor in the URL of a setting"],
    ["this machine", "http://127.0.0.1:9/", "not in permissions.http of its manifest, nor in the URL of a setting"],
    [
      "this machine in other words",
      "http://2130706433:9/",
      "not in permissions.http of its manifest, nor in the URL of a setting",
    ],
    [
      "the metadata of a cloud",
      "http://169.254.169.254/latest/meta-data",
      "not in permissions.http of its manifest, nor in the URL of a setting",
    ],
    ["this machine by IPv6", "http://[::1]:9/", "not in permissions.http of its manifest, nor in the URL of a setting"],
    [
      "this machine mapped into IPv6",
      "http://[::ffff:127.0.0.1]:9/",
      "not in permissions.http of its manifest, nor in the URL of a setting",
    ],
    [
      "its host with a final dot",
      "https://api.hostile.example./",
      "not in permissions.http of its manifest, nor in the URL of a setting",
    ],
    ["a file", "file:///etc/passwd", "not in permissions.http of its manifest, nor in the URL of a setting"],
    ["credentials in the address", "https://a:b@api.hostile.example/", "must not contain credentials"],
    ["a redirect to this machine", "/moved", "not in permissions.http of its manifest, nor in the URL of a setting"],
  ])("%s is not reached", async (_, url, why) => {
    const before = place.reached.filter((one) => one !== "GET /moved").length;
    expect(await refused(url.startsWith("/") ? `http://127.0.0.1:${place.port}${url}` : url)).toContain(why);
    expect(place.reached.filter((one) => one !== "GET /moved")).toHaveLength(before);
  });
  test("a method that was not approved is refused", async () => {
    expect(await refused("https://api.hostile.example/echo", { method: "POST", body: "x" })).toContain(
      "cannot send POST requests",
    );
  });
  test("a capability that was not approved is not available, even past the boot file", async () => {
    await run("attack", { set: "noise", name: "a capability that it was not given" });
    await run("attack", { set: "noise", name: "the settings of another" });
    await run("secrets");
    expect(operations).toEqual([]);
  });
});

test("meanwhile the other plugin answered", () => {
  const ms = (nanoseconds: number) => Math.round(nanoseconds / 1e6);
  process.stdout.write(
    `  bystander: ${seen.answers} answers, slowest ${Math.round(seen.slowest)} ms; event loop delay p50 ${ms(delay.percentile(50))} ms, p99 ${ms(delay.percentile(99))} ms, most ${ms(delay.max)} ms\n`,
  );
  expect(seen.failures).toEqual([]);
  expect(seen.answers).toBeGreaterThan(20);
});
