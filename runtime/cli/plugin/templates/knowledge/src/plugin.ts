import { definePlugin } from "@signalbox/sdk";
import { z } from "zod";
import own from "../package.json" with { type: "json" };
import { knowledge } from "./knowledge.ts";

export default definePlugin({
  id: "my-plugin",
  version: own.version,
  sdk: "^0.1.0",
  about: "Reads the pages of my handbook.",
  config: z.object({}),
  needs: ["fetch"],
  setup: ({ fetch }) => ({ knowledge: { "my-plugin": knowledge(fetch) } }),
});
