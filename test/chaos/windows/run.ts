import { audit } from "../audit.ts";
import type { ChaosOptions } from "../options.ts";
import type { Replica } from "../replica.ts";
import { broken, print, progress, type Row, spread } from "../report.ts";
import { startWorld, type World } from "../world.ts";
import { outageWindows } from "./outages.ts";
import type { Round, Window } from "./window.ts";
import { writeWindows } from "./writes.ts";

export const windows: readonly Window[] = [...writeWindows, ...outageWindows];

/** Runs the scenario with this name, or all of them, each in a separate world. Returns whether every promise held. */
export async function runWindows(name: string, options: ChaosOptions): Promise<boolean> {
  const chosen = name === "all" ? windows : windows.filter((window) => name.split(",").includes(window.name));
  if (chosen.length === 0)
    throw new Error(`--window: there is no "${name}"; there are ${windows.map((one) => one.name).join(", ")}, and all`);
  if (options.database !== "postgres") throw new Error("--window needs two replicas, and so --database postgres");
  let held = true;
  for (const window of chosen) held = (await runWindow(window, options)) && held;
  return held;
}

async function runWindow(window: Window, options: ChaosOptions): Promise<boolean> {
  progress(`${window.name}: ${window.about}`);
  const world = await startWorld({ ...options, lease: 4, replicas: 2, tasks: ["first"] });
  try {
    world.model.callsTools = false;
    world.model.fixedDelay = 150;
    const rounds: Round[] = [];
    const wanted = Math.ceil(options.times / window.tries);
    while (rounds.length < wanted) rounds.push(await once(window, world));
    const findings = await audit(world);
    const hits = rounds.reduce((sum, round) => sum + round.hits, 0);
    const late = rounds.flatMap(({ times }) => Object.values(times ?? {}).flat()).filter((time) => time === null).length;
    const tried = wanted * window.tries;
    const own: Row[] = [
      ["missed the moment", tried - hits],
      ["not in time", late],
    ];
    const wrong = [...own.filter(([, count]) => count !== 0), ...broken(findings)];
    print(`window ${window.name}`, [["hits", `${hits} of ${tried}`], ...own, ...timesOf(rounds)], findings);
    progress(
      `${window.name}: ${wrong.length === 0 ? "every promise held" : `broken: ${wrong.map((row) => row.join(" ")).join(", ")}`}`,
    );
    process.stdout.write(`logs: ${world.logs}\n`);
    return wrong.length === 0;
  } finally {
    await world.close();
  }
}

async function once(window: Window, world: World): Promise<Round> {
  const [first, second] = world.replicas as [Replica, Replica];
  const round = await window.round(world, first, second).catch((error): Round => {
    progress(`${window.name}: a round failed: ${error.message}`);
    return { hits: 0 };
  });
  await world.heal();
  return round;
}

function timesOf(rounds: readonly Round[]): Row[] {
  const names = new Set(rounds.flatMap(({ times }) => Object.keys(times ?? {})));
  return [...names].map((name): Row => [name, spread(rounds.flatMap(({ times }) => times?.[name] ?? []))]);
}
