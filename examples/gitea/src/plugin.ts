import { definePlugin } from "@signalbox/sdk";
import { z } from "zod";
import own from "../package.json" with { type: "json" };
import { clients } from "./api.ts";
import { source } from "./source.ts";
import { addComment, getIssue } from "./tools.ts";

export default definePlugin({
  id: "gitea",
  version: own.version,
  sdk: "^0.1.0",
  about: "Issues, pull requests and comments of Gitea and Forgejo.",
  config: z.object({}),
  needs: ["fetch"],
  setup: ({ fetch }) => {
    const client = clients(fetch);
    return { sources: { gitea: source(client) }, tools: { add_comment: addComment(client), get_issue: getIssue(client) } };
  },
});
