import { definePlugin } from "@signalbox/sdk";
import { z } from "zod";
import own from "../package.json" with { type: "json" };
import { standing } from "./standing.ts";
import { bugTriage } from "./use-case.ts";

export default definePlugin({
  id: "bug-triage",
  version: own.version,
  sdk: "^0.1.0",
  about: "Triages the new issues of a project with its own agent.",
  config: z.object({}),
  needs: ["operations"],
  setup: ({ operations }) => ({ useCases: { "bug-triage": bugTriage(operations) }, routes: { standing: standing(operations) } }),
});
