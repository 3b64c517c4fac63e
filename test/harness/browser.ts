import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { type Browser, launch, type Page } from "puppeteer-core";
import { inject } from "vitest";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

export interface Tab {
  readonly page: Page;
  /** Errors of scripts, refusals of the content policy, and requests to other hosts. */
  readonly faults: string[];
  open(path: string): Promise<void>;
  /** Waits until the page shows the text. */
  sees(text: string | RegExp): Promise<void>;
  /** Presses the button, link or field with this name, once it can be pressed. */
  press(name: string): Promise<void>;
  fill(label: string, text: string): Promise<void>;
  text(): Promise<string>;
  /** What axe objects to, one line each. */
  violations(): Promise<string[]>;
}

/** Debian's chromium; one for a file of tests. */
export const openBrowser = (): Promise<Browser> =>
  launch({ executablePath: inject("chromium"), args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"] });

/** A window of its own, with its own cookies. */
export async function openTab(browser: Browser, base: string, { width = 1280, dark = false } = {}): Promise<Tab> {
  const context = await browser.createBrowserContext();
  return tabIn(await context.newPage(), base, { width, dark });
}

/** Another tab with the same cookies. */
export const openBeside = async (tab: Tab, base: string): Promise<Tab> =>
  tabIn(await tab.page.browserContext().newPage(), base, { width: 1280, dark: false });

async function tabIn(page: Page, base: string, { width, dark }: { width: number; dark: boolean }): Promise<Tab> {
  const faults: string[] = [];
  page.setDefaultTimeout(20_000);
  page.on("pageerror", (error) => faults.push(String(error)));
  page.on("console", (message) => /Content Security Policy|TrustedHTML/i.test(message.text()) && faults.push(message.text()));
  page.on("dialog", (dialog) => {
    faults.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on("request", (request) => {
    if (!request.url().startsWith(base) && !request.url().startsWith("data:")) faults.push(`request to ${request.url()}`);
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
      // A tab behind another one neither updates nor paints.
      await page.bringToFront();
      const [source, flags] = typeof wanted === "string" ? [wanted, null] : [wanted.source, wanted.flags];
      const found = (given: string, pattern: string | null) =>
        pattern === null
          ? (document.body.textContent ?? "").includes(given)
          : new RegExp(given, pattern).test(document.body.textContent ?? "");
      await page.waitForFunction(found, { polling: 100 }, source, flags).catch(async () => {
        throw new Error(`The page at ${page.url()} does not show ${wanted}:\n${(await text()).slice(0, 2_000)}`);
      });
    },
    press: async (name) => {
      await page.bringToFront();
      await page.locator(`::-p-aria([name="${name}"])`).click();
    },
    fill: (label, value) => page.locator(`::-p-aria([name="${label}"])`).fill(value),
    violations: () => violationsOf(page),
  };
}

/** The rules of WCAG 2.2 AA. They are run in a world of their own, which the page's policy does not bind. */
async function violationsOf(page: Page): Promise<string[]> {
  await page.evaluate(axe);
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
