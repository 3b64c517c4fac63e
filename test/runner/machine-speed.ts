/** Milliseconds that `readJson` takes on the machine for which the number of workers was chosen. */
const expected = 16;

function readJson(): number {
  const began = performance.now();
  for (let i = 0; i < 8; i++) JSON.parse(JSON.stringify(Array.from({ length: 5_000 }, (_, at) => ({ at, text: String(at) }))));
  return performance.now() - began;
}

/**
 * How many times slower this machine is than that one (half as fast: 2). `.ci/run` passes what it has measured with processes, whose
 * start can be slow on a machine that computes fast. Without it, measuring takes a tenth of a second.
 */
function slowness(): number {
  const given = Number(process.env.MACHINE_SLOWNESS);
  if (given > 0) return given;
  const [, , median = expected] = Array.from({ length: 5 }, readJson).sort((one, other) => one - other);
  return median / expected;
}

/**
 * How much runs at the same time: files, and tests of one file. On a slow machine, waits are a smaller part of the time, and the
 * deadlines of services and plugins pass sooner if many processes share its cores.
 */
export function atOnce(cores: number): { files: number; tests: number } {
  const slow = slowness();
  const files = slow < 2 ? 5 : slow < 2.3 ? 4 : 3;
  return { files: Math.max(files, cores), tests: slow < 1.3 ? 3 : 2 };
}
