import { type Cases, unique } from "./cases.ts";
import type { World } from "./world.ts";

const integration = () => ({ source: "alpha", name: unique("account"), credentials: { token: "t0ken" } });
const made = async ({ make }: World) => ({ params: { id: (await make("integrations.create", { body: integration() })).id } });

const mapping = () => ({
  source: "alpha",
  event_type: unique("event"),
  jq_filter: ".issue",
  canonical_trigger: "custom.happened",
});
const mapped = async ({ make }: World) => ({ params: { id: (await make("webhook-mappings.create", { body: mapping() })).id } });
const nothing = "00000000-0000-7000-8000-000000000000";
const secret = { auth: { method: "token", header: "X-Token", secret: "s3cret" } };

const server = () => ({ name: unique("server"), url: "http://127.0.0.1:9/mcp" });
const polled = { source: "alpha", project_id: "octo/polled", interval_minutes: 5, enabled: false };
const pollSource = async ({ make }: World) => ({ params: await make<{ id: number }>("poll-sources.create", { body: polled }) });
const key = () => ({ name: unique("key"), scopes: ["read"] });

export const connections: Cases = {
  "integrations.create": {
    valid: () => ({ body: integration() }),
    503: () => ({ at: "bare", body: integration() }),
  },
  "integrations.get": { valid: made },
  "integrations.update": {
    valid: async (world) => ({ ...(await made(world)), body: { name: "Renamed" } }),
    503: () => ({
      at: "bare",
      params: { id: "00000000-0000-7000-8000-000000000000" },
      body: { credentials: { token: "another" } },
    }),
  },
  "integrations.delete": { valid: made },
  "integrations.test": { valid: () => ({ params: { source: "alpha" } }) },
  // The document names its parameter as the GET of the same path does; over gRPC it is `id`.
  "integrations.test-stored": {
    valid: async (world) => ({ params: { source: (await made(world)).params.id } }),
    404: () => ({ params: { source: nothing, id: nothing } }),
  },
  "integrations.rotate-secret": {
    valid: made,
    409: async (world) => {
      const { params } = await made(world);
      const body = { webhook_secret: ["the", "same", "secret", "again"].join("-") };
      await world.make("integrations.rotate-secret", { params, body });
      return { params, body };
    },
  },
  "integrations.reencrypt": { 503: () => ({ at: "bare" }) },
  "webhook-mappings.create": {
    valid: () => ({ body: mapping() }),
    503: () => ({ at: "bare", body: { ...mapping(), ...secret } }),
  },
  "webhook-mappings.get": { valid: mapped },
  "webhook-mappings.update": {
    valid: async (world) => ({ ...(await mapped(world)), body: { canonical_trigger: "custom.other" } }),
    409: async (world) => {
      const taken = mapping();
      await world.make("webhook-mappings.create", { body: taken });
      return { ...(await mapped(world)), body: taken };
    },
    503: async ({ make }) => {
      const { id } = await make("webhook-mappings.create", { at: "bare", body: mapping() });
      return { at: "bare", params: { id }, body: secret };
    },
  },
  "webhook-mappings.delete": { valid: mapped },
  "mcp-servers.create": { valid: () => ({ body: server() }) },
  "mcp-servers.delete": { valid: async ({ make }) => ({ params: await make("mcp-servers.create", { body: server() }) }) },
  "mcp-servers.approve": {
    valid: async ({ make }) => ({ params: await make("mcp-servers.create", { body: server() }) }),
    409: async ({ make }) => ({
      params: await make("mcp-servers.create", { body: server() }),
      body: { version: "another" },
    }),
  },
  "poll-sources.create": { valid: () => ({ body: polled }) },
  "poll-sources.get": { valid: pollSource },
  "poll-sources.update": { valid: async (world) => ({ ...(await pollSource(world)), body: { interval_minutes: 10 } }) },
  "poll-sources.delete": { valid: pollSource },
  "poll-sources.poll": {
    valid: pollSource,
    502: async (world) => {
      world.tracker.fault({ path: "/repos/octo/polled/", status: 404, times: 0 });
      return pollSource(world);
    },
    503: async ({ make }) => ({
      at: "bare",
      params: await make<{ id: number }>("poll-sources.create", { at: "bare", body: polled }),
    }),
  },
  "sources.check": {
    valid: () => ({
      params: { source: "alpha" },
      body: { project: "octo/checked", url: "https://signalbox.example.com/webhook/alpha" },
    }),
    502: ({ tracker }) => {
      tracker.fault({ path: "/repos/octo/hidden/hooks", status: 404, times: 0 });
      return {
        params: { source: "alpha" },
        body: { project: "octo/hidden", url: "https://signalbox.example.com/webhook/alpha" },
      };
    },
    503: () => ({
      at: "bare",
      params: { source: "alpha" },
      body: { project: "octo/app", url: "https://signalbox.example.com/" },
    }),
  },
  "keys.create": { valid: () => ({ body: key() }) },
  "keys.revoke": { valid: async ({ make }) => ({ params: await make("keys.create", { body: key() }) }) },
};
