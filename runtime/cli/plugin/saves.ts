import { existsSync, type FSWatcher, readdirSync, statSync, watch } from "node:fs";
import { join } from "node:path";

/** A save writes several times. */
const quietMs = 100;
/** What is built, installed or kept beside the sources, and what editors leave for a moment. */
const passedOver = /^(dist|node_modules|\.[^/\\]*)([\\/]|$)|~$|\.tgz$|\.lock\.json$|package-lock\.json$/;

/**
 * Names of the files that were saved, several saves at once as one list (empty: only removals), until the signal. Watched from the call on, folder by
 * folder: `node_modules` may hold more folders than the system can watch. `isOwn`: this program wrote the file.
 */
export function watchSaves(folder: string, isOwn: (path: string) => boolean, signal: AbortSignal): AsyncIterable<string[]> {
  const saved = new Set<string>();
  const watchers = new Map<string, FSWatcher>();
  let ready = Promise.withResolvers<void>();
  let failure: Error | null = null;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const note = (path: string) => {
    if (passedOver.test(path) || isOwn(path)) return;
    saved.add(path);
    clearTimeout(timer);
    timer = setTimeout(() => ready.resolve(), quietMs);
  };
  const watchFolder = (name: string) => {
    if (watchers.has(name)) return;
    const watcher = watch(join(folder, name), { recursive: name !== "" }, (_, path) => {
      if (path === null) return;
      if (name === "") watchFolders();
      note(join(name, path));
    });
    watchers.set(name, watcher);
    watcher.on("error", (error: NodeJS.ErrnoException) => {
      watchers.delete(name);
      watcher.close();
      // A folder that was removed is no longer watched; everything else ends the watch.
      if (name !== "" && ["ENOENT", "EPERM"].includes(error.code ?? "")) return;
      failure = error;
      ready.resolve();
    });
  };
  const watchFolders = () => {
    for (const name of readdirSync(folder)) {
      if (!passedOver.test(name) && statSync(join(folder, name), { throwIfNoEntry: false })?.isDirectory()) watchFolder(name);
    }
  };
  watchFolder("");
  watchFolders();
  const end = () => {
    clearTimeout(timer);
    for (const watcher of watchers.values()) watcher.close();
    ready.resolve();
  };
  signal.addEventListener("abort", end, { once: true });
  return (async function* () {
    for (;;) {
      await ready.promise;
      if (signal.aborted) return;
      if (failure) throw failure;
      ready = Promise.withResolvers();
      // Editors write beside a file and rename.
      const names = [...saved].filter((path) => existsSync(join(folder, path))).sort();
      saved.clear();
      yield names;
    }
  })();
}
