import { type ChildProcess, spawn } from "node:child_process";
import { createRequire } from "node:module";
import { join } from "node:path";
import { freePorts } from "../../sdk/testing/free-ports.ts";
import { eventually } from "./wait.ts";

/** The reference server that the MCP project publishes for testing clients, in a separate process. */
export async function startEverything(at?: number): Promise<[ChildProcess, string]> {
  const folder = join(createRequire(import.meta.url).resolve("@modelcontextprotocol/server-everything/package.json"), "..");
  const [port = 0] = at === undefined ? await freePorts(1) : [at];
  const child = spawn(process.execPath, [join(folder, "dist/index.js"), "streamableHttp"], {
    env: { PATH: process.env.PATH, PORT: String(port) },
    stdio: ["ignore", "pipe", "pipe"],
  });
  process.once("exit", () => child.kill("SIGKILL"));
  child.stdout?.resume();
  child.stderr?.resume();
  const url = `http://127.0.0.1:${port}/mcp`;
  await eventually(async () => (await fetch(url)).status > 0, { timeout: 90_000 });
  return [child, url];
}

/** Servers with one defect each, by path. */
export async function strangeServer(request: Request): Promise<Response> {
  const path = new URL(request.url).pathname;
  if (path === "/moved") return new Response(null, { status: 307, headers: { location: "http://10.0.0.1/mcp" } });
  if (path === "/broken") return new Response("out of order", { status: 500 });
  if (path === "/html") return new Response("<html></html>", { headers: { "content-type": "text/html" } });
  if (path === "/silent") return new Response(new ReadableStream(), { headers: { "content-type": "text/event-stream" } });
  if (path === "/endless") return new Response(endless(), { headers: { "content-type": "text/event-stream" } });
  if (request.method !== "POST") return new Response(null, { status: 405 });
  const message = (await request.json()) as { id?: number; method: string; params?: { name?: string } };
  if (message.id === undefined) return new Response(null, { status: 202 });
  const refuse = (text: string) => Response.json({ jsonrpc: "2.0", id: message.id, error: { code: -32603, message: text } });
  if (path === "/refusing") return refuse("bad");
  if (path === "/unstorable") return refuse("bad \0 \ud800");
  const answer = (result: unknown) => Response.json({ jsonrpc: "2.0", id: message.id, result });
  if (path === "/without-result") return answer(null);
  if (message.method === "initialize")
    return answer({ protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo: { name: "strange", version: "1" } });
  if (message.method === "tools/call")
    return answer(message.params?.name === "huge" ? { content: [{ type: "text", text: "x".repeat(3e6) }] } : "what?");
  if (path === "/lists") return answer({ tools: "all of them" });
  if (path === "/pages")
    return answer({ tools: [{ name: `p${Math.random()}`, inputSchema: { type: "object" } }], nextCursor: String(Math.random()) });
  return answer({
    tools: [
      { name: "huge", inputSchema: { type: "object" } },
      { name: "odd result", inputSchema: { type: "object", properties: { a: { type: "no such type" } } } },
      { name: "no schema" },
    ],
  });
}

/** A server that lists the current `tools`. `heard` collects the arguments of its calls, which it answers with `texts`. */
export const changingServer =
  (tools: () => readonly object[], heard: unknown[] = [], texts: readonly string[] = ["done"]) =>
  async (request: Request): Promise<Response> => {
    if (request.method !== "POST") return new Response(null, { status: 405 });
    const message = (await request.json()) as { id?: number; method: string; params?: { arguments?: unknown } };
    if (message.id === undefined) return new Response(null, { status: 202 });
    if (message.method === "tools/call") heard.push(message.params?.arguments);
    const initial = {
      protocolVersion: "2025-06-18",
      capabilities: { tools: {} },
      serverInfo: { name: "changing", version: "1" },
    };
    const called = { content: texts.map((text) => ({ type: "text", text })) };
    const result = message.method === "initialize" ? initial : message.method === "tools/call" ? called : { tools: tools() };
    return Response.json({ jsonrpc: "2.0", id: message.id, result });
  };

/** An endless response, longer than any client reads. */
function endless(): ReadableStream {
  let chunks = 0;
  const more = (controller: ReadableStreamDefaultController) =>
    chunks++ < 60 ? controller.enqueue(new TextEncoder().encode(`: ${"x".repeat(100_000)}\n\n`)) : new Promise<void>(() => {});
  return new ReadableStream({ pull: more });
}
