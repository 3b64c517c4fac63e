import { connect, createServer, type Socket } from "node:net";

/** Forwards connections to a PostgreSQL, and counts the statements of clients. */
interface StatementRecorder {
  /** Address of the database through it. */
  readonly url: string;
  /** Resets the counts. */
  clear(): void;
  /** How often each statement ran, by its text with single spaces and without comments. */
  counts(): ReadonlyMap<string, number>;
  [Symbol.asyncDispose](): Promise<void>;
}

export async function recordStatements(databaseUrl: string): Promise<StatementRecorder> {
  const url = new URL(databaseUrl);
  const target = { host: url.hostname, port: Number(url.port) || 5432 };
  const counts = new Map<string, number>();
  const open = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = connect(target);
    const reader = new FrontendReader((text) => counts.set(text, (counts.get(text) ?? 0) + 1));
    client.on("data", (chunk) => reader.add(chunk));
    client.pipe(upstream).pipe(client);
    for (const [one, other] of [[client, upstream] as const, [upstream, client] as const]) {
      open.add(one);
      one.on("error", () => other.destroy());
      one.once("close", () => {
        open.delete(one);
        other.destroy();
      });
    }
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  url.hostname = "127.0.0.1";
  url.port = String((server.address() as { port: number }).port);
  return {
    url: url.href,
    clear: () => counts.clear(),
    counts: () => new Map(counts),
    [Symbol.asyncDispose]: () => {
      for (const socket of open) socket.destroy();
      return new Promise((done) => server.close(() => done()));
    },
  };
}

/** Reads the messages of a client: https://www.postgresql.org/docs/current/protocol-message-formats.html */
class FrontendReader {
  readonly #ran: (text: string) => void;
  readonly #prepared = new Map<string, string>();
  #bytes = Buffer.alloc(0);
  /** The first message has no type. */
  #started = false;

  constructor(ran: (text: string) => void) {
    this.#ran = ran;
  }

  add(chunk: Buffer): void {
    this.#bytes = Buffer.concat([this.#bytes, chunk]);
    for (;;) {
      const header = this.#started ? 1 : 0;
      if (this.#bytes.length < header + 4) return;
      const end = header + this.#bytes.readUInt32BE(header);
      if (this.#bytes.length < end) return;
      if (this.#started) this.#read(String.fromCharCode(this.#bytes[0] ?? 0), this.#bytes.subarray(5, end));
      this.#started = true;
      this.#bytes = this.#bytes.subarray(end);
    }
  }

  #read(type: string, body: Buffer): void {
    const [first = "", second = ""] = body.toString("utf8").split("\0", 2);
    if (type === "P") this.#prepared.set(first, plain(second));
    // The portal, then the name of the statement.
    else if (type === "B") this.#ran(this.#prepared.get(second) ?? "");
    else if (type === "Q") this.#ran(plain(first));
  }
}

const plain = (text: string): string =>
  text
    .replace(/--[^\n]*/g, "")
    .replace(/\s+/g, " ")
    .trim();
