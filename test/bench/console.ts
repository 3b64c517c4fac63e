import { setTimeout as sleep } from "node:timers/promises";
import { type Browser, type CDPSession, launch, type Page } from "puppeteer-core";
import { issueOpened } from "../harness/alpha-payloads.ts";
import { eventually } from "../harness/wait.ts";
import { startWorld, taskOf, type World } from "../harness/world.ts";
import { chromium } from "../runner/needs.ts";
import { report } from "./report.ts";

/** Events of the stream, per second; every tenth is about the issue that is shown. */
const rate = 1;
/** The lists of Runs and Deliveries show 50 rows and the page of an issue 100 deliveries: they are full before the first reading. */
const before = 110;
const readings = 12;

/** Of one page, after the garbage was collected. */
interface Reading {
  readonly megabytes: number;
  readonly nodes: number;
  readonly listeners: number;
  readonly requests: number;
}

/** Memory of the console's pages, each in a window of its own, while events come in. `--minutes=60`. */
export async function run(args: readonly string[]): Promise<void> {
  const minutes = Number(/^--minutes=(\d+)$/.exec(args.find((one) => one.startsWith("--minutes=")) ?? "")?.[1] ?? 60);
  await using world = await startWorld({ tasks: ["triage"], script: (request) => ({ content: `Answer of ${taskOf(request)}` }) });
  const browser = await launch({ executablePath: chromium, args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"] });
  try {
    const stream = new Stream(world);
    for (let n = 0; n < before; n++) await stream.send(1);
    for (let n = 0; n < 60; n++) await stream.send(2 + n);
    const [shown] = await eventually(async () => {
      const { body } = await world.service.get<{ id: string; state: string }[]>("/api/task-executions?subject=octo%2Fapp%232");
      return body[0]?.state === "succeeded" && body;
    });
    const issue = (number: number) => `issue?subject=${encodeURIComponent(`alpha:octo/app#${number}`)}`;
    const paths = ["now", "runs", "deliveries", `run/${shown?.id}`, issue(2), issue(1)];
    const windows = await Promise.all(paths.map((path) => Window.open(browser, world.service.url, path)));
    const read: Reading[][] = windows.map(() => []);
    const pace = stream.start();
    await sleep(30_000);
    const begun = performance.now();
    for (let n = 0; n <= readings; n++) {
      await sleep(Math.max(0, begun + (n * minutes * 60_000) / readings - performance.now()));
      for (const [at, window] of windows.entries()) {
        read[at]?.push(await window.read());
      }
    }
    stream.stop();
    await pace;
    report({
      name: "console",
      about: `memory of the console's pages during ${minutes} minutes, ${stream.sent} events`,
      columns: [
        "",
        "MB at first",
        "MB at last",
        "MB at most",
        "nodes at first",
        "at last",
        "listeners at first",
        "at last",
        "requests",
      ],
      rows: windows.map(({ path }, at) => {
        const all = read[at] ?? [];
        const [first, last] = [all[0] as Reading, all.at(-1) as Reading];
        const most = Math.max(...all.map(({ megabytes }) => megabytes));
        return [
          path.slice(0, 24),
          ...[first.megabytes, last.megabytes, most, first.nodes, last.nodes, first.listeners, last.listeners, last.requests],
        ] as const;
      }),
      findings: windows.map(({ path }, at) => `${path}, MB: ${read[at]?.map(({ megabytes }) => megabytes.toFixed(2)).join(" ")}`),
    });
  } finally {
    await browser.close();
  }
}

/** Webhooks of opened issues, at an even pace. */
class Stream {
  sent = 0;
  #runs = true;
  readonly #world: World;
  constructor(world: World) {
    this.#world = world;
  }

  async send(number: number): Promise<void> {
    await this.#world.service.webhook(issueOpened({ repo: "octo/app", number, title: `Event ${this.sent++}` }));
  }

  async start(): Promise<void> {
    const begun = performance.now();
    for (let n = 0; this.#runs; n++) {
      await sleep(Math.max(0, begun + (n * 1_000) / rate - performance.now()));
      await this.send(n % 10 === 0 ? 1 : 100 + n);
    }
  }

  stop(): void {
    this.#runs = false;
  }
}

/** A page in a window of its own: a page behind another one follows nothing. */
class Window {
  readonly path: string;
  readonly #page: Page;
  readonly #session: CDPSession;
  #requests = 0;

  private constructor(path: string, page: Page, session: CDPSession) {
    this.path = path;
    this.#page = page;
    this.#session = session;
    session.on("Network.requestWillBeSent", () => this.#requests++);
  }

  static async open(browser: Browser, base: string, path: string): Promise<Window> {
    const page = await (await browser.createBrowserContext()).newPage();
    const session = await page.createCDPSession();
    await session.send("Network.enable");
    await page.goto(`${base}/console/${path}`, { waitUntil: "load" });
    await page.waitForFunction(() => document.querySelector("main h1") && !document.querySelector("main > [hidden], .waiting"));
    if (await page.evaluate(() => document.visibilityState !== "visible"))
      throw new Error(`${path} is hidden, so it follows nothing`);
    return new Window(path, page, session);
  }

  async read(): Promise<Reading> {
    await this.#session.send("HeapProfiler.collectGarbage");
    await this.#session.send("HeapProfiler.collectGarbage");
    const { Nodes = 0, JSEventListeners = 0, JSHeapUsedSize = 0 } = await this.#page.metrics();
    return { megabytes: JSHeapUsedSize / 1e6, nodes: Nodes, listeners: JSEventListeners, requests: this.#requests };
  }
}
