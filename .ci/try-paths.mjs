// Follows the steps of a new user with the packages, in empty folders: runs the service, writes a plugin, uses the API with a
// generated client. Each on Node 22.18, on the Node of the repository and on Deno, with its duration in seconds and its size in
// megabytes.
import { spawn } from "node:child_process";
import { cpSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import semver from "semver";

const oldest = "22.18.0";
const quiet = ["--loglevel=error", "--no-audit", "--no-fund"];
const startMs = 60_000;

/** `run` runs a command and returns its output; `fail` ends the program. */
export function pathsFrom({ url, empty, packed, version, run, fail }) {
  const from = [`--registry=${url}/`, "--prefer-offline", ...quiet];

  /** The paths are independent, and half of each is waiting for installations. */
  async function tryAll() {
    const runtimes = findRuntimes();
    // Awaited later: if something else fails first, that is reported.
    runtimes.catch(() => {});
    await Promise.all([tryService(runtimes), tryAuthor(runtimes)]);
  }

  /** Programs that run a script: `[command, ...arguments]`, and the PATH on which `node` is that one. */
  async function findRuntimes() {
    const own = { name: `Node ${process.versions.node}`, command: [process.execPath], path: process.env.PATH };
    const deno = {
      name: (await run("deno", ["--version"])).split(" (")[0].replace("deno", "Deno"),
      command: ["deno", "run", "-A"],
    };
    const folder = join(empty, "oldest");
    const name = `node-${process.platform}-${process.arch}`;
    folderFor(folder);
    const missing = await run("npm", ["install", `${name}@${oldest}`, ...from], { cwd: folder, may: /E404|ETARGET/ }).catch(
      () => "",
    );
    const bin = join(folder, "node_modules", name, "bin");
    if (missing === "" && !statSync(join(bin, "node"), { throwIfNoEntry: false })) {
      console.log(`Node ${oldest}: skipped, the registry has no ${name}@${oldest}`);
      return [own, deno];
    }
    const old = { name: `Node ${oldest}`, command: [join(bin, "node")], path: `${bin}:${process.env.PATH}` };
    return [old, own, deno];
  }

  async function tryService(found) {
    const client = installClient();
    client.catch(() => {});
    const folder = folderFor(join(empty, "service"));
    const own = packed.filter(({ name }) => /(^signalbox|\/sdk|\/schema)$/.test(name));
    await install(
      folder,
      own.map(({ id }) => id),
    );
    const said = (await run("npx", ["--no-install", "signalbox", "--version"], { cwd: folder })).trim();
    if (said !== version) fail(`signalbox --version says ${said} instead of ${version}.`);
    const runtimes = await found;
    const libraries = own.filter(({ name }) => name !== "signalbox").map(({ name }) => name);
    for (const name of libraries) await tryModules(folder, name, runtimes);
    for (const runtime of runtimes) {
      const service = await startService(folder, runtime);
      try {
        console.log(`service on ${runtime.name}: answers ${service.seconds} s after its start`);
        if (runtime === runtimes.at(-1)) await tryClient(await client, runtimes, service.url);
      } finally {
        await service.stop();
      }
    }
  }

  async function tryModules(folder, name, runtimes) {
    const exported = Object.keys(JSON.parse(readFileSync(join(folder, "node_modules", name, "package.json"), "utf8")).exports);
    const modules = exported.filter((path) => !path.endsWith(".json"));
    writeFileSync(
      join(folder, "modules.mjs"),
      modules.map((path) => `await import(${JSON.stringify(join(name, path))});`).join(""),
    );
    for (const { command } of runtimes) await run(command[0], [...command.slice(1), "modules.mjs"], { cwd: folder });
    console.log(`${name}: ${modules.length} modules load on ${runtimes.map((one) => one.name).join(", ")}`);
  }

  /** Starts the installed service with a separate embedded database, and waits until it answers. */
  async function startService(folder, { name, command }) {
    const port = await freePort();
    const dataDir = join(folder, `data-${port}`);
    const env = { ...process.env, PORT: String(port), GRPC_PORT: String(await freePort()), DATA_DIR: dataDir, API_KEYS: "" };
    const began = performance.now();
    const program = join(folder, "node_modules/signalbox/signalbox.js");
    const child = spawn(command[0], [...command.slice(1), program, "start"], { cwd: folder, env });
    const ended = new Promise((done) => child.once("exit", done));
    let said = "";
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", (text) => (said += text));
    const url = `http://127.0.0.1:${port}`;
    while (!(await fetch(`${url}/health`).catch(() => null))?.ok) {
      if (performance.now() - began > startMs || child.exitCode !== null) {
        child.kill("SIGKILL");
        fail(`service on ${name}: it did not answer within ${startMs / 1000} s:\n${said.slice(-3000)}`);
      }
      await new Promise((done) => setTimeout(done, 100));
    }
    const stop = async () => {
      child.kill("SIGTERM");
      await ended;
    };
    return { url, seconds: secondsSince(began), stop };
  }

  /** The folder in which a client is generated. */
  async function installClient() {
    const folder = folderFor(join(empty, "client"));
    const { devDependencies } = JSON.parse(readFileSync("examples/openapi-client/package.json", "utf8"));
    await install(
      folder,
      [...Object.entries(devDependencies), ["@types/node", "^24.0.0"]].map(([name, range]) => `${name}@${range}`),
      "a typed client",
    );
    return folder;
  }

  /** A client generated from the running service's document: type-checked, then used on each runtime. */
  async function tryClient(folder, runtimes, service) {
    cpSync("examples/openapi-client/generate.ts", join(folder, "generate.ts"));
    writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions: strictOptions, include: ["use.ts", "gen"] }));
    writeFileSync(
      join(folder, "use.ts"),
      `import { client } from "./gen/client.gen.ts";
import { agentsCreate, agentsDelete, agentsGet } from "./gen/sdk.gen.ts";
client.setConfig({ baseUrl: process.argv[2] ?? "" });
const body = { id: "reviewer", name: "Reviewer", role_id: "ta", prompt: "You review code." } as const;
await agentsCreate({ body, throwOnError: true });
const { data } = await agentsGet({ path: { id: "reviewer" }, throwOnError: true });
await agentsDelete({ path: { id: "reviewer" }, throwOnError: true });
console.log(data.name);
`,
    );
    const began = performance.now();
    await run(process.execPath, ["generate.ts", `${service}/openapi.json`], { cwd: folder });
    await run(process.execPath, ["node_modules/typescript/bin/tsc", "-p", "."], { cwd: folder });
    console.log(`a typed client: generated and type-checked in ${secondsSince(began)} s`);
    for (const { name, command } of runtimes) {
      const said = await run(command[0], [...command.slice(1), "use.ts", service], { cwd: folder });
      if (said.trim() !== "Reviewer") fail(`a typed client on ${name} said ${said}`);
    }
    console.log(`a typed client: creates, reads and deletes an agent on ${runtimes.map(({ name }) => name).join(", ")}`);
  }

  /** The path of an author without a service: a new plugin, its types and tests, and the sizes that the author sees. */
  async function tryAuthor(found) {
    await run("npm", ["exec", "--yes", ...from, "--", "create-signalbox-plugin", "hello"], { cwd: empty });
    const plugin = join(empty, "hello");
    const { deno, all } = await install(plugin, [], "a new plugin");
    if (all - deno > 60) fail(`The author's packages take ${all - deno} MB without Deno; expected at most 60.`);
    for (const { name, command, path } of await found) {
      const began = performance.now();
      if (path) for (const script of ["check", "test"]) await run("npm", ["run", "--silent", script], { cwd: plugin, path });
      else
        await run(command[0], [...command.slice(1), "node_modules/@signalbox/cli/signalbox.js", "plugin", "test"], {
          cwd: plugin,
        });
      console.log(`a new plugin on ${name}: ${path ? "types and tests pass" : "its suites pass"} in ${secondsSince(began)} s`);
    }
    await run("npx", ["--no-install", "signalbox", "plugin", "pack"], { cwd: plugin });
    const bytes = statSync(join(plugin, "dist/plugin.js")).size;
    console.log(`a new plugin: its bundle has ${Math.round(bytes / 1024)} KiB`);
    if (bytes > 150 * 1024) fail("Expected a bundle of at most 150 KiB.");
    await checkTypes(plugin);
  }

  /** The types of each kind of plugin, by the version of TypeScript that authors install. */
  async function checkTypes(plugin) {
    const began = performance.now();
    const kinds = readdirSync("runtime/cli/plugin/templates").filter((name) => name !== "every");
    for (const kind of kinds) {
      const named = [`of-${kind.toLowerCase()}`, "--kind", kind];
      await run("npx", ["--no-install", "signalbox", "plugin", "new", ...named], { cwd: plugin });
    }
    const all = { extends: "./tsconfig.json", include: ["of-*/src", "of-*/test"] };
    writeFileSync(join(plugin, "tsconfig.kinds.json"), JSON.stringify(all));
    await run("npx", ["--no-install", "tsc", "-p", "tsconfig.kinds.json"], { cwd: plugin });
    console.log(`new plugins of ${kinds.length} kinds: types pass in ${secondsSince(began)} s`);
  }

  /** The duration of an installation in seconds, and its size in megabytes, with Deno and of Deno alone. */
  async function install(folder, what, name = what.join(" ")) {
    const began = performance.now();
    await run("npm", ["install", ...what, ...from], { cwd: folder });
    const seconds = secondsSince(began);
    refuseNewer(folder);
    const megabytes = async (paths) => {
      const places = paths.map((path) => join(folder, "node_modules", path));
      return Number(/(\d+)\s+total$/.exec((await run("du", ["-smc", ...places], { may: /./ })).trim())?.[1] ?? 0);
    };
    const [all, deno] = [await megabytes(["."]), await megabytes(["deno", "@deno"])];
    console.log(`${name}: installed in ${seconds} s, ${all} MB, ${all - deno} MB without Deno`);
    return { all, deno };
  }

  /** On the oldest supported Node, npm warns of each package that needs a newer one, or refuses it. */
  function refuseNewer(folder) {
    const { packages } = JSON.parse(readFileSync(join(folder, "node_modules/.package-lock.json"), "utf8"));
    const newer = Object.entries(packages).filter(([, { engines }]) => engines?.node && !semver.satisfies(oldest, engines.node));
    if (newer.length > 0) fail(`Packages that do not support Node ${oldest}: ${newer.map(([path]) => path).join(", ")}`);
  }

  return { tryAll };
}

/** An empty folder with a package.json as `npm init` creates it. */
function folderFor(folder) {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "package.json"), JSON.stringify({ private: true, type: "module" }));
  return folder;
}

const strictOptions = {
  target: "es2024",
  module: "nodenext",
  types: ["node"],
  strict: true,
  noEmit: true,
  skipLibCheck: true,
  allowImportingTsExtensions: true,
  erasableSyntaxOnly: true,
  lib: ["es2024", "dom", "dom.iterable"],
};

const secondsSince = (began) => Math.round((performance.now() - began) / 100) / 10;

async function freePort() {
  const server = createServer();
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  const { port } = server.address();
  await new Promise((done) => server.close(done));
  return port;
}
