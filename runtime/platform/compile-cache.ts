import module from "node:module";
import { homedir } from "node:os";
import { join } from "node:path";

// Imported before everything else, also with `node --import`. Node compiles code once, and later starts read it from a cache.
// This halves the processor time for loading the service or a command. Deno has its own cache.

/** A folder of the user. The folder that Node would choose belongs to all users of the machine, and code in it is run. */
function folderOfUser(): string | null {
  try {
    return join(homedir(), ".cache", "signalbox", "compiled");
  } catch {
    // A user without a home folder.
    return null;
  }
}

const folder = folderOfUser();
// It never throws, and does nothing if NODE_COMPILE_CACHE or NODE_DISABLE_COMPILE_CACHE is set.
if (folder !== null) module.enableCompileCache?.(folder);
