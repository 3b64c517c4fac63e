import type { Page } from "puppeteer-core";
import { expect, test } from "vitest";
import { openBeside } from "../harness/browser.ts";
import { eventually, waitForExecutions } from "../harness/wait.ts";
import type { Opened } from "./opened.ts";

/** The first text filter of a list. */
const search = "main input[type=search]";

/** What people need who work with speech input or a screen reader. */
export function assistive(opened: () => Opened): void {
  test("shortcuts can be switched off where they are listed: in every tab, and until they are switched on again", async () => {
    const { world, tab } = opened();
    const { page } = tab;
    const goesToNow = async (page: Page) => {
      await page.keyboard.press("g");
      await page.keyboard.press("n");
      return /\/now$/.test(page.url());
    };
    const choose = async () => {
      await tab.click(".nav-foot button.small");
      await tab.sees("Use these shortcuts in this browser");
      await tab.click("dialog input[type=checkbox]");
      await page.keyboard.press("Escape");
      await page.waitForFunction(() => !document.querySelector("dialog"));
    };
    await tab.open("/console/runs");
    await tab.sees("Shortcuts");
    const beside = await openBeside(tab, world.service.url);
    await beside.open("/console/deliveries");
    await beside.sees("Shortcuts");
    await page.bringToFront();
    await choose();
    await tab.sees("Shortcuts: off");
    expect(await page.$eval("#search", (field) => (field as HTMLInputElement).placeholder)).toBe("Find an issue");
    await beside.sees("Shortcuts: off");
    expect(await goesToNow(beside.page)).toBe(false);
    await page.bringToFront();
    await page.reload();
    await tab.sees("Shortcuts: off");
    expect(await goesToNow(page)).toBe(false);
    await page.keyboard.press("/");
    await page.keyboard.press("?");
    expect(await page.evaluate(() => document.querySelector("dialog, input:focus"))).toBeNull();
    await choose();
    expect(await tab.text()).not.toContain("Shortcuts: off");
    await page.keyboard.press("g");
    await page.keyboard.press("n");
    await page.waitForFunction(() => location.pathname.endsWith("/now"), { polling: 100 });
    await beside.page.close();
  });

  test("a list says how much a changed filter finds, also if it is as much as before, and no more until the next change", async () => {
    const { world, tab, deliver } = opened();
    const { page } = tab;
    /** Everything that the status region of the filters has said. */
    const said = () => page.evaluate(() => (globalThis as unknown as { said: string[] }).said);
    await tab.open("/console/runs");
    await tab.sees("by pm_default");
    expect(await page.$eval(".filters [role=status]", ({ textContent }) => textContent)).toBe("");
    await page.$eval(".filters [role=status]", (region) => {
      const texts: string[] = [];
      Object.assign(globalThis, { said: texts });
      const note = () => texts.push(region.textContent ?? "");
      new MutationObserver(note).observe(region, { childList: true, characterData: true, subtree: true });
    });
    const find = async (words: string) => {
      await page.focus(search);
      await page.$eval(search, (field) => (field as HTMLInputElement).select());
      await page.keyboard.type(words);
      await page.keyboard.press("Enter");
    };
    await find("no run says this");
    await eventually(async () => expect(await said()).toEqual(["0 runs"]));
    await find("nor this");
    await eventually(async () => expect(await said()).toEqual(["0 runs", "", "0 runs"]));
    await page.select("main select", "succeeded");
    await eventually(async () => expect(await said()).toEqual(["0 runs", "", "0 runs", "", "0 runs"]));
    await tab.press("Clear filters");
    await eventually(async () => expect((await said()).at(-1)).toMatch(/^[1-9]\d* runs?$/));
    const before = await said();
    const { body } = await deliver(22, "not announced");
    await waitForExecutions(world.service, { event_id: body.event_id, count: 1 });
    await tab.sees("not announced");
    expect(await said()).toEqual(before);
  });

  test("a filter that is being typed stays as it is while the list changes", async () => {
    const { tab, deliver } = opened();
    await tab.open("/console/runs");
    await tab.sees("by pm_default");
    await tab.page.focus(search);
    await tab.page.keyboard.type("half a");
    await deliver(23, "arrives meanwhile");
    await tab.sees("arrives meanwhile");
    await tab.page.keyboard.type(" word");
    await tab.page.keyboard.press("Enter");
    await tab.sees("No runs match these filters.");
    expect(new URL(tab.page.url()).searchParams.get("q")).toBe("half a word");
  });
}
