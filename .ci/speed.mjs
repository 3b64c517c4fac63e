// Prints how many times longer this machine takes than the one for which the time limit of `.ci/run` was chosen: at least 1.
// It does what most of the tests' time goes into, on two cores: starting Node and reading JSON.
import { spawn } from "node:child_process";

/** Seconds on that machine. */
const expected = 1.1;
const work =
  "for (let i = 0; i < 8; i++) JSON.parse(JSON.stringify(Array.from({ length: 2e4 }, (_, at) => ({ at, text: String(at) }))))";

async function startInTurn() {
  for (let i = 0; i < 10; i++) await new Promise((done) => spawn(process.execPath, ["-e", work]).once("close", done));
}

const began = performance.now();
await Promise.all([startInTurn(), startInTurn()]);
console.log(Math.max(1, (performance.now() - began) / 1000 / expected).toFixed(2));
