import { definePlugin } from "@signalbox/sdk";
import { z } from "zod";
import own from "../package.json" with { type: "json" };
import { triage } from "./use-case.ts";

export default definePlugin({
  id: "my-plugin",
  version: own.version,
  sdk: "^0.1.0",
  about: "Sets up a project whose new issues are triaged.",
  config: z.object({}),
  needs: ["operations"],
  setup: ({ operations }) => ({ useCases: { "my-plugin": triage(operations) } }),
});
