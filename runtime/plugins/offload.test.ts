import { type Contributions, inMemoryThrottle, joinedText, type Plugin, PluginError } from "@signalbox/sdk";
import { callContext } from "@signalbox/sdk/testing";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createLog } from "../platform/log.ts";
import { idleStall, maxStallMs, mebibyte, repeat, repeatedStallOf } from "../platform/test-stall.ts";
import { builtIns } from "./built-ins.ts";
import { type OffloadFor, openOffload } from "./offload.ts";
import { type Conversion, conversionsOf } from "./testing/offload-conversions.ts";
import { documents, gammaIssue, nested, uuid } from "./testing/offload-inputs.ts";

/** Size of most inputs, in characters. Work that grows with the square of this size takes many times `maxStallMs`. */
const usual = 1 << 16;
/** Texts that are also repeated up to 1 MiB. */
const large = ["<", " ", "a", "`"];

let plugins: Readonly<Record<string, Contributions>> = {};
/** The logged lines. */
let warnings: Record<string, unknown>[] = [];
const log = createLog({ pretty: false, write: (line) => void warnings.push(JSON.parse(line)) });
/** The platform's response to every request of the plugins. */
let answer: unknown = {};
const fetch: typeof globalThis.fetch = async () => Response.json(answer);

/** Sets the plugins up with separate worker threads. */
function useThreads(limits: { readonly deadlineMs?: number; readonly queueMs?: number }): OffloadFor {
  const closing: (() => Promise<void>)[] = [];
  let offloadFor: OffloadFor | undefined;
  beforeAll(async () => {
    warnings = [];
    const opened = openOffload({ add: (close) => void closing.push(close) }, log, limits);
    offloadFor = opened.offloadFor;
    await usePlugins(opened.offloadFor);
  }, 60_000);
  afterAll(async () => {
    for (const close of closing) await close();
  });
  return (...given) => (offloadFor as OffloadFor)(...given);
}

async function usePlugins(offloadFor: OffloadFor): Promise<void> {
  const names = ["gamma", "delta", "wiki"] as const;
  const made = names.map(async (id) => [id, await setUp((await builtIns[id]()).default, offloadFor)] as const);
  plugins = Object.fromEntries(await Promise.all(made));
}

const setUp = async (plugin: Plugin, offloadFor: OffloadFor): Promise<Contributions> =>
  plugin.setup({ config: {}, fetch, throttle: inMemoryThrottle(), log: () => {}, offload: offloadFor(plugin) });

/** A call may wait for a thread on a busy machine. */
const timeout = { deadline_ms: 60_000 };
const parsed = (source: string, headers: Readonly<Record<string, string>>, payload: unknown) =>
  Promise.resolve(plugins[source]?.sources?.[source]?.parse({ headers, payload: payload as never }));
const comment = (source: string, connection: Record<string, unknown>, issue: Record<string, unknown>, body: string) => {
  const tool = plugins[source]?.tools?.add_comment;
  const settings = plugins[source]?.sources?.[source]?.connection.parse(connection);
  return Promise.resolve(tool?.run({ ...issue, body }, callContext(settings, timeout)));
};

function readPage(): Promise<unknown> {
  const source = plugins.wiki?.knowledge?.wiki;
  const connection = source?.config.parse({ base_url: "https://wiki.example", space_keys: ["A"], is_cloud: false });
  return Promise.resolve(source?.read(["1"], callContext(connection as never, timeout)));
}

const conversions = conversionsOf({ parsed, comment, readPage });

function stallOn({ reply, run }: Conversion, text: string): Promise<number> {
  answer = reply?.(text);
  return repeatedStallOf(() => run(text));
}

async function expectNoStalls(way: Conversion, inputs: readonly (readonly [piece: string, size: number])[]): Promise<void> {
  const idle = await idleStall();
  // The first call compiles what later calls use.
  await stallOn(way, "*Hello*");
  const stalls: [piece: string, stall: number][] = [];
  for (const [piece, size] of inputs) stalls.push([piece, await stallOn(way, repeat(piece, size))]);
  expect(
    stalls.filter(([, stall]) => stall > maxStallMs + idle),
    `idle: ${idle} ms`,
  ).toEqual([]);
}

describe("no text holds the event loop, if it cannot be converted", () => {
  beforeAll(() => usePlugins(() => () => Promise.reject(new PluginError("timeout", "the deadline"))), 60_000);
  test.each(conversions)("$name", (way) =>
    expectNoStalls(
      way,
      way.inputs.flatMap((piece) => [[piece, usual] as const, ...(large.includes(piece) ? [[piece, mebibyte] as const] : [])]),
    ),
  );

  test("mixtures", async () => {
    const idle = await idleStall();
    const mixtures = fc
      .constantFrom(...conversions)
      .chain((way) => fc.tuple(fc.constant(way), fc.array(fc.constantFrom(...way.inputs), { minLength: 2, maxLength: 4 })));
    await fc.assert(
      fc.asyncProperty(mixtures, async ([way, pieces]) => {
        expect(await stallOn(way, repeat(pieces.join(""), usual)), way.name).toBeLessThanOrEqual(maxStallMs + idle);
      }),
      { numRuns: 25 },
    );
  });
});

const hostile = repeat("<a href=x>", 200_000);
const plugin = {
  id: "delta",
  needs: ["offload"],
  offloaded: { markdownToHtml: () => "", absent: () => "" },
} as unknown as Plugin;

