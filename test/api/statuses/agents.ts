import { type Arrange, type Cases, unique } from "./cases.ts";
import type { World } from "./world.ts";

const agent = () => ({ id: unique("agent"), name: "An agent", role_id: "dev", prompt: "You help." });
const made = async ({ make }: World) => ({ params: { id: (await make("agents.create", { body: agent() })).id } });
const seeded = { params: { id: "ta_default" } };
const ofSeeded: Arrange = () => seeded;

export const agents: Cases = {
  "agents.create": { valid: () => ({ body: agent() }) },
  "agents.get": { valid: made },
  "agents.update": {
    valid: async (world) => ({ ...(await made(world)), body: { name: "Renamed", auth_secret: "a long secret" } }),
  },
  "agents.delete": { valid: made },
  "agents.list-capabilities": { valid: ofSeeded },
  "agents.add-capability": { valid: () => ({ ...seeded, body: { capability: unique("label") } }) },
  "agents.remove-capability": {
    valid: async ({ make }) => {
      const { id } = await make<{ id: number }>("agents.add-capability", { ...seeded, body: { capability: unique("label") } });
      return { params: { id: "ta_default", capability_id: id } };
    },
  },
  "agents.audit": { valid: ofSeeded },
  "agents.audit-trail": { valid: ofSeeded },
  "agents.usage-stats": { valid: ofSeeded },
};
