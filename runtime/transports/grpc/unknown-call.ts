import { Code, type ConnectRouter } from "@connectrpc/connect";
import type { NodeHandler } from "./calls.ts";

/** Longest part of a path that an answer repeats, in characters. */
const longest = 200;

/**
 * Answers a call of a service or method that does not exist with UNIMPLEMENTED, in the protocol of the caller, and names those that
 * do. `handlers` is read at each call.
 */
export function refuseUnknownCall(handlers: ConnectRouter["handlers"]): NodeHandler {
  return (request, response) => {
    const methods = Map.groupBy(handlers, (handler) => handler.service.typeName);
    const [, service = "", method = ""] = (request.url ?? "").split("?", 1)[0]?.split("/") ?? [];
    const known = methods.get(service)?.map((handler) => handler.method.name);
    const message = known
      ? `${service} has no method "${method.slice(0, longest)}". Its methods: ${known.join(", ")}.`
      : `There is no service "${service.slice(0, longest)}". The services: ${[...methods.keys()].join(", ")}.`;
    const type = String(request.headers["content-type"] ?? "");
    request.resume();
    if (type.startsWith("application/grpc")) {
      // An answer without messages, whose headers contain the status. Percent signs begin an escape there.
      const status = {
        "grpc-status": String(Code.Unimplemented),
        "grpc-message": message.replace(/[^ -$&-~]/g, encodeURIComponent),
      };
      response.writeHead(200, { "content-type": type, ...status });
      return void response.end();
    }
    response.writeHead(404, { "content-type": "application/json" });
    response.end(JSON.stringify({ code: "unimplemented", message }));
  };
}
