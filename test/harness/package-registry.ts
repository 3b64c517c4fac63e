import { createHash } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

export interface PackageRegistry {
  readonly url: string;
  /** From now on the integrity it tells is not that of the bytes. */
  lie(): void;
  close(): void;
}

/** A registry of one package in one version, whose scripts an installation must not run. `read`: its tarball as it is now. */
export async function startRegistry(published: { name: string; version: string; read(): Buffer }): Promise<PackageRegistry> {
  const { name, version, read } = published;
  let lies = false;
  const server = createServer((request, response) => {
    if (request.url?.endsWith(".tgz")) return void response.end(read());
    if (request.url !== `/${name}`) return void response.writeHead(404).end("{}");
    const digest = lies ? `${"A".repeat(86)}==` : createHash("sha512").update(read()).digest("base64");
    const dist = { tarball: `${url}/${name}/-/${name}-${version}.tgz`, integrity: `sha512-${digest}` };
    const scripts = { postinstall: "touch ran", prepare: "touch ran" };
    response.setHeader("content-type", "application/json");
    const versions = { [version]: { name, version, dist, scripts } };
    response.end(JSON.stringify({ name, "dist-tags": { latest: version }, versions }));
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const lie = () => {
    lies = true;
  };
  return { url, lie, close: () => void server.close() };
}