describe("with worker threads", () => {
  useThreads({ deadlineMs: 2_000, queueMs: 30_000 });
  test.each(conversions)(
    "$name: no text of 1 MiB holds the event loop",
    // Only a few, because a text that reaches the deadline costs a thread.
    (way) =>
      expectNoStalls(
        way,
        [...way.inputs.slice(-2), "a*b_c\n\n"].map((piece) => [piece, mebibyte] as const),
      ),
    60_000,
  );

  test("gamma webhook, documents", async () => {
    const idle = await idleStall();
    const stalls: Record<string, number> = {};
    for (const [name, document] of Object.entries(documents)) {
      const payload = { webhookEvent: "jira:issue_created", issue: gammaIssue(document) };
      stalls[name] = await repeatedStallOf(() => parsed("gamma", {}, payload));
    }
    expect(
      Object.entries(stalls).filter(([, stall]) => stall > maxStallMs + idle),
      `idle: ${idle} ms`,
    ).toEqual([]);
  }, 60_000);

  test("a text that cannot be converted in time does not keep the next one from being converted", async () => {
    const of = (description_html: string) =>
      parsed("delta", {}, { event: "issue", action: "created", data: { id: uuid, description_html } });
    const [, event] = await Promise.all([of(`<p>${hostile}`), of("<p><b>a</b></p>"), of(`<p>${hostile}`)]);
    expect(event?.text).toEqual(["# Issue", "**a**"]);
    expect((await of("<p><b>b</b></p>"))?.text).toEqual(["# Issue", "**b**"]);
  });
});

describe("with a deadline that no busy machine reaches", () => {
  const offloadFor = useThreads({ deadlineMs: 60_000, queueMs: 60_000 });
  const call = (name: string, ...input: unknown[]) => offloadFor(plugin)(name as never, ...(input as never[]));
  test("resolves with the result", async () => expect(await call("markdownToHtml", "**a**")).toBe("<p><strong>a</strong></p>"));
  test("an exception of the function has the code failed", async () =>
    expect(call("markdownToHtml", null)).rejects.toMatchObject({
      code: "failed",
      message: expect.stringContaining("delta: markdownToHtml: "),
    }));
  test("an unknown function has the code failed", async () => {
    await expect(call("toString", "x")).rejects.toMatchObject({ code: "failed" });
    await expect(call("absent", "x")).rejects.toMatchObject({ code: "failed" });
  });
  test("input that is not JSON has the code invalid", async () => {
    await expect(call("markdownToHtml", 1n)).rejects.toMatchObject({ code: "invalid_input" });
    await expect(call("markdownToHtml", nested(50_000, "x"))).rejects.toMatchObject({ code: "invalid_input" });
  });
  test("a module that cannot be loaded has the code failed", async () => {
    const other = offloadFor(plugin, new URL("missing.ts", import.meta.url).href);
    await expect(other("markdownToHtml", "x" as never)).rejects.toMatchObject({
      code: "failed",
      message: expect.stringContaining("missing.ts"),
    });
  });
  test("calls that wait too long, or during shutdown, have the code unavailable", async () => {
    const closing: (() => Promise<void>)[] = [];
    const short = openOffload({ add: (close) => void closing.push(close) }, log, { deadlineMs: 60_000, queueMs: 300 });
    const run = short.offloadFor(plugin);
    const slow = repeat("a\n=\n", 200_000);
    await run("markdownToHtml", "a" as never).catch(() => {});
    await Promise.allSettled([run("markdownToHtml", "a" as never), run("markdownToHtml", "a" as never)]);
    const running = [0, 1].map(() => run("markdownToHtml", slow as never).catch((error) => error.code));
    await expect(run("markdownToHtml", "b" as never)).rejects.toMatchObject({ code: "unavailable" });
    for (const close of closing) await close();
    expect(await Promise.all(running)).toEqual(["unavailable", "unavailable"]);
    await expect(run("markdownToHtml", "c" as never)).rejects.toMatchObject({ code: "unavailable" });
  }, 20_000);
});

describe("with a short deadline", () => {
  // Both texts take longer than any deadline here, so a short one saves processor time.
  const offloadFor = useThreads({ deadlineMs: 300, queueMs: 30_000 });
  test("a text that cannot be converted in time is read as plain text, and logged once", async () => {
    const data = { id: uuid, project: uuid, description_html: `<p>Hello <b>you</b></p>${hostile}` };
    for (const _ of [1, 2]) {
      const event = await parsed("delta", {}, { event: "issue", action: "created", data });
      expect(joinedText(event?.text ?? "")).toMatch(/plain text[\s\S]*```text\nHello you\n```$/);
    }
    expect(warnings.filter((line) => line.function === "htmlToMarkdown" && Number(line.characters) < 1 << 18)).toEqual([
      {
        level: "warn",
        message: "an offloaded function failed",
        plugin: "delta",
        function: "htmlToMarkdown",
        code: "timeout",
        characters: expect.any(Number),
        error: expect.stringContaining("300 ms"),
        time: expect.any(String),
      },
    ]);
  });
  test("a deadline is a timeout", async () =>
    expect(offloadFor(plugin)("markdownToHtml" as never, repeat("a\n=\n", 200_000) as never)).rejects.toMatchObject({
      code: "timeout",
      message: expect.stringContaining("300 ms"),
    }));
});
