import { parseArgs } from "node:util";
import { startAlpha } from "./alpha-platform.ts";
import { startBeta } from "./beta-platform.ts";
import { startDelta } from "./delta-platform.ts";
import { startGamma } from "./gamma-platform.ts";
import { startModel } from "./model.ts";
import { Narrator } from "./narrator.ts";
import { type Signalbox, startSignalbox } from "./signalbox.ts";
import { play } from "./story.ts";
import { openStage } from "./trust-stage.ts";
import { playTrust } from "./trust-story.ts";
import { playUseCase } from "./use-case-story.ts";

const platforms = { alpha: startAlpha, beta: startBeta, gamma: startGamma, delta: startDelta };
type Source = keyof typeof platforms;
const isSource = (name: string): name is Source => Object.hasOwn(platforms, name);

const usage = `Usage: npm run demo -- [--keep] [--source alpha|beta|gamma|delta] [--use-case] [--trust]

Runs Signalbox on this machine, without accounts or keys, then exits.

  --keep           keep everything running until Ctrl-C
  --source NAME    platform: alpha, beta, gamma or delta. Default: alpha
  --use-case       play the module-update use case: setup, an issue with three analyses, teardown (alpha only)
  --trust          show how Signalbox handles loops, edit storms, strangers, outages and injections (alpha only)

Listens on PORT and GRPC_PORT (8000 and 9090), or on other ports if these are taken.`;

/** Maximum duration in milliseconds: on a very busy machine, creating the database alone takes more than a minute. */
const limit = 300_000;

interface Options {
  readonly keep: boolean;
  readonly source: Source;
  readonly useCase: boolean;
  readonly trust: boolean;
}

/** Everything that was started, to be stopped in reverse order. */
const ends: (() => Promise<void>)[] = [];
async function endAll(): Promise<void> {
  for (const end of ends.splice(0).reverse()) await end().catch((error) => console.error(String(error)));
}

function readOptions(): Options | string {
  try {
    const { values } = parseArgs({
      options: {
        keep: { type: "boolean", default: false },
        source: { type: "string", default: "alpha" },
        "use-case": { type: "boolean", default: false },
        trust: { type: "boolean", default: false },
        help: { type: "boolean", short: "h", default: false },
      },
    });
    if (values.help) return usage;
    const { keep, source, trust, "use-case": useCase } = values;
    if (useCase && source !== "alpha") return `--use-case: requires --source alpha; it is ${source}\n\n${usage}`;
    if (trust && (useCase || source !== "alpha"))
      return `--trust: cannot be combined with ${useCase ? "--use-case" : `--source ${source}`}\n\n${usage}`;
    if (isSource(source)) return { keep, source, useCase, trust };
    return `--source: must be one of ${Object.keys(platforms).join(", ")}; it is "${source}"\n\n${usage}`;
  } catch (error) {
    return `${(error as Error).message}\n\n${usage}`;
  }
}

async function demonstrate(
  tell: Narrator,
  { source, useCase, trust }: Options,
  onStart: (service: Signalbox) => void,
): Promise<{ signalbox: Signalbox; addresses: string[] }> {
  if (trust) return showTrust(tell, onStart);
  tell.title(
    "Signalbox: from a webhook to a comment",
    "This runs the real service with a simulated tracker and a scripted model instead of your own.",
  );
  tell.heading("Starting");
  const platform = await platforms[source]();
  ends.push(() => platform.close());
  tell.say("tracker", `${platform.about} on ${platform.url}`);
  const model = await startModel();
  ends.push(() => model.close());
  tell.say("model", `an OpenAI-compatible API on ${model.url}`);
  const settings = {
    ...platform.settings,
    LLM_BASE_URL: model.url,
    LLM_API_KEY: "demonstration",
    LLM_MODEL: "scripted-demonstration-model",
  };
  const signalbox = await startSignalbox(settings, (service) => {
    ends.push(() => service.stop());
    onStart(service);
    tell.say("signalbox", "starts with an embedded database", service.folder);
  });
  tell.say("signalbox", `serves HTTP on ${signalbox.url}, gRPC on port ${signalbox.grpcPort}`);

  await (useCase ? playUseCase : play)({ tell, signalbox, platform });
  return { signalbox, addresses: [platform.look(), `${model.url}/models`] };
}

