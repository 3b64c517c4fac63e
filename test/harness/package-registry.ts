import { createHash } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";

export interface Published {
  readonly name: string;
  readonly version: string;
  /** Its current tarball. */
  read(): Buffer;
  /** The members of its package.json that a registry returns. */
  readonly manifest?: Readonly<Record<string, unknown>>;
  /** The response of the registry about where it was built. */
  readonly attestations?: () => readonly unknown[];
  /** The registry's signatures on it. */
  readonly signatures?: () => readonly unknown[] | undefined;
  /** When it was published, as an ISO time; `undefined` if the registry does not report it. */
  readonly publishedAt?: () => string | undefined;
}

export interface PackageRegistry {
  readonly url: string;
  /** The published versions, in order. */
  readonly packages: readonly Published[];
  /** From now on, the returned integrity does not match the bytes. */
  lie(): void;
  close(): void;
}

/**
 * A registry on loopback with these packages. An installation must not run their scripts. `npm publish` adds packages, and a
 * search finds them by keyword. Other packages are requested from `upstream`. `keys`: the keys of its signatures; `null`: it
 * publishes none.
 */
export async function startRegistry(
  published: Published | readonly Published[],
  { upstream, keys }: { upstream?: string; keys?: () => readonly unknown[] | null } = {},
): Promise<PackageRegistry> {
  const packages = [published].flat() as Published[];
  const uploaded = new Set<string>();
  let lies = false;
  const versionOf = ({ name, version, read, manifest, attestations, signatures }: Published) => {
    const digest = lies ? `${"A".repeat(86)}==` : createHash("sha512").update(read()).digest("base64");
    const proof = attestations && { url: `${url}/-/npm/v1/attestations/${name}@${version}`, provenance: {} };
    const dist = {
      tarball: `${url}/${name}/-/${fileOf(name, version)}`,
      integrity: `sha512-${digest}`,
      attestations: proof,
      signatures: signatures?.(),
    };
    const scripts = uploaded.has(name) ? {} : { postinstall: "touch ran", prepare: "touch ran" };
    return { ...manifest, scripts, name, version, dist };
  };
  const packument = (name: string, all: readonly Published[]) => ({
    name,
    "dist-tags": { latest: all.at(-1)?.version },
    versions: Object.fromEntries(all.map((one) => [one.version, versionOf(one)])),
    time: Object.fromEntries(all.map(({ version, publishedAt }) => [version, publishedAt?.()])),
  });
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { pathname, searchParams } = new URL(request.url ?? "/", url);
    const path = decodeURIComponent(pathname.slice(1));
    const json = (body: unknown, status = 200) =>
      void response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
    if (request.method === "PUT") {
      const one = publishedBy(JSON.parse((await buffer(request)).toString("utf8")));
      packages.push(one);
      uploaded.add(one.name);
      return json({ ok: true }, 201);
    }
    const published = path === "-/npm/v1/keys" ? keys?.() : null;
    if (published) return json({ keys: published });
    if (path === "-/v1/search") return json(search(packages, searchParams.get("text") ?? ""));
    const [, proven] = /^-\/npm\/v1\/attestations\/(.+)$/.exec(path) ?? [];
    const attestations = packages.find(({ name, version }) => `${name}@${version}` === proven)?.attestations;
    if (attestations) return json({ attestations: attestations() });
    const tarball = packages.find(({ name, version }) => path === `${name}/-/${fileOf(name, version)}`);
    if (tarball) return void response.end(tarball.read());
    const all = packages.filter(({ name }) => name === path);
    if (all.length > 0) return json(packument(path, all));
    if (upstream && !path.startsWith("-/")) return void response.writeHead(302, { location: `${upstream}${pathname}` }).end();
    return json({}, 404);
  };
  const server = createServer((request, response) => void answer(request, response));
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const lie = () => {
    lies = true;
  };
  return { url, packages, lie, close: () => void server.close() };
}

const fileOf = (name: string, version: string): string => `${name.split("/").at(-1)}-${version}.tgz`;

interface Upload {
  readonly versions: Readonly<Record<string, { name: string; version: string }>>;
  readonly _attachments: Readonly<Record<string, { data: string }>>;
}

function publishedBy({ versions, _attachments }: Upload): Published {
  const [manifest] = Object.values(versions);
  const [attachment] = Object.values(_attachments);
  if (!manifest || !attachment) throw new Error("expected one version with its tarball");
  const bytes = Buffer.from(attachment.data, "base64");
  return { name: manifest.name, version: manifest.version, manifest, read: () => bytes };
}

function search(packages: readonly Published[], text: string) {
  const [, keyword = ""] = /keywords:(\S+)/.exec(text) ?? [];
  const words = text
    .replace(/keywords:\S+/, "")
    .split(/\s+/)
    .filter(Boolean);
  const found = packages.filter(({ name, manifest = {} }) => {
    const { keywords = [], description = "" } = manifest as { keywords?: string[]; description?: string };
    return keywords.includes(keyword) && words.every((word) => `${name} ${description}`.includes(word));
  });
  const objects = found.map(({ name, version, manifest }) => ({ package: { maintainers: [], ...manifest, name, version } }));
  return { objects, total: objects.length, time: new Date(0).toISOString() };
}

/** A statement about where a tarball was built, as npm stores it: `sha512` is the tarball's digest in hexadecimal. */
export function buildStatement(sha512: string): unknown {
  const workflow = {
    repository: "https://git.example/acme/count",
    path: ".github/workflows/publish.yml",
    ref: "refs/tags/v0.2.0",
  };
  const buildDefinition = {
    externalParameters: { workflow },
    resolvedDependencies: [{ digest: { gitCommit: "c0ffee" } }],
  };
  const payload = JSON.stringify({ subject: [{ digest: { sha512 } }], predicate: { buildDefinition } });
  const dsseEnvelope = { payload: Buffer.from(payload).toString("base64") };
  return { predicateType: "https://slsa.dev/provenance/v1", bundle: { dsseEnvelope } };
}
