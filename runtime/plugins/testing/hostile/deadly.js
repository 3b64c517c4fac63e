// What a hostile plugin writes past its boot, and how it ends its own process. See `attacks.js`.
import { load } from "./attacks.js";

const line = (message) => {
  const bytes = new TextEncoder().encode(message);
  for (let at = 0; at < bytes.length; ) at += Deno.stdout.writeSync(bytes.subarray(at));
};
const forever = new Promise(() => {});

/** Written past the boot; the process must go on serving. */
export const noise = {
  "an empty line": () => line("\n"),
  "bytes that are no text": () => Deno.stdout.writeSync(new Uint8Array([0, 255, 254, 0, 10])),
  "half of a message": () => line('{"jsonrpc":"2.0","id":1,\n'),
  "a number": () => line("42\n"),
  "an answer that nobody asked for": () => line('{"jsonrpc":"2.0","id":987654321,"result":{}}\n'),
  "a second answer": () => line('{"jsonrpc":"2.0","id":1,"result":{"lie":true}}\n'),
  "deep brackets": () => line(`${"[".repeat(200_000)}\n`),
  "a deep object": () => line(`{"jsonrpc":"2.0","id":1,"result":${'{"a":'.repeat(5_000)}1${"}".repeat(5_000)}}\n`),
  "a member twice": () => line('{"jsonrpc":"2.0","id":1,"id":987654321,"result":{},"result":{"lie":true}}\n'),
  "ids that are no numbers": () =>
    line('{"jsonrpc":"2.0","id":{"toString":1},"result":1}\n{"jsonrpc":"2.0","id":1e400,"result":1}\n'),
  "an error that is an object of getters' names": () =>
    line(
      '{"jsonrpc":"2.0","id":987654321,"error":{"message":{"__proto__":1},"data":{"retry_after_ms":-1,"status":"x","code":{}}}}\n',
    ),
  "a prototype": () =>
    line(
      '{"jsonrpc":"2.0","method":"log","params":{"message":"x","fields":{"__proto__":{"polluted":true}}},"__proto__":{"polluted":true}}\n',
    ),
  "a method that there is none": () => line('{"jsonrpc":"2.0","id":"x","method":"constructor","params":{}}\n'),
  "a method of objects": () => line('{"jsonrpc":"2.0","id":"y","method":"__proto__","params":{}}\n'),
  "a capability that it was not given": () =>
    line('{"jsonrpc":"2.0","id":"z","method":"operations","params":{"id":"keys.create","input":{"name":"mine"}}}\n'),
  "the settings of another": () => line('{"jsonrpc":"2.0","id":"s","method":"settings","params":{"id":"bystander"}}\n'),
  "the state of somebody's use case": () => line('{"jsonrpc":"2.0","id":"u","method":"save","params":{"call":1,"state":{}}}\n'),
  "a cancel of nothing": () => line('{"jsonrpc":"2.0","method":"cancel","params":null}\n'),
  "a batch": () => line('[{"jsonrpc":"2.0","id":1,"method":"fetch"}]\n'),
};

