// Completes package-lock.json: `npm install` omits packages for other platforms that the current registry does not have, and `npm
// ci` then refuses the lock. With --check it only lists what is missing. Plain JavaScript, like install.mjs.
import { readFileSync, writeFileSync } from "node:fs";

const systems = { android: "android", darwin: "darwin", freebsd: "freebsd", linux: "linux", openbsd: "openbsd", win32: "win32" };
const processors = { arm64: "arm64", x64: "x64", ia32: "ia32", arm: "arm", armv7: "arm", aarch64: "arm64", riscv64: "riscv64" };

const lock = JSON.parse(readFileSync("package-lock.json", "utf8"));
const missing = [];
for (const [path, entry] of Object.entries(lock.packages)) {
  for (const [name, version] of Object.entries(entry.optionalDependencies ?? {})) {
    // A range cannot be resolved without the registry. Platform packages are pinned by the package that they belong to.
    if (!/^\d+\.\d+\.\d+[\w.+-]*$/.test(version) || resolved(path, name)) continue;
    const found = describe(name);
    if (found)
      missing.push([place(path, name), inOrder({ version, ...found, ...(entry.dev ? { dev: true } : {}), optional: true })]);
  }
}

/** Only packages that were added here have no integrity: those for other platforms that the current registry does not have. */
const unproven = Object.entries(lock.packages).filter(
  ([path, { integrity, link, optional, os }]) => path.includes("node_modules/") && !integrity && !link && !(optional && os),
);

if (process.argv.includes("--check")) {
  for (const [path] of unproven) console.error(`package-lock.json has no integrity for ${path}: install it again`);
  for (const [path, { version }] of missing) console.error(`package-lock.json has no ${path} ${version}: run node .ci/lock.mjs`);
  process.exitCode = missing.length + unproven.length > 0 ? 1 : 0;
} else if (missing.length > 0) {
  Object.assign(lock.packages, Object.fromEntries(missing));
  const [root, ...rest] = Object.entries(lock.packages);
  rest.sort(([a], [b]) => a.localeCompare(b, "en"));
  lock.packages = Object.fromEntries([root, ...rest]);
  writeFileSync("package-lock.json", `${JSON.stringify(lock, null, 2)}\n`);
  console.error(`package-lock.json: added ${missing.length} packages for other platforms`);
}

/** Searches like Node: next to the package, then next to each of its parents. */
function resolved(path, name) {
  for (let at = path; ; at = at.slice(0, Math.max(0, at.lastIndexOf("/node_modules/")))) {
    if (lock.packages[`${at ? `${at}/` : ""}node_modules/${name}`]) return true;
    if (at === "" || !at.includes("/node_modules/")) return Boolean(lock.packages[`node_modules/${name}`]);
  }
}

/** At the top, unless it contains another version. */
function place(path, name) {
  const top = `node_modules/${name}`;
  return lock.packages[top] || missing.some(([taken]) => taken === top) ? `${path}/${top}` : top;
}

/** In npm's format: the version first, then the other members by name. */
function inOrder({ version, ...rest }) {
  return { version, ...Object.fromEntries(Object.entries(rest).sort(([a], [b]) => (a < b ? -1 : 1))) };
}

/** `os` and `cpu` from the words of a name such as cli-linux-x64-musl; null if it names no platform. */
function describe(name) {
  const words = name.toLowerCase().split(/[^a-z0-9]+/);
  const os = words.map((word) => systems[word]).find(Boolean);
  const cpu = words.map((word) => processors[word]).find(Boolean);
  if (!os || !cpu) return null;
  const libc = words.includes("musl") ? ["musl"] : words.some((word) => word === "glibc" || word === "gnu") ? ["glibc"] : null;
  return { cpu: [cpu], ...(libc ? { libc } : {}), os: [os] };
}
