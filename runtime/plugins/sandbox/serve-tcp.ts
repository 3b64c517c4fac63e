import { PluginError, type TcpAccess, type TcpConnection } from "@signalbox/sdk";
import { z } from "zod";
import { readParams } from "./read-params.ts";

const server = z.object({ host: z.string().max(260), port: z.int().min(1).max(65_535), tls: z.boolean() });
const opened = z.object({ id: z.int() });
const sent = z.object({ id: z.int(), bytes: z.string() });

type Answer = (params: unknown, signal: AbortSignal) => Promise<unknown>;

/** Answers requests of a sandboxed plugin about its TCP connections, which end with its process: `TcpConnections.closeAll`. */
export function serveTcp(tcp: TcpAccess): Readonly<Record<string, Answer>> {
  const open = new Map<number, TcpConnection>();
  let last = 0;
  const find = (id: number): TcpConnection => {
    const found = open.get(id);
    if (!found) throw new PluginError("unavailable", "The connection is closed.");
    return found;
  };
  return {
    "tcp.connect": async (params) => {
      const connection = await tcp.connect(readParams(server, params));
      last += 1;
      open.set(last, connection);
      return last;
    },
    "tcp.read": async (params) => {
      const bytes = await find(readParams(opened, params).id).read();
      return bytes && Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64");
    },
    "tcp.write": async (params) => {
      const { id, bytes } = readParams(sent, params);
      await find(id).write(Buffer.from(bytes, "base64"));
    },
    "tcp.startTls": (params) => find(readParams(opened, params).id).startTls(),
    "tcp.close": async (params) => {
      const { id } = readParams(opened, params);
      await open.get(id)?.close();
      open.delete(id);
    },
  };
}
