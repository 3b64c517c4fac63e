import { problem } from "@signalbox/schema/problem";
import { generateProto } from "../../../generate/proto.ts";
import { createLog } from "../../../platform/log.ts";
import type { Actor } from "../../../platform/operation.ts";
import { BodyBudget } from "../../http/body.ts";
import { grpcRoutes } from "../routes.ts";
import { startGrpc } from "../server.ts";
import { bindWidgets, operations } from "./widgets.ts";

/**
 * A server of the example operations in a separate process, with the same runtime that runs this file. Prints its port; ends on
 * SIGTERM.
 */
const numbers = JSON.parse(generateProto(operations, { messages: {}, enums: {} }).fieldNumbers);
const anyone: Actor = { kind: "anonymous", name: "anyone", scopes: ["read", "write"] };
const log = createLog({ pretty: false });
const routes = grpcRoutes(
  bindWidgets(),
  {
    sql: undefined as never, // none of these operations stores anything
    log,
    async authenticate({ authorization }, scope) {
      if (scope !== "open" && authorization === "Bearer wrong") throw problem("unauthenticated", "The API key is not known");
      return anyone;
    },
  },
  numbers,
);
const server = await startGrpc({
  routes: async () => routes,
  log,
  host: "127.0.0.1",
  port: 0,
  healthEveryMs: 50,
  budget: new BodyBudget(2 ** 28),
});
console.log(server.port);
process.on("SIGTERM", async () => {
  await server.close(1_000);
  process.exit(0);
});
