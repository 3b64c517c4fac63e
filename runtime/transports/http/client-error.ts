import { type Server, type ServerResponse, STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import { RequestError } from "@hono/node-server";
import type { Report } from "../../platform/log.ts";

interface ParserError extends Error {
  readonly code?: string;
}

/** In every response: prevents browsers from guessing another content type, and from showing it in a frame. */
export const safeHeaders = [
  ["x-content-type-options", "nosniff"],
  ["x-frame-options", "DENY"],
] as const;

const answers: Readonly<Record<string, readonly [status: number, error: string]>> = {
  HPE_HEADER_OVERFLOW: [431, "The path and the headers together are larger than 16 KiB; send less."],
  ERR_HTTP_REQUEST_TIMEOUT: [408, "The request did not arrive in time; send it again."],
};
const other = [400, "The request is not valid HTTP/1.1: its first line, a header or its body cannot be parsed."] as const;

/** Answers requests that the HTTP parser refuses, in the format of all errors. `unusedMs`: see `awaitFirstRequest`. */
export function answerClientErrors(server: Server, { unusedMs }: { readonly unusedMs: number }): void {
  server.on("clientError", (error: ParserError, socket: Socket) => {
    if (error.code === "ERR_HTTP_REQUEST_TIMEOUT" && socket.bytesRead === 0) return awaitFirstRequest(socket, unusedMs);
    if (error.code === "ECONNRESET" || !socket.writable) return socket.destroy();
    const [status, text] = answers[error.code ?? ""] ?? other;
    const body = JSON.stringify({ error: text });
    const head = [
      `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
      "content-type: application/json",
      `content-length: ${Buffer.byteLength(body)}`,
      "connection: close",
      ...safeHeaders.map(([name, value]) => `${name}: ${value}`),
    ];
    return socket.end(`${head.join("\r\n")}\r\n\r\n${body}`);
  });
  server.on("checkExpectation", (_, response) => {
    const error = "Expect: only 100-continue is supported.";
    for (const [name, value] of safeHeaders) response.setHeader(name, value);
    response.writeHead(417, { "content-type": "application/json", connection: "close" }).end(JSON.stringify({ error }));
  });
  // With `Expect: 100-continue`, a client gets 100 Continue when its body is about to be read: see `body.ts`.
  server.on("checkContinue", (request, response) => {
    closeUnlessInvited(response);
    server.emit("request", request, response);
  });
}

/**
 * Keeps a connection on which nothing has arrived yet, for `unusedMs`. Proxies and clients open some in advance. Node would answer 408 as
 * soon as its time for the headers has passed; a webhook that was just sent there would be refused, and most platforms do not send it
 * again. From the first byte on, that time starts again.
 */
function awaitFirstRequest(socket: Socket, unusedMs: number): void {
  // Unread input may be there already: after a pause of the process, timers come first.
  const close = () => setImmediate(() => socket.bytesRead === 0 && socket.destroy());
  const timer = setTimeout(close, unusedMs).unref();
  socket.once("close", () => clearTimeout(timer));
}

/**
 * Closes the connection after an answer that did not ask for the body: what follows can be the body or the next request. Node does so
 * itself, Deno does not.
 */
function closeUnlessInvited(response: ServerResponse): void {
  const { shouldKeepAlive } = response;
  const invite = response.writeContinue.bind(response);
  response.shouldKeepAlive = false;
  response.writeContinue = (callback) => {
    response.shouldKeepAlive = shouldKeepAlive;
    invite(callback);
  };
}

/**
 * How requests are passed to the routes. On Node, the lighter classes halve the cost of a small response; Deno's own server would
 * refuse them. `alarm` groups errors of one kind, because clients can repeat a request.
 */
export const listenerOptions = (alarm: Report) => ({
  overrideGlobalObjects: !("Deno" in globalThis),
  errorHandler: (error: unknown): Response => {
    if (error instanceof RequestError) return answerOf(400, "The request target must be a path.");
    // The client has closed the connection: then the server aborts the request with a text as the reason.
    if (typeof error === "string") return answerOf(400, "The connection was closed before the response.");
    const [reason, details] = error instanceof Error ? [error.name, error.stack] : [typeof error, String(error)];
    alarm("request failed", { reason, error: details });
    return answerOf(500, "Something went wrong on our side. The service's log has the details.");
  },
});
const answerOf = (status: number, error: string): Response => Response.json({ error }, { status });
