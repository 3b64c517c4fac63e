// `npm run release` publishes the version of the checked-out tag: packages, JSR, release notes. With --dry-run it does everything
// except the upload: the packages are published to a registry on loopback, installed from it into an empty folder, and tried.
import { execFile, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs, promisify } from "node:util";
import { startRegistry } from "../test/harness/package-registry.ts";
import { findingsOf } from "./check-packages.mjs";
import { publishToJsr } from "./jsr.mjs";
import { notesOf } from "./release-notes.mjs";
import { pathsFrom } from "./try-paths.mjs";

const { "dry-run": isDry = false } = parseArgs({ options: { "dry-run": { type: "boolean" } } }).values;
const { version } = JSON.parse(readFileSync("package.json", "utf8"));
const quiet = ["--loglevel=error", "--no-audit", "--no-fund"];

if (!isDry) {
  const tag = (await run("git", ["describe", "--tags", "--exact-match"], { may: /./ })).trim();
  if (tag !== `v${version}`) fail(`package.json has version ${version}, but the tag is ${tag || "missing"}.`);
}
const notes = notesOf(version, { unreleased: isDry });
await run("npm", ["run", "--silent", "build"]);
const folder = resolve("dist/release");
rmSync(folder, { recursive: true, force: true });
mkdirSync(folder);
// A package is published after those that it depends on.
const order = ["schema", "sdk", "cli"];
const names = readdirSync("dist").filter((name) => name !== "release" && name !== "jsr");
const [packed] = await Promise.all([
  inTurns([...order, ...names.filter((name) => !order.includes(name))], pack, { atOnce: 2 }),
  publishToJsr({ isDry, run }),
]);
writeFileSync(join(folder, "notes.md"), notes);
writeFileSync(join(folder, "sbom.cdx.json"), await run("npm", ["sbom", "--sbom-format=cyclonedx", "--omit=dev", ...quiet]));

const registry = isDry ? await startLoopback() : null;
try {
  await inTurns(packed, publish, { atOnce: registry ? 2 : 1 });
  if (registry) await tryOut(registry);
} finally {
  registry?.close();
}
if (!isDry)
  await run("gh", ["release", "create", `v${version}`, "--verify-tag", "--notes-file", join(folder, "notes.md"), ...files()]);
console.log(
  `${isDry ? "would release" : "released"} v${version}: ${packed.map(({ id }) => id).join(", ")}; ${folder} has the files`,
);

/** The results in the order of the items. */
async function inTurns(items, act, { atOnce }) {
  const results = [];
  let next = 0;
  const turn = async () => {
    while (next < items.length) {
      const at = next++;
      results[at] = await act(items[at]);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, turn));
  return results;
}

/** Packs one package and checks what is in it. */
async function pack(name) {
  const [packed] = Object.values(
    JSON.parse(await run("npm", ["pack", `./dist/${name}`, "--pack-destination", folder, "--json", ...quiet])),
  );
  const findings = await findingsOf(
    `dist/${name}`,
    packed.files.map(({ path }) => path),
  );
  if (findings.length > 0) fail(findings.join("\n"));
  console.log(
    `${packed.id}: ${Math.round(packed.size / 1024)} KiB packed, ${Math.round(packed.unpackedSize / 1024)} KiB, no findings`,
  );
  return { id: packed.id, name: packed.name, file: join(folder, packed.filename), integrity: packed.integrity };
}

async function publish({ id, file, integrity }) {
  // A failed release is run again: versions that are already published remain.
  if (!registry) {
    const there = (await run("npm", ["view", id, "dist.integrity", ...quiet], { may: /E404/ })).trim();
    if (there === integrity) return console.log(`${id} is published already`);
    if (there !== "") fail(`${id} is published with other contents (${there}); release a new version.`);
  }
  const to = registry ? [`--registry=${registry.url}/`, `--${registry.url.slice("http:".length)}/:_authToken=loopback`] : [];
  // Provenance is accepted only by a registry that knows the workflow's identity.
  await run("npm", ["publish", file, "--access=public", `--provenance=${!registry}`, ...to, ...quiet]);
}

async function startLoopback() {
  const upstream = (await run("npm", ["config", "get", "registry"])).trim().replace(/\/$/, "");
  return startRegistry([], { upstream });
}

/** Like a user: empty folders, and packages from the registry. */
async function tryOut({ url }) {
  const empty = mkdtempSync(join(tmpdir(), "signalbox-release-"));
  try {
    await pathsFrom({ url, empty, packed, version, run, fail }).tryAll();
  } finally {
    // Not awaited, because removing the installed packages takes as long as installing them.
    spawn("rm", ["-rf", empty], { detached: true, stdio: "ignore" }).unref();
  }
}

function files() {
  return readdirSync(folder)
    .filter((file) => file !== "notes.md")
    .map((file) => join(folder, file));
}

async function run(command, args, { cwd, may, path = process.env.PATH } = {}) {
  try {
    const env = { ...process.env, PATH: path };
    return (await promisify(execFile)(command, args, { cwd, env, encoding: "utf8", maxBuffer: 1 << 28 })).stdout;
  } catch ({ stdout = "", stderr = "", message }) {
    if (may?.test(stderr)) return "";
    return fail(`${command} ${args.join(" ")} failed:\n${stdout}${stderr || message}`);
  }
}

function fail(text) {
  console.error(text);
  process.exit(1);
}
