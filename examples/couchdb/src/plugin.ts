import { definePlugin } from "@signalbox/sdk";
import { z } from "zod";
import own from "../package.json" with { type: "json" };
import { backend } from "./backend.ts";
import { couch } from "./couch.ts";

export default definePlugin({
  id: "couchdb",
  version: own.version,
  sdk: "^0.1.0",
  about: "Stores memories in a CouchDB database.",
  config: z.object({
    url: z.url({ protocol: /^https?$/ }).describe("URL of the database, for example http://couchdb:5984/memories."),
    user: z.string().min(1).optional().describe("User with read and write access."),
    password: z.string().min(1).optional().describe("Password of the user."),
  }),
  needs: ["fetch", "vectors"],
  setup: ({ config, fetch, vectors }) => ({ memories: { couchdb: backend(couch(config, fetch), vectors) } }),
});
