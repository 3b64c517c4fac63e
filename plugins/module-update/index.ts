import { definePlugin } from "@signalbox/sdk";
import { z } from "zod";
import { moduleUpdate } from "./use-case.ts";

export default definePlugin({
  id: "module-update",
  version: "0.1.0",
  sdk: "^0.1.0",
  about: "Demonstration: updates a module, from intake through technical analysis to verification.",
  config: z.object({}),
  needs: ["operations", "trackers"],
  setup: (host) => ({ useCases: { "module-update": moduleUpdate(host) } }),
});
