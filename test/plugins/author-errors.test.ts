import { afterAll, beforeAll, expect, test } from "vitest";
import { buildPlugin, toolOf } from "../harness/plugin-bundle.ts";
import { type Service, startService } from "../harness/service.ts";
import { eventually } from "../harness/wait.ts";

const limit = 120_000;

/** A plugin whose tool does what its author did not intend. */
const code = `
  import { definePlugin, tool } from "@signalbox/sdk";
  import { z } from "zod";
  const pause = (ms) => new Promise((done) => setTimeout(done, ms));
  export default definePlugin({
    id: "faulty", version: "1.0.0", sdk: "^0.1.0", config: z.object({}), needs: [],
    setup: () => ({ tools: { act: tool({
      about: "Does what its parameter says.", effect: "read",
      input: z.object({ how: z.string() }), output: z.object({ text: z.string() }),
      run: async ({ how }) => {
        if (how === "throw") return readTheWrongMember();
        if (how === "member") return {};
        if (how === "type") return { text: 1 };
        if (how === "nothing") return undefined;
        if (how === "large") return { text: "x".repeat(5_000_000) };
        if (how === "leak") for (const kept = []; ; await pause(0)) kept.push(new Array(100_000).fill(Math.random()));
        if (how === "rejection") { void Promise.reject(new Error("not caught")); await pause(5_000); }
        return { text: how };
      },
    }) } }),
  });
  function readTheWrongMember() { return undefined.member; }`;

let service: Service;
beforeAll(async () => {
  const input = { how: { type: "string" } };
  const { body } = await buildPlugin(code, {
    id: "faulty",
    contributes: { tools: { act: toolOf("Does what its parameter says.", input) } },
  });
  service = await startService();
  expect((await service.post("/api/plugins", body)).status).toBe(201);
  expect((await service.post("/api/plugins/faulty/approve", {})).status).toBe(200);
}, limit);
afterAll(() => service?.close());

const act = async (how: string) => {
  const { status, body } = await service.post<{ error?: string }>("/api/tools/faulty.act/execute", { parameters: { how } });
  return { status, error: body.error };
};

test(
  "a result that does not match its schema is refused with the member and what it must be",
  async () => {
    const prefix = "faulty.act: what run returned does not match output: ";
    expect(await act("member")).toEqual({ status: 502, error: `${prefix}text: is required; it must be a string` });
    expect(await act("type")).toEqual({ status: 502, error: `${prefix}text: must be a string; it is a number` });
    expect(await act("nothing")).toEqual({ status: 502, error: `${prefix}it must be an object; it is undefined` });
  },
  limit,
);

test(
  "a result that is too large fails its call, and the process goes on",
  async () => {
    const { status, error } = await act("large");
    expect(status).toBe(502);
    expect(error).toMatch(/^faulty\.act: The result has 50000\d\d bytes as JSON; the limit is 4194304 \(4 MiB\)\.$/);
    expect((await service.get<{ state: string; crashes: number }>("/api/plugins/faulty")).body).toMatchObject({
      state: "ready",
      crashes: 0,
    });
  },
  limit,
);

test(
  "the log of the plugin has the stack of an unexpected error",
  async () => {
    expect((await act("throw")).error).toMatch(/^faulty\.act: Cannot read/);
    const { body } = await service.get<{ lines: { message: string; fields: { stack?: string } }[] }>("/api/plugins/faulty/logs");
    const found = body.lines.filter(({ message }) => message === "tools.act.run threw");
    expect(found).toHaveLength(1);
    expect(found[0]?.fields.stack).toMatch(/^TypeError: Cannot read.*\n.* at .*dist\/plugin\.js:\d+:\d+/);
  },
  limit,
);

test(
  "a process whose heap is full ends, and the reason names the limit",
  async () => {
    expect((await act("leak")).error).toMatch(
      /the process of faulty ended: .*: it needed more than 64 MiB of heap \(limits\.memory_mb/,
    );
    await eventually(async () => (await service.get<{ state: string }>("/api/plugins/faulty")).body.state === "degraded");
  },
  limit,
);

test(
  "a rejection that nothing catches ends the process, and the reason contains its message",
  async () => {
    const { status, error } = await act("rejection");
    expect(status).toBe(502);
    expect(error).toMatch(/it exited with code 1: Uncaught \(in promise\) Error: not caught$/);
    await eventually(async () => {
      const { body } = await service.get<{ state: string }>("/api/plugins/faulty");
      return body.state === "degraded";
    });
  },
  limit,
);
