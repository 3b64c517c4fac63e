import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createServer as createTlsServer, getCACertificates, setDefaultCACertificates, TLSSocket } from "node:tls";
import type { TcpConnection } from "@signalbox/sdk";
import { expect, onTestFinished, test } from "vitest";
import { openTcp } from "./tcp.ts";

const text = (bytes: Uint8Array | null) => bytes && new TextDecoder().decode(bytes);
const bytes = (content: string) => new TextEncoder().encode(content);
const echo = (socket: Socket) => void socket.on("error", () => {}).pipe(socket);

async function listening(server: Server): Promise<{ host: string; port: number; tls: boolean }> {
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const open = new Set<Socket>();
  server.on("connection", (socket) => open.add(socket));
  onTestFinished(() => {
    for (const socket of open) socket.destroy();
    server.close();
  });
  return { host: "127.0.0.1", port: (server.address() as AddressInfo).port, tls: false };
}
/** Connections of a plugin whose settings name this server. */
const tcpTo = ({ host, port }: { host: string; port: number }) => openTcp("bus", () => [`${host}:${port}`]);
const readAll = async (connection: TcpConnection, length: number) => {
  let all = "";
  while (all.length < length) all += text(await connection.read());
  return all;
};

test("bytes pass both ways; the end of the other side is null", async () => {
  const server = await listening(createServer((socket) => void socket.once("data", (chunk) => socket.end(chunk))));
  const connection = await tcpTo(server).connect(server);
  await connection.write(bytes("Größe"));
  expect(text(await connection.read())).toBe("Größe");
  expect(await connection.read()).toBeNull();
});

test("only servers that the settings name can be reached", async () => {
  const [named, other] = [await listening(createServer(echo)), await listening(createServer(echo))];
  await expect(tcpTo(named).connect(other)).rejects.toMatchObject({
    code: "failed",
    message: `The plugin bus cannot connect to 127.0.0.1:${other.port}: none of its settings names it.`,
  });
  await expect(tcpTo(named).connect({ ...named, host: "localhost" })).rejects.toMatchObject({ code: "failed" });
});

test("a server that cannot be reached, and a connection that was lost, are unavailable", async () => {
  const server = createServer(echo);
  const address = await listening(server);
  const sockets: Socket[] = [];
  server.on("connection", (socket) => sockets.push(socket));
  const tcp = tcpTo(address);
  const connection = await tcp.connect(address);
  const reading = connection.read();
  await expect.poll(() => sockets.length).toBe(1);
  sockets[0]?.resetAndDestroy();
  await expect(reading).rejects.toMatchObject({ code: "unavailable", message: expect.stringContaining("ECONNRESET") });
  await expect(connection.write(bytes("x"))).rejects.toMatchObject({ code: "unavailable" });
  await new Promise((done) => server.close(done));
  await expect(tcp.connect(address)).rejects.toMatchObject({
    code: "unavailable",
    message: `127.0.0.1:${address.port} could not be reached: ECONNREFUSED.`,
  });
});

test("a plugin has at most 16 open connections, and none after closeAll", async () => {
  const server = await listening(createServer(echo));
  const tcp = tcpTo(server);
  const open = await Promise.all(Array.from({ length: 16 }, () => tcp.connect(server)));
  await expect(tcp.connect(server)).rejects.toMatchObject({ code: "failed", message: expect.stringContaining("16 open") });
  await open[0]?.close();
  await expect.poll(() => tcp.connect(server).catch(() => null)).not.toBeNull();
  tcp.closeAll();
  await expect(open[1]?.read()).rejects.toMatchObject({ code: "unavailable" });
});

test("TLS from the first byte and after plain text; a certificate of another host is refused", {
  tags: ["openssl"],
}, async () => {
  const folder = mkdtempSync(join(tmpdir(), "signalbox-tls-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const [key, cert] = [join(folder, "key.pem"), join(folder, "cert.pem")];
  const subject = ["-subj", "/CN=bus", "-addext", "subjectAltName=DNS:localhost"];
  execFileSync(
    "openssl",
    ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-keyout", key, "-out", cert, ...subject],
    {
      stdio: "ignore",
    },
  );
  const context = { key: readFileSync(key), cert: readFileSync(cert) };
  const before = getCACertificates("default");
  setDefaultCACertificates([...before, context.cert.toString()]);
  onTestFinished(() => setDefaultCACertificates(before));

  const secure = await listening(createTlsServer(context, echo));
  const named = { ...secure, host: "localhost", tls: true };
  const connection = await tcpTo(named).connect(named);
  await connection.write(bytes("secret"));
  expect(await readAll(connection, 6)).toBe("secret");
  await expect(tcpTo(secure).connect({ ...secure, tls: true })).rejects.toMatchObject({
    code: "unavailable",
    message: expect.stringContaining("ERR_TLS_CERT_ALTNAME_INVALID"),
  });

  const greeting = createServer((socket) => {
    socket.write("INFO\r\n", () => echo(new TLSSocket(socket, { isServer: true, ...context })));
  });
  const plain = { ...(await listening(greeting)), host: "localhost" };
  const upgraded = await tcpTo(plain).connect(plain);
  expect(text(await upgraded.read())).toBe("INFO\r\n");
  await upgraded.startTls();
  await upgraded.write(bytes("secret"));
  expect(await readAll(upgraded, 6)).toBe("secret");
});