/** The story of attacks and failures, with the service's default limits. */
async function showTrust(tell: Narrator, onStart: (service: Signalbox) => void) {
  tell.title(
    "Signalbox: what can start a run, how often, and what it can write",
    "The real service with its default limits, a simulated tracker, and a model that obeys everything it reads.",
  );
  const stage = await openStage(tell, (end) => ends.push(end), onStart);
  await playTrust(stage);
  return { signalbox: stage.signalbox, addresses: [`${stage.tracker.url}`, `${stage.model.url}/models`] };
}

function showWhereToLook(tell: Narrator, options: Options, signalbox: Signalbox, addresses: readonly string[]): void {
  const { keep, source } = options;
  const { url } = signalbox;
  tell.heading(keep ? "Try it now (Ctrl-C stops everything)" : "Next steps");
  if (!keep)
    tell.plain(
      `  ${commandOf({ ...options, keep: true, source: source === "alpha" ? null : source }, signalbox)}   keeps all of this running at:`,
    );
  tell.plain(`  ${url}/                      console: issues, runs, agents`);
  tell.plain(`  ${url}/docs                  API reference`);
  tell.plain(`  ${url}/api/task-executions   executions; add an id to see model calls and tool calls`);
  tell.plain(`  ${url}/api/webhook-events    received webhooks`);
  if (keep) for (const address of addresses) tell.plain(`  ${address}`);
  const [other = source, ...more] = Object.keys(platforms).filter((name): name is Source => name !== source && isSource(name));
  const command = commandOf({ keep, source: other, useCase: false, trust: false }, signalbox);
  tell.plain(`  ${command}   one issue on another platform: ${[other, ...more].join(", ")}`);
  tell.plain("  README.md                                   connect your own tracker and model\n");
}

/** The command that starts the demo with these options on the same ports. `source`: null: the default. */
function commandOf(
  { keep, source, useCase, trust }: Omit<Options, "source"> & { readonly source: Source | null },
  { url, grpcPort }: Signalbox,
): string {
  const port = Number(new URL(url).port);
  const ports = [...(port === 8000 ? [] : [`PORT=${port}`]), ...(grpcPort === 9090 ? [] : [`GRPC_PORT=${grpcPort}`])];
  const flags = [
    ...(keep ? ["--keep"] : []),
    ...(source === null ? [] : [`--source ${source}`]),
    ...(useCase ? ["--use-case"] : []),
    ...(trust ? ["--trust"] : []),
  ];
  return [...ports, "npm run", "Deno" in globalThis ? "demo:deno" : "demo", ...(flags.length > 0 ? ["--", ...flags] : [])].join(
    " ",
  );
}

/** The first Ctrl-C stops everything in order, the second one immediately. */
const untilInterrupted = (): Promise<void> =>
  new Promise((done) => {
    let times = 0;
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => (++times > 1 ? process.exit(130) : done()));
  });

async function main(): Promise<number> {
  const options = readOptions();
  if (typeof options === "string") {
    console.error(options);
    return options === usage ? 0 : 2;
  }
  const tell = new Narrator(process.stdout);
  let service: Signalbox | null = null;
  let timer: NodeJS.Timeout | undefined;
  try {
    const tooLong = new Promise<never>((_, fail) => {
      timer = setTimeout(() => fail(new Error(`the demo took longer than ${limit / 1000} s`)), limit);
    });
    const untilStopped = untilInterrupted();
    const interruption = untilStopped.then(() => Promise.reject(new Error("Interrupted.")));
    // The story is over, so the promise may reject unobserved.
    interruption.catch(() => {});
    const demonstration = demonstrate(tell, options, (one) => (service = one));
    const { signalbox, addresses } = await Promise.race([demonstration, tooLong, interruption]);
    clearTimeout(timer);
    showWhereToLook(tell, options, signalbox, addresses);
    if (options.keep) await untilStopped;
    return 0;
  } catch (error) {
    const logs = (service as Signalbox | null)?.logs().trimEnd().split("\n").slice(-30).join("\n");
    console.error(`\n${tell.style("red", "The demo failed:")} ${error instanceof Error ? error.message : String(error)}`);
    if (logs) console.error(`\nLast lines of Signalbox's log:\n${logs}`);
    return 1;
  } finally {
    clearTimeout(timer);
    await endAll();
  }
}

process.exit(await main());
