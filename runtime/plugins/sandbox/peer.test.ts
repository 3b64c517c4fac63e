import { PluginError } from "@signalbox/sdk";
import fc from "fast-check";
import { expect, test } from "vitest";
import { idleStall, maxStallMs, repeatedStallOf } from "../../platform/test-stall.ts";
import { Peer, RemoteError } from "./peer.ts";

/** A peer of a process that only the test writes for, and what the peer did. */
function open() {
  const sent: string[] = [];
  const killed: string[] = [];
  const child = {
    pid: 1,
    write: (line: string) => void sent.push(line),
    end: () => {},
    kill: (reason: string) => void killed.push(reason),
    whenExited: new Promise<never>(() => {}),
    memory: () => null,
  };
  const peer = new Peer({
    name: "worker",
    child: () => child,
    serve: async (_, params) => params,
    onNotification: () => {},
  });
  return { peer, sent, killed };
}

const key = fc.oneof(
  fc.constantFrom("jsonrpc", "id", "method", "params", "result", "error", "code", "message", "data", "__proto__", "constructor"),
  fc.string({ maxLength: 5 }),
);
const value = fc.letrec<{ any: unknown }>((tie) => ({
  any: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom(null, true, 0, 1, 2, -1, 1e308, "cancel", "fetch", "1", "\u2028", "\ud800", "toString"),
    fc.array(tie("any"), { maxLength: 4 }),
    fc.array(fc.tuple(key, tie("any")), { maxLength: 5 }).map((members) => Object.fromEntries(members)),
  ),
})).any;
const message = fc.record(
  { jsonrpc: fc.constant("2.0"), id: value, method: value, params: value, result: value, error: value },
  { requiredKeys: [] },
);
/** Messages, and lines that are cut off or have a part of another one. */
const line = fc
  .tuple(fc.oneof(message, value), fc.nat(40), fc.constantFrom("", "", "", "}", "[", '"', ',"id":1', "\u0000", "{".repeat(300)))
  .map(([one, cut, more]) => {
    const text = JSON.stringify(one) ?? "";
    return more === "" ? text : text.slice(0, cut) + more + text.slice(cut);
  });

test("whatever a process sends, reading it throws nothing, and a call ends with a value or an error of its own kind", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(line, { maxLength: 20 }), async (lines) => {
      const { peer, sent, killed } = open();
      const call = peer.request("call", {}, { deadlineMs: 60_000 }).then(
        () => null,
        (error: unknown) => error,
      );
      for (const one of lines) peer.receive(one);
      await peer.whenIdle();
      peer.close("the test is over");
      const error = await call;
      expect(error === null || error instanceof RemoteError || error instanceof PluginError).toBe(true);
      if (error instanceof RemoteError) expect(error.toPluginError()).toBeInstanceOf(PluginError);
      expect(killed).toEqual([]);
      for (const answer of sent) expect(JSON.parse(answer)).toMatchObject({ jsonrpc: "2.0" });
      expect(({} as Record<string, unknown>).result).toBeUndefined();
    }),
    { numRuns: 150 },
  );
});

test("no line that the main thread reads holds it for long", async () => {
  const idle = await idleStall();
  const pieces = ["[", "{", '{"a":', '{"__proto__":', '{"id":1,"error":', "[[],", '"\\ud800', '{"a":1,"b":2},', "1e999,", "\\"];
  const { peer } = open();
  for (const piece of pieces) {
    const text = piece.repeat(Math.floor(16_000 / piece.length));
    const stall = await repeatedStallOf(async () => {
      for (let i = 0; i < 5; i++) peer.receive(text);
    });
    expect(stall, piece).toBeLessThan(maxStallMs + idle);
  }
});
