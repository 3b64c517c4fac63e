/**
 * The thread of the embedded database. It answers one request after the other. Its first answer means that the database is open.
 */
import { parentPort, workerData } from "node:worker_threads";
import { type Extension, PGlite } from "@electric-sql/pglite";
import { NodeFS } from "@electric-sql/pglite/nodefs";
import { vector } from "@electric-sql/pglite-pgvector";

export interface EmbeddedSettings {
  readonly dataDir: string;
  readonly cacheMegabytes: number;
}
/** `messages`: complete messages of the PostgreSQL protocol. */
export type EmbeddedRequest = { readonly messages: Uint8Array } | { readonly close: true };
/**
 * `data`: a part of the answer to the messages. `ended`: why PostgreSQL has ended. All other replies end the answer to a request.
 */
export type EmbeddedReply = { readonly data: Uint8Array } | { readonly ended: string } | { readonly error?: Error };

const { dataDir, cacheMegabytes } = workerData as EmbeddedSettings;
const reply = (value: EmbeddedReply, transfer: ArrayBuffer[] = []) => parentPort?.postMessage(value, transfer);

/** Number of bytes at the end of an answer that are kept, to find the reason of an abort. */
const maxReason = 10_000;
/** The end of the last part of an answer. */
let lastPart = new Uint8Array();

/**
 * Ends the thread when PostgreSQL aborts, for example because it cannot write its log to a full disk; otherwise PGlite would call
 * its code again endlessly. The reason is the last error that PostgreSQL reported.
 */
const endOnAbort: Extension = {
  name: "end on abort",
  setup: async (_, emscriptenOpts) => {
    const onAbort = () => {
      const [, message = "unknown reason"] = /\0M([^\0]+)\0/.exec(Buffer.from(lastPart).toString()) ?? [];
      reply({ ended: `PostgreSQL aborted: ${message}` });
      process.exit(1);
    };
    return { emscriptenOpts: { ...emscriptenOpts, onAbort } };
  },
};

/**
 * Only this user may access the files. The umask is not enough, because Emscripten sets the mode of each file after it has
 * created it.
 */
class PrivateFiles extends NodeFS {
  override async init(...args: Parameters<NodeFS["init"]>): ReturnType<NodeFS["init"]> {
    const { emscriptenOpts } = await super.init(...args);
    return { emscriptenOpts: { ...emscriptenOpts, preRun: [...(emscriptenOpts.preRun ?? []), keepPrivate] } };
  }
}

function keepPrivate({ FS }: PGlite["Module"]): void {
  const { chmod } = FS;
  FS.chmod = (path: unknown, mode: number) => chmod(path, mode & ~0o077);
}

const database = await PGlite.create({
  fs: new PrivateFiles(dataDir),
  extensions: { vector, endOnAbort },
  relaxedDurability: false,
  startParams: [...PGlite.defaultStartParams, "-c", `shared_buffers=${cacheMegabytes}MB`],
});

/** The data is a view of PGlite's memory, which the next part overwrites. */
function sendPart(part: Uint8Array): void {
  const data = new Uint8Array(part);
  lastPart = data.slice(-maxReason);
  reply({ data }, [data.buffer]);
}

async function answer(request: EmbeddedRequest): Promise<void> {
  try {
    if ("close" in request) await database.close();
    else await database.execProtocolRawStream(request.messages, { onRawData: sendPart });
    reply({});
  } catch (error) {
    reply({ error: error instanceof Error ? error : new Error(String(error)) });
  }
}

let last = Promise.resolve();
parentPort?.on("message", (request: EmbeddedRequest) => {
  last = last.then(() => answer(request));
});
reply({});
