import { expect, test } from "vitest";
import { openBeside, type Tab } from "../harness/browser.ts";
import { eventually, waitForExecutions } from "../harness/wait.ts";
import { textsOf } from "../harness/world.ts";
import type { Opened } from "./opened.ts";

/** The pages that the navigation leads to. */
const pages = [
  "now",
  "issues",
  "runs",
  "deliveries",
  "agents",
  "routing",
  "connections",
  "plugins",
  "memory",
  "cost",
  "settings",
];
const settings = ["settings/keys", "settings/storage", "settings/configuration", "settings/audit"];
/** What a stranger may write anywhere: none of it may run, load anything or turn the text round. */
export const hostile = `<img src=x onerror=alert(1)><script>alert(2)</script>[a](javascript:alert(3)) ![b](https://evil.example/x.png) <svg onload=alert(4)> \u202Egnp.exe <a href="data:text/html,<script>alert(5)</script>">c</a>`;

/** The path of a webhook, which the reason of the refusal repeats. It looks like a time and is none. */
const noTime = "2026-99-99T99:99:99Z";

/** What holds for every page: hostile content stays text, and the page is accessible and fits the screen. */
export function everyPage(opened: () => Opened): void {
  test("hostile content is text on every page", async () => {
    const { world, tab, deliver } = opened();
    await world.service.put("/api/agents/pm_default", { name: hostile.slice(0, 200), description: hostile });
    await world.service.put("/api/tasks/triage", { name: hostile.slice(0, 100), description: hostile });
    await world.service.post("/api/projects", {
      name: hostile.slice(0, 200),
      source: "alpha",
      source_project_id: "octo/hostile",
    });
    await world.service.post("/api/integrations", {
      source: "alpha",
      name: hostile.slice(0, 200),
      credentials: { token: "t".repeat(20) },
    });
    await world.service.post("/api/keys", { name: hostile.slice(0, 100), scopes: ["read"] });
    await world.service.post("/api/memory", { key: hostile.slice(0, 60), content: hostile, scope: "organizational" });
    await deliver(4, `hostile ${hostile}`, `${hostile} ${"x".repeat(1_000_000)}`);
    await eventually(async () => textsOf(world.tracker, "octo/app", 4).length === 2);
    const runs = await world.service.get<{ id: string; event_id: string }[]>("/api/task-executions?subject=octo%2Fapp%234");
    const [run] = await waitForExecutions(world.service, { event_id: runs.body[0]?.event_id ?? "" });
    const steps = [0, 1, 2, 3, 4].map((step) => `run/${run?.id}?step=${step}`);
    const own = [`issue?subject=alpha%3Aocto%2Fapp%234`, `delivery/${run?.event_id}`, "agent/pm_default", ...steps];
    const searches = [`memory?key=${encodeURIComponent(hostile.slice(0, 60))}`, `issues?q=${encodeURIComponent(hostile)}`];
    // A stranger needs no secret for this.
    await fetch(`${world.service.url}/webhook/${noTime}`, { method: "POST", body: "{}" });
    await eventually(async () => {
      const { body } = await world.service.get<{ reason: string }[]>("/api/webhook-events?outcome=refused");
      return body.some(({ reason }) => reason.includes(noTime));
    });
    // Words that are longer than the screen, in a reason that people write and in a title.
    await world.service.post("/api/pause", { scope: "agent", id: "pm_default", reason: `${hostile} ${"w".repeat(300)}` });
    await deliver(6, `${"t".repeat(300)} ${hostile}`);
    const waiting = "issue?subject=alpha%3Aocto%2Fapp%236";
    for (const path of [
      ...pages,
      ...settings,
      ...own,
      waiting,
      ...searches,
      "deliveries?outcome=refused",
      "cost?days=x&by=x",
      `compare/${run?.id}?with=${run?.id}`,
    ]) {
      for (const width of [360, 1280]) {
        await tab.page.setViewport({ width, height: 900 });
        await tab.open(`/console/${path}`);
        await tab.page.waitForFunction(() => document.querySelector("main h1") && !document.querySelector(".waiting"));
        const wide = await tab.page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
        expect(wide, `${path} at ${width} px is wider than the screen`).toBeLessThanOrEqual(0);
      }
      const made = "main img, main script, main iframe, main svg[onload], main a[href^='javascript'], main a[href^='data']";
      expect(await tab.page.$$(made), path).toEqual([]);
      expect(await tab.text(), path).not.toContain("could not be displayed");
    }
    await world.service.post("/api/resume", { scope: "agent", id: "pm_default" });
    await eventually(async () => textsOf(world.tracker, "octo/app", 6).length === 1);
    await tab.open("/console/deliveries?outcome=refused");
    await tab.sees(`There is no webhook "${noTime}"`);
    await tab.open(`/console/issue?subject=alpha%3Aocto%2Fapp%234`);
    await tab.sees("‹U+202E›gnp.exe");
    await tab.open(`/console/delivery/${run?.event_id}`);
    await tab.press("Show");
    await tab.sees(/Show all [\d,]{7,} characters/);
    expect(await tab.page.$$("main img, main script, main iframe, main a[href^='javascript'], main a[href^='data']")).toEqual([]);
    expect(tab.faults).toEqual([]);
  });

  // Each page is loaded once for both: the colours change in place, as on a device in the evening.
  test.each([1280, 360])(
    "light and dark, %i px: axe objects to nothing, nothing is wider than the screen, nothing moves while a page loads or changes its colours",
    async (width) => {
      const { world, tab } = opened();
      const seen = await openBeside(tab, world.service.url);
      await seen.page.setViewport({ width, height: 900 });
      await seen.wait();
      const runs = await world.service.get<{ id: string; event_id: string }[]>("/api/task-executions?subject=octo%2Fapp%231");
      const [one] = runs.body;
      const own = [
        `run/${one?.id}?step=1`,
        `delivery/${one?.event_id}`,
        "issue?subject=alpha%3Aocto%2Fapp%231",
        "agent/pm_default",
      ];
      const bad: string[] = [];
      let theme: "light" | "dark" = "light";
      const show = (next: "light" | "dark") => {
        theme = next;
        return seen.page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: theme }]);
      };
      for (const path of [...pages, ...settings, ...own]) {
        await seen.open(`/console/${path}`);
        await seen.page.waitForFunction(() => document.querySelector("main h1") && !document.querySelector(".waiting"));
        for (const name of await repeatedNames(seen)) bad.push(`${path}: several buttons have the name ${name}`);
        // It is loaded in the colours that the page before ended with.
        for (const next of [theme, theme === "light" ? "dark" : "light"] as const) {
          await show(next);
          for (const fault of await faultsOf(seen)) bad.push(`${path}, ${theme}: ${fault}`);
          const folder = process.env.TEST_PICTURES;
          const name = `${path.replaceAll(/\W+/g, "-").slice(0, 40)}-${theme}-${width}`;
          if (folder) await seen.page.screenshot({ path: `${folder}/${name}.png` as `${string}.png`, fullPage: true });
        }
        for (const one of await seen.moved()) bad.push(`${path}: ${one}`);
      }
      expect(bad).toEqual([]);
      await seen.page.close();
    },
  );
}

/** What does not fit on the screen, and what axe objects to. */
async function faultsOf(seen: Tab): Promise<string[]> {
  const wide = await seen.page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
  // A table is read from top to bottom on a phone, not sideways.
  const tables = await seen.page.$$eval(".scroll", (all) => all.filter((one) => one.scrollWidth > one.clientWidth).length);
  return [
    ...(wide > 0 ? [`${wide} px too wide`] : []),
    ...(tables > 0 ? [`${tables} tables scroll sideways`] : []),
    ...(await seen.violations()),
  ];
}

/** The names that several buttons in rows of the page have: without its row, none of them says what it is about. */
async function repeatedNames({ page }: Tab): Promise<string[]> {
  const names = await page.$$eval("main :is(li, tr, .banner) :is(button, summary)", (all) =>
    all.map((one) => one.ariaLabel ?? one.textContent ?? ""),
  );
  return names.filter((name, index) => names.indexOf(name) !== index);
}
