// Installs missing packages before `npm run demo`, `npm test` and `npm start`, so that each works on a fresh clone. Plain
// JavaScript, because it runs on any version of Node.
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";

const installed = "node_modules/.package-lock.json";
if (!existsSync(installed) || !existsSync("node_modules/.bin/node") || !sameAsLock()) install();

/** Whether every package of the lock is installed in its version, except those for other platforms. */
function sameAsLock() {
  const read = (file) => JSON.parse(readFileSync(file, "utf8")).packages;
  const [lock, tree] = [read("package-lock.json"), read(installed)];
  const wanted = Object.entries(lock).filter(([path]) => path.startsWith("node_modules/") || path.includes("/node_modules/"));
  return wanted.every(([path, { version, link, optional }]) =>
    tree[path] ? tree[path].version === version && tree[path].link === link : optional,
  );
}

function install() {
  process.stderr.write("Installing packages (once, about a minute) ...\n");
  const quiet = ["--no-audit", "--no-fund", "--loglevel=error"];
  const first = npm(["ci", ...quiet], "pipe");
  if (first.status === 0) return;
  // `npm ci` is stricter about the lock than necessary: it also requires the packages for other platforms.
  process.stderr.write("npm ci refused package-lock.json; trying npm install, which leaves the file as it is ...\n");
  if (npm(["install", "--no-save", ...quiet], "inherit").status === 0) return;
  process.stderr.write(`npm ci had said:\n${first.stderr}\n`);
  process.exit(1);
}

/** The npm that runs this script, if there is one. */
function npm(args, stderr) {
  const self = process.env.npm_execpath;
  const [command, ...before] = self?.endsWith(".js") ? [process.execPath, self] : ["npm"];
  return spawnSync(command, [...before, ...args], { stdio: ["ignore", "inherit", stderr], encoding: "utf8" });
}
