import { type Cases, unique } from "./cases.ts";
import type { World } from "./world.ts";

const config = { base_url: "http://127.0.0.1:9", space_keys: ["DOCS"] };
const secret = { ...config, api_token: "t0ken" };
const source = (more: object = {}) => ({ name: unique("wiki"), type: "wiki", config, enabled: false, ...more });
const made = async ({ make }: World) => ({ params: { id: (await make("knowledge-sources.create", { body: source() })).id } });

export const knowledge: Cases = {
  "knowledge-sources.create": {
    valid: () => ({ body: source({ config: secret }) }),
    503: () => ({ at: "bare", body: source({ config: secret }) }),
  },
  "knowledge-sources.get": { valid: made },
  "knowledge-sources.update": {
    valid: async (world) => ({ ...(await made(world)), body: { enabled: true } }),
    503: async ({ make }) => {
      const { id } = await make("knowledge-sources.create", { at: "bare", body: source() });
      return { at: "bare", params: { id }, body: { config: secret } };
    },
  },
  "knowledge-sources.delete": { valid: made },
  "knowledge-sources.sync": { valid: made },
  "knowledge-sources.jobs": { valid: made },
};
