import { definePlugin, tool } from "@signalbox/sdk";
import { z } from "zod";

const now = tool({
  about: "The current time, ISO 8601.",
  effect: "read",
  input: z.object({}),
  output: z.object({ iso: z.string() }),
  run: () => ({ iso: new Date().toISOString() }),
});
export default definePlugin({
  id: "clock",
  version: "1.0.0",
  sdk: "^0.1.0",
  config: z.object({}),
  needs: [],
  setup: () => ({ tools: { now } }),
});