/** What ends the process, or makes the host end it. */
export const deadly = {
  "a loop": () => {
    for (;;);
  },
  "a regular expression": () => /^(a+)+$/.test(`${"a".repeat(60)}!`),
  "no answer, and a loop in timers": () => {
    const spin = () => {
      const until = Date.now() + 10_000;
      while (Date.now() < until);
      setTimeout(spin);
    };
    setTimeout(spin);
    return forever;
  },
  "a getter that loops in its answer": () => ({
    get a() {
      for (;;);
    },
  }),
  "a proxy with endless members": () =>
    new Proxy(
      {},
      {
        ownKeys: () => Array.from({ length: 3_000_000 }, (_, i) => `k${i}`),
        getOwnPropertyDescriptor: () => ({ value: 1, enumerable: true, configurable: true }),
      },
    ),
  "an answer that contains itself through toJSON": () => {
    const endless = { toJSON: () => ({ endless }) };
    return endless;
  },
  // biome-ignore lint/suspicious/noThenProperty: that is the attack
  "a promise of its own that never answers": () => ({ then: () => {} }),
  "a storm of microtasks": () => {
    const again = () => Promise.resolve().then(again);
    again();
    return forever;
  },
  "two million timers and a loop": () => {
    for (let i = 0; i < 2_000_000; i++) setTimeout(() => {}, 1_000_000);
    for (;;);
  },
  "a heap that grows": () => {
    const kept = [];
    for (;;) kept.push(new Array(10_000).fill({}));
  },
  "array buffers": async () => {
    const kept = [];
    for (;;) {
      kept.push(new Uint8Array(8_000_000).fill(1));
      await new Promise((done) => setTimeout(done, 5));
    }
  },
  "WebAssembly memory": async () => {
    const kept = [];
    for (;;) {
      const memory = new WebAssembly.Memory({ initial: 256, maximum: 256 });
      new Uint8Array(memory.buffer).fill(1);
      kept.push(memory);
      await new Promise((done) => setTimeout(done, 5));
    }
  },
  "WebAssembly memory that grows": async () => {
    const memory = new WebAssembly.Memory({ initial: 1, maximum: 65_536 });
    for (;;) {
      const from = memory.buffer.byteLength;
      memory.grow(128);
      new Uint8Array(memory.buffer, from).fill(1);
      await new Promise((done) => setTimeout(done, 5));
    }
  },
  "workers without end": async () => {
    const url = URL.createObjectURL(new Blob(["for(;;);"], { type: "text/javascript" }));
    for (;;) {
      new Worker(url, { type: "module" });
      await new Promise((done) => setTimeout(done, 1));
    }
  },
  "the flags of V8 and a heap": async () => {
    (await load("node:v8")).setFlagsFromString("--max-old-space-size=8000");
    const kept = [];
    for (;;) kept.push(new Array(10_000).fill({}));
  },
  "a line without an end": () => {
    for (;;) line("x".repeat(65_536));
  },
  "a flood of messages": () => {
    const many = '{"jsonrpc":"2.0","method":"log","params":{"message":"x"}}\n'.repeat(500);
    for (;;) line(many);
  },
  "a flood of answers": () => {
    const many = '{"jsonrpc":"2.0","id":1,"result":1}\n'.repeat(500);
    for (;;) line(many);
  },
  "a message of brackets": () => {
    line(`{"jsonrpc":"2.0","id":1,"result":[${"[],".repeat(1_300_000)}[]]}\n`);
    return forever;
  },
  "a flood of brackets": () => {
    const many = `{"jsonrpc":"2.0","method":"log","params":{"message":"x","fields":{"a":[${"[],".repeat(100_000)}[]]}}}\n`;
    for (;;) line(many);
  },
  "a flood on standard error": () => {
    for (;;) Deno.stderr.writeSync(new Uint8Array(65_536).fill(120));
  },
  "an answer of 64 MB": () => "x".repeat(64_000_000),
  "an exit": () => Deno.exit(0),
  "a rejection that nobody handles": () => {
    Promise.reject(new Error("unhandled"));
    return forever;
  },
  "a thrown error outside of a call": () => {
    setTimeout(() => {
      throw new Error("outside");
    });
    return forever;
  },
  "closed streams and a loop": () => {
    try {
      Deno.stdin.close();
      Deno.stdout.close();
    } catch {}
    for (;;);
  },
  listening: async () => {
    Deno.listen({ port: 0 });
    throw new Error("stopped");
  },
  UDP: async () => {
    Deno.listenDatagram({ port: 0, transport: "udp", hostname: "127.0.0.1" });
    throw new Error("stopped");
  },
  "a worker that loops": async () => {
    const url = URL.createObjectURL(new Blob(["for(;;);"], { type: "text/javascript" }));
    new Worker(url, { type: "module" });
    return forever;
  },
  "a thread of node that reads a file": async (at) => {
    const { Worker } = await load("node:worker_threads");
    const source = `require("node:worker_threads").parentPort.postMessage(require("node:fs").readFileSync(${JSON.stringify(at.secretFile)}, "utf8"))`;
    const worker = new Worker(source, { eval: true });
    return new Promise((done, fail) => worker.on("message", done).on("error", fail));
  },
  "a worker with every permission": async () => {
    const url = URL.createObjectURL(new Blob(["postMessage(Deno.readTextFileSync('/etc/passwd'))"], { type: "text/javascript" }));
    const worker = new Worker(url, { type: "module", deno: { permissions: "inherit" } });
    return new Promise((done) => {
      worker.onmessage = ({ data }) => done(data);
    });
  },
};
