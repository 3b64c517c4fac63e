// Installs what is missing before `npm run demo`, `npm test` and `npm start`, so that each works on a fresh clone.
// Plain JavaScript: it runs on whatever Node the machine has.
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, statSync } from "node:fs";

const installed = "node_modules/.package-lock.json";
const upToDate =
  existsSync(installed) &&
  statSync(installed).mtimeMs >= statSync("package-lock.json").mtimeMs - 1000 &&
  existsSync("node_modules/@signalbox/sdk");
if (!upToDate && !sameAsLock()) {
  process.stderr.write("Installing packages (once, about a minute) ...\n");
  execFileSync("npm", ["ci", "--no-audit", "--no-fund", "--loglevel=error"], { stdio: "inherit" });
}

// A checkout touches package-lock.json without changing it.
function sameAsLock() {
  if (!existsSync(installed)) return false;
  const read = (file) => JSON.parse(readFileSync(file, "utf8")).packages;
  const [lock, tree] = [read("package-lock.json"), read(installed)];
  return Object.entries(tree).every(([path, entry]) => lock[path]?.version === entry.version);
}
