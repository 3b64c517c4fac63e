import { existsSync, type FSWatcher, readdirSync, statSync, watch } from "node:fs";
import { join } from "node:path";

/** An editor writes several times during one save. */
const quietMs = 100;
/** Built, installed and stored files next to the sources, and temporary files of editors. */
const ignoredFiles =
  /^(dist|node_modules)([\\/]|$)|(^|[\\/])(\.[^/\\]*|4913)([\\/]|$)|~$|\.tgz$|\.lock\.json$|package-lock\.json$/;

/**
 * Yields the names of the saved files until the signal; several saves at once are one list, which is empty if files were only
 * removed. Changes count from the time of the call. Each folder is watched separately: `node_modules` may contain more folders
 * than the system can watch, and a recursive watch on Linux watches files, which it loses when an editor saves by renaming
 * another file over them. `isOwn`: whether this program wrote the file.
 */
export function watchSaves(folder: string, isOwn: (path: string) => boolean, signal: AbortSignal): AsyncIterable<string[]> {
  const savedPaths = new Set<string>();
  const watchers = new Map<string, FSWatcher>();
  let nextSave = Promise.withResolvers<void>();
  let failure: Error | null = null;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const note = (path: string) => {
    if (ignoredFiles.test(path) || isOwn(path)) return;
    savedPaths.add(path);
    clearTimeout(timer);
    timer = setTimeout(() => nextSave.resolve(), quietMs);
  };
  const unwatch = (name: string) => {
    watchers.get(name)?.close();
    watchers.delete(name);
  };
  /** `isNew`: the folder was created after the start, so the files in it count as saved. */
  const watchFolder = (name: string, isNew: boolean) => {
    if (watchers.has(name)) return;
    const watcher = watch(join(folder, name), (_, changed) => {
      if (changed === null) return;
      const path = join(name, changed);
      if (ignoredFiles.test(path)) return;
      // There may be another folder with that name, or none.
      if (isFolder(path)) watchFolder(path, true);
      else unwatch(path);
      note(path);
    });
    watchers.set(name, watcher);
    watcher.on("error", (error: NodeJS.ErrnoException) => {
      unwatch(name);
      // A folder that was removed is no longer watched; everything else ends the watch.
      if (name !== "" && ["ENOENT", "EPERM"].includes(error.code ?? "")) return;
      failure = error;
      nextSave.resolve();
    });
    for (const one of readdirSync(join(folder, name))) {
      const path = join(name, one);
      if (ignoredFiles.test(path)) continue;
      if (isFolder(path)) watchFolder(path, isNew);
      else if (isNew) note(path);
    }
  };
  const isFolder = (path: string) => statSync(join(folder, path), { throwIfNoEntry: false })?.isDirectory() === true;
  watchFolder("", false);
  const end = () => {
    clearTimeout(timer);
    for (const watcher of watchers.values()) watcher.close();
    nextSave.resolve();
  };
  signal.addEventListener("abort", end, { once: true });
  return (async function* () {
    for (;;) {
      await nextSave.promise;
      if (signal.aborted) return;
      if (failure) throw failure;
      nextSave = Promise.withResolvers();
      // Editors write a temporary file and rename it.
      const names = [...savedPaths].filter((path) => existsSync(join(folder, path)) && !isFolder(path)).sort();
      savedPaths.clear();
      yield names;
    }
  })();
}
