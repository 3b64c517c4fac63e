import { runMix } from "./mix.ts";
import { readOptions } from "./options.ts";
import { runWindows } from "./windows/run.ts";

const options = readOptions(process.argv.slice(2));
const held = await (options.window === null ? runMix(options) : runWindows(options.window, options));
// At once: sockets that a fault has left half open would keep the process.
process.exit(held ? 0 : 1);
