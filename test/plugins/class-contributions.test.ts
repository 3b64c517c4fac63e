import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { buildPlugin } from "../harness/plugin-bundle.ts";
import { startService } from "../harness/service.ts";

/** A plugin whose source and tool are instances of classes with state. */
const code = `
  import { definePlugin, tool } from "@signalbox/sdk";
  import { z } from "zod";
  class Base {
    about = "Tickets."; connection = z.object({}); secrets = []; required = [];
    #prefix = "ticket-";
    idOf(number) { return this.#prefix + number; }
    account() { return null; }
    check() { return Promise.resolve(null); }
    deliver() { return Promise.resolve({ id: this.idOf(1), url: "https://tickets.example/1" }); }
    find() { return Promise.resolve(null); }
  }
  class Tickets extends Base {
    #number = 7;
    verify() { return this.#number === 7 ? { ok: true } : { ok: false, reason: "never" }; }
    async parse({ headers, payload }) {
      return { delivery_id: this.idOf(payload.number), event_name: "ticket", action: "opened", subject: { project: "p", issue: String(payload.number) },
        actor: null, text: "text", marked: false, occurred_at: null, missing_field: null };
    }
    async poll() { return { events: [{ headers: {}, payload: { number: this.#number } }], cursor: "next" }; }
  }
  class Echo {
    about = "Returns its prefix."; effect = "read"; input = z.object({}); output = z.string(); idempotent = true;
    #text = "echo";
    async run() { return this.#text; }
  }
  export default definePlugin({
    id: "tickets", version: "1.0.0", sdk: "^0.1.0", config: z.object({}), needs: [],
    setup: () => ({ sources: { tickets: new Tickets() }, tools: { echo: new Echo() } }),
  });`;

describe("the contributions of a plugin may be instances of classes", () => {
  test("in its own process and in the service's process", { timeout: 120_000 }, async () => {
    const folder = mkdtempSync(join(tmpdir(), "signalbox-classes-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const file = join(folder, "tickets.mjs");
    writeFileSync(file, (await buildPlugin(code, { id: "tickets" })).bytes);
    await using service = await startService({ env: { SIGNALBOX_PLUGINS: file } });
    const pluginOf = async () => (await service.get<{ tier: string; sha256: string }>("/api/plugins/tickets")).body;
    const { body: from } = await service.post<{ id: number }>("/api/poll-sources", {
      source: "tickets",
      project_id: "p",
      interval_minutes: 60,
      enabled: false,
    });
    const works = async (number: number) => {
      expect(await service.post("/webhook/tickets", { number })).toMatchObject({ status: 200, body: { status: "discarded" } });
      expect(await service.post(`/api/poll-sources/${from.id}/poll`)).toMatchObject({ status: 200, body: { fetched: 1 } });
      expect(await service.post("/api/tools/tickets.echo/execute", { parameters: {} })).toMatchObject({
        body: { result: "echo" },
      });
    };
    const { tier, sha256 } = await pluginOf();
    expect(tier).toBe("sandbox");
    await works(1);
    await service.restart({ SIGNALBOX_TRUSTED_PLUGINS: `tickets@1.0.0#${sha256}` });
    expect((await pluginOf()).tier).toBe("in_process");
    await works(2);
    const { body: events } = await service.get<{ subject: string }[]>("/api/webhook-events");
    expect(events.map(({ subject }) => subject).sort()).toEqual(["tickets:p#1", "tickets:p#2", "tickets:p#7"]);
  });
});
