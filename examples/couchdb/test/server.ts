import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import type { TestService } from "@signalbox/sdk/testing";

type Doc = Record<string, unknown> & { _id: string; _rev: string };
type Condition = Readonly<Record<string, { readonly $eq?: unknown; readonly $lte?: number }>>;
interface Query {
  readonly selector: Condition & { readonly $or?: readonly Condition[] };
  readonly limit: number;
  readonly bookmark?: string;
}

const authorization = `Basic ${btoa("signalbox:couch-test-password")}`;

/** The part of CouchDB's API that the plugin uses, with one database: https://docs.couchdb.org/en/stable/api/. */
export async function startCouch(): Promise<TestService> {
  const docs = new Map<string, Doc>();
  const put = (id: string, body: Doc): [number, unknown] => {
    if (docs.get(id)?._rev !== body._rev) return [409, { error: "conflict", reason: "Document update conflict." }];
    const _rev = `${Number.parseInt(body._rev ?? "0", 10) + 1}-x`;
    docs.set(id, { ...body, _id: id, _rev });
    return [201, { ok: true, id, rev: _rev }];
  };
  const answer = (method: string, id: string, rev: string | null, body: unknown): [number, unknown] => {
    if (method === "POST" && id === "_find") return [200, find([...docs.values()], body as Query)];
    if (method === "PUT") return put(id, body as Doc);
    const one = docs.get(id);
    if (!one) return [404, { error: "not_found", reason: "missing" }];
    if (method === "GET") return [200, one];
    if (one._rev !== rev) return [409, { error: "conflict", reason: "Document update conflict." }];
    docs.delete(id);
    return [200, { ok: true }];
  };
  const server = createServer(async (request, response) => {
    const url = new URL(request.url ?? "/", "http://couch");
    const id = decodeURIComponent(url.pathname.replace("/memories/", ""));
    const [status, body] =
      request.headers.authorization === authorization
        ? answer(request.method ?? "", id, url.searchParams.get("rev"), await json(request))
        : [401, { error: "unauthorized", reason: "Name or password is incorrect." }];
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  return {
    config: { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/memories` },
    close: () => {
      server.closeAllConnections();
      return new Promise((done) => void server.close(() => done()));
    },
  };
}

function find(docs: readonly Doc[], { selector: { $or, ...all }, limit, bookmark }: Query) {
  const fits = (doc: Doc, condition: Condition) =>
    Object.entries(condition).every(([path, { $eq, $lte }]) => {
      const value = path.split(".").reduce<unknown>((at, name) => (at as Record<string, unknown>)[name], doc);
      return $lte === undefined ? value === $eq : typeof value === "number" && value <= $lte;
    });
  const matching = docs.filter((doc) => fits(doc, all as Condition) && (!$or || $or.some((one) => fits(doc, one))));
  const from = Number(bookmark ?? 0);
  return { docs: matching.slice(from, from + limit), bookmark: String(from + limit) };
}

async function json(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return chunks.length > 0 ? JSON.parse(Buffer.concat(chunks).toString("utf8")) : {};
}
