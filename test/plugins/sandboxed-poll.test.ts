import { afterAll, beforeAll, expect, test } from "vitest";
import { buildPlugin } from "../harness/plugin-bundle.ts";
import { type Service, startService } from "../harness/service.ts";
import { eventually } from "../harness/wait.ts";

const limit = 120_000;

/** A third-party source whose poll returns events that are not valid between others. */
const code = `
  import { definePlugin } from "@signalbox/sdk";
  import { z } from "zod";
  const nothing = async () => null;
  const ticket = (number) => ({ headers: { "ticket-delivery": "t" + number }, payload: { number } });
  export default definePlugin({
    id: "tickets", version: "1.0.0", sdk: "^0.1.0", config: z.object({}), needs: [],
    setup: () => ({ sources: { tickets: {
      about: "Tickets.", connection: z.object({}), secrets: [], required: [], verify: () => ({ ok: true }),
      parse: async ({ headers, payload }) => ({
        delivery_id: headers["ticket-delivery"], event_name: "ticket", action: "opened", subject: { project: "p", issue: String(payload.number) },
        actor: null, text: "text", marked: false, occurred_at: null, missing_field: null,
      }),
      poll: async () => ({
        events: [ticket(1), { ...ticket(2), headers: { "ticket-delivery": 2 } }, ticket(3), { headers: {} }, null, ticket(6)],
        cursor: "next", unreadable: [{ item: "tickets: 7", reason: "title: is missing" }, { item: 8 }],
      }),
      account: nothing, check: nothing, deliver: nothing, find: nothing,
    } } }),
  });`;

let service: Service;
beforeAll(async () => {
  const tickets = { about: "Tickets.", connection: { type: "object", properties: {} }, secrets: [], required: [], has: ["poll"] };
  const { body } = await buildPlugin(code, {
    id: "tickets",
    kinds: ["sources"],
    contributes: { tools: {}, sources: { tickets } },
  });
  service = await startService({ env: { WATCHDOG_ENABLED: "true" } });
  expect((await service.post("/api/plugins", body)).status).toBe(201);
  expect((await service.post("/api/plugins/tickets/approve", {})).status).toBe(200);
}, limit);
afterAll(() => service?.close());

test("an event that is not valid does not stop the others of a poll, and the watchdog names it once", {
  timeout: limit,
}, async () => {
  const { body: source } = await service.post<{ id: number }>("/api/poll-sources", {
    source: "tickets",
    project_id: "p",
    interval_minutes: 60,
    enabled: false,
  });
  const poll = () => service.post(`/api/poll-sources/${source.id}/poll`);
  expect(await poll()).toMatchObject({ status: 200, body: { fetched: 3 } });
  const { body: events } = await service.get<{ subject: string }[]>("/api/webhook-events");
  expect(events.map(({ subject }) => subject).sort()).toEqual(["tickets:p#1", "tickets:p#3", "tickets:p#6"]);
  expect((await service.get(`/api/poll-sources/${source.id}`)).body).toMatchObject({ cursor: "next", last_error: null });
  expect(await poll()).toMatchObject({ status: 200, body: { fetched: 3 } });
  const entries = async () =>
    (await service.get<{ context: { items: string[] } }[]>("/api/watchdog?search=poll+skipped+unreadable+items")).body;
  await eventually(async () => (await entries()).length > 0);
  expect((await entries()).map(({ context }) => context.items.map((item) => item.replace(/[0-9a-f]{12}/, "DIGEST")))).toEqual([
    [
      "tickets: 7: title: is missing",
      "unreadable: 1: is not valid",
      "events: 1, SHA-256 DIGEST: headers.ticket-delivery: must be a string of at most 10000 characters",
      "events: 3, SHA-256 DIGEST: payload: is required",
      "events: 4, SHA-256 DIGEST: must be an object",
    ],
  ]);
});
