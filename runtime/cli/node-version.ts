// Imported first and alone, and imports nothing itself: on an older Node, the other files fail while they load.
const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
if (!("Deno" in globalThis) && (major < 22 || (major === 22 && minor < 18))) {
  process.stderr.write(
    `signalbox requires Node 22.18 or newer, or Deno 2. This is Node ${process.versions.node} (${process.execPath}). Install a newer version from https://nodejs.org.\n`,
  );
  process.exit(1);
}

export {};
