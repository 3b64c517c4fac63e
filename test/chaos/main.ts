import { runMix } from "./mix.ts";
import { readOptions } from "./options.ts";
import { runWindows } from "./windows/run.ts";

const options = readOptions(process.argv.slice(2));
const held = await (options.window === null ? runMix(options) : runWindows(options.window, options));
// Exits immediately, because half-open sockets that a fault left would keep the process alive.
process.exit(held ? 0 : 1);
