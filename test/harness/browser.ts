import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { type Browser, type HTTPRequest, launch, type Page } from "puppeteer-core";
import { inject } from "vitest";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

export interface Tab {
  readonly page: Page;
  /** Errors of scripts, refusals of the content policy, and requests to other hosts. */
  readonly faults: string[];
  open(path: string): Promise<void>;
  /** Waits until the page shows the text. */
  sees(text: string | RegExp): Promise<void>;
  /** Clicks the button, link or field with this name, once it is enabled. */
  press(name: string): Promise<void>;
  /** Clicks the element that the selector finds, once it is enabled. */
  click(selector: string): Promise<void>;
  fill(label: string, text: string): Promise<void>;
  text(): Promise<string>;
  /** Accessibility violations that axe finds, one line each. */
  violations(): Promise<string[]>;
  /** Holds back GET requests whose URL contains `part`. The returned function sends them. */
  hold(part: string): Promise<() => Promise<void>>;
  /** Makes pages wait for all of their responses, however late these are on a busy machine. Later changes are not shown. */
  wait(): Promise<void>;
  /** The parts of this page that moved by themselves, one line each. */
  moved(): Promise<string[]>;
}

/** Pages live for a second. Optimising their scripts and axe takes longer than running them. */
const quickScripts = "--js-flags=--no-maglev,--no-turbofan";

/** Debian's chromium, started once for a file of tests. */
export const openBrowser = (): Promise<Browser> =>
  launch({
    executablePath: inject("chromium"),
    // On a busy machine, a start takes half a minute.
    timeout: 120_000,
    args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", quickScripts],
  });

/** A separate window with its own cookies. */
export async function openTab(browser: Browser, base: string, { width = 1280, dark = false } = {}): Promise<Tab> {
  const context = await browser.createBrowserContext();
  return tabIn(await context.newPage(), base, { width, dark });
}

/** Another tab with the same cookies. */
export const openBeside = async (tab: Tab, base: string): Promise<Tab> =>
  tabIn(await tab.page.browserContext().newPage(), base, { width: 1280, dark: false });

async function tabIn(page: Page, base: string, { width, dark }: { width: number; dark: boolean }): Promise<Tab> {
  const faults: string[] = [];
  page.setDefaultTimeout(60_000);
  page.on("pageerror", (error) => faults.push(String(error)));
  page.on("console", (message) => /Content Security Policy|TrustedHTML/i.test(message.text()) && faults.push(message.text()));
  page.on("dialog", (dialog) => {
    faults.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on("request", (request) => {
    if (!request.url().startsWith(base) && !request.url().startsWith("data:")) faults.push(`request to ${request.url()}`);
  });
  await page.evaluateOnNewDocument(() => {
    const counted = globalThis as unknown as Counted;
    counted.clicksSeen = 0;
    addEventListener("click", () => counted.clicksSeen++, { capture: true });
    counted.moved = [];
    const nameOf = (node: Node | null) => (node?.textContent ?? "").slice(0, 40);
    new PerformanceObserver((list) => {
      for (const { value, sources } of list.getEntries() as unknown as Shift[])
        if (value > 0.002)
          counted.moved.push(`moves by ${value.toFixed(3)} ${sources.map(({ node }) => nameOf(node)).join(" | ")}`);
    }).observe({ type: "layout-shift", buffered: true });
  });
  await page.setBypassCSP(false);
  await page.setViewport({ width, height: 900 });
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: dark ? "dark" : "light" }]);
  const text = () => page.evaluate(() => document.body.textContent ?? "");
  return {
    page,
    faults,
    text,
    open: async (path) => void (await page.goto(base + path, { waitUntil: "load" })),
    sees: async (wanted) => {
      // A background tab neither updates nor paints.
      await page.bringToFront();
      const [source, flags] = typeof wanted === "string" ? [wanted, null] : [wanted.source, wanted.flags];
      const found = (given: string, pattern: string | null) => {
        // A page is hidden until its parts have loaded.
        if (document.querySelector("main > [hidden]")) return false;
        const shown = document.body.textContent ?? "";
        return pattern === null ? shown.includes(given) : new RegExp(given, pattern).test(shown);
      };
      await page.waitForFunction(found, { polling: 100 }, source, flags).catch(async () => {
        throw new Error(`The page at ${page.url()} does not show ${wanted}:\n${(await text()).slice(0, 2_000)}`);
      });
    },
    press: (name) => clickIn(page, `::-p-aria([name="${name}"])`),
    click: (selector) => clickIn(page, selector),
    fill: (label, value) => page.locator(`::-p-aria([name="${label}"])`).fill(value),
    violations: () => violationsOf(page),
    hold: async (part) => {
      const held: HTTPRequest[] = [];
      let holds = true;
      await page.setRequestInterception(true);
      page.on("request", (request) => {
        if (holds && request.method() === "GET" && request.url().includes(part)) held.push(request);
        else void request.continue();
      });
      return async () => {
        holds = false;
        await Promise.all(held.map((request) => request.continue()));
      };
    },
    wait: async () => {
      await page.evaluateOnNewDocument(() => {
        const original = setTimeout;
        globalThis.setTimeout = ((run: () => void, ms = 0) => (ms < 300 ? original(run, ms) : 0)) as typeof setTimeout;
        globalThis.setInterval = (() => 0) as unknown as typeof setInterval;
      });
    },
    moved: () => page.evaluate(() => (globalThis as unknown as Counted).moved),
  };
}

interface Counted {
  clicksSeen: number;
  moved: string[];
}
/** An entry of the browser's layout-shift observer. */
interface Shift {
  readonly value: number;
  readonly sources: readonly { readonly node: Node | null }[];
}

/**
 * Clicks once. On a busy machine, puppeteer may wait for a frame or for the response to an input event until its timeout: then it
 * tries again, unless the page has received the click.
 */
async function clickIn(page: Page, selector: string): Promise<void> {
  const seen = () => page.evaluate(() => [performance.timeOrigin, (globalThis as unknown as Counted).clicksSeen].join());
  const before = await seen();
  for (let left = 3; ; left--) {
    await page.bringToFront();
    const error = await page
      .locator(selector)
      .setTimeout(10_000)
      .click()
      .then(
        () => null,
        (fault: unknown) => fault,
      );
    if (error === null || (await seen()) !== before) return;
    if (left > 1) continue;
    const [state, text] = await page.evaluate(() => [document.visibilityState, document.body.textContent ?? ""] as const);
    throw new Error(`${selector} cannot be clicked at ${page.url()} (${state}): ${error}\n${text.slice(0, 2_000)}`);
  }
}

/** The rules of WCAG 2.2 AA. They run in a separate JavaScript world, to which the page's policy does not apply. */
async function violationsOf(page: Page): Promise<string[]> {
  if (!(await page.evaluate(() => "axe" in globalThis))) await page.evaluate(axe);
  const found = await page.evaluate(async () => {
    const { axe: judge } = globalThis as unknown as { axe: { run(context: unknown, options: unknown): Promise<Result> } };
    const tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];
    return judge.run(document, { runOnly: { type: "tag", values: tags }, resultTypes: ["violations"] });
  });
  return found.violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 160)).join(" | ")}`);
}

interface Result {
  readonly violations: readonly { readonly id: string; readonly nodes: readonly { readonly html: string }[] }[];
}
