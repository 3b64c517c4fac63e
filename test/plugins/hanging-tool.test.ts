import { expect, test } from "vitest";
import { buildPlugin, toolOf } from "../harness/plugin-bundle.ts";
import { startService } from "../harness/service.ts";
import { eventually } from "../harness/wait.ts";

const source = `
  import { definePlugin, tool } from "@signalbox/sdk";
  import { z } from "zod";
  export default definePlugin({
    id: "sleeper", version: "1.0.0", sdk: "^0.1.0", config: z.object({}), needs: [],
    setup: () => ({ tools: { wait: tool({
      about: "Never answers.", effect: "read", input: z.object({}), output: z.string(), run: () => new Promise(() => {}),
    }) } }),
  });`;

test("the error of a read tool that hangs says how often it was tried, and its time limit", { timeout: 120_000 }, async () => {
  const manifest = { limits: { call_ms: 300 }, contributes: { tools: { wait: toolOf("Never answers.") } } };
  const { body } = await buildPlugin(source, { id: "sleeper", ...manifest });
  await using service = await startService();
  await service.post("/api/plugins", body);
  expect((await service.post("/api/plugins/sleeper/approve", {})).status).toBe(200);
  await eventually(async () => (await service.get<{ state: string }[]>("/api/plugins")).body[0]?.state === "ready" || null);
  const answer = await service.post<{ error: string }>("/api/tools/sleeper.wait/execute", { parameters: {} });
  expect(answer.status).toBe(502);
  expect(answer.body.error).toMatch(/did not answer within 300 ms \(3 tries\)/);
});
