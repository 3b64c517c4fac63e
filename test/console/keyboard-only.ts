import type { Page } from "puppeteer-core";
import { expect, test } from "vitest";
import { openBeside } from "../harness/browser.ts";
import { waitForExecutions } from "../harness/wait.ts";
import { textsOf } from "../harness/world.ts";
import { type Opened, withApproval } from "./opened.ts";

const cancelled = "The run was cancelled. It will not post anything.";

/** Whoever has no mouse approves, replays and cancels, sees the focus at each step, and never loses it. */
export function keyboardOnly(opened: () => Opened): void {
  test(
    "keyboard only: a proposal is found, read and approved; the dialog keeps the focus and returns it",
    withApproval(opened, async ({ world, tab, deliver }) => {
      await deliver(20, "approved by keys");
      const { keyboard } = tab.page;
      await tab.open("/console/now");
      await tab.sees("Waiting for you");
      await tabTo(tab.page, "triage");
      await keyboard.press("Enter");
      await tab.sees("Proposals");
      await tabTo(tab.page, "Approve");
      await keyboard.press("Enter");
      await tab.sees("This cannot be undone");
      // More often than there are buttons in the dialog.
      for (let times = 0; times < 6; times++) {
        await keyboard.press("Tab");
        const { isInDialog, isPage, isVisible, name } = await focus(tab.page);
        // After its last button, the focus can be in the browser's own controls.
        expect([isInDialog || isPage, isVisible || isPage], name).toEqual([true, true]);
      }
      await keyboard.press("Escape");
      await returnsTo(tab.page, "Approve");
      await keyboard.press("Enter");
      await tab.sees("This cannot be undone");
      await tabTo(tab.page, "Go back");
      await keyboard.press("Enter");
      await returnsTo(tab.page, "Approve");
      expect(textsOf(world.tracker, "octo/app", 20)).toEqual([]);
      await keyboard.press("Enter");
      await tab.sees("This cannot be undone");
      await keyboard.press("Enter");
      await tab.sees("The agent answered, and the answer was posted.");
      expect(textsOf(world.tracker, "octo/app", 20)).toHaveLength(1);
      // The button is gone, so the focus is in the content and not at the start of the page.
      await returnsTo(tab.page, null);
    }),
  );

  test(
    "keyboard only: a delivery is replayed, and a run that waits is cancelled",
    withApproval(opened, async ({ world, tab }) => {
      const { keyboard } = tab.page;
      await tab.open("/console/deliveries?subject=octo%2Fapp%2320");
      await tab.sees("approved by keys");
      await tabTo(tab.page, "issues opened");
      await keyboard.press("Enter");
      await tab.sees("Replay");
      const first = tab.page.url();
      await tabTo(tab.page, "Replay");
      await keyboard.press("Enter");
      await tab.sees("Dispatches the delivery again as a new one");
      await keyboard.press("Escape");
      await returnsTo(tab.page, "Replay");
      await keyboard.press("Enter");
      await tab.sees("Dispatches the delivery again as a new one");
      await keyboard.press("Enter");
      await tab.sees("Replay of");
      expect(tab.page.url()).not.toBe(first);
      await returnsTo(tab.page, null);
      await tabTo(tab.page, "triage");
      await keyboard.press("Enter");
      await tab.sees("Proposals");
      await tabTo(tab.page, "Cancel run");
      await keyboard.press("Enter");
      await tab.sees("The run stops and posts nothing more.");
      await keyboard.press("Enter");
      await tab.sees(cancelled);
      await returnsTo(tab.page, null);
      const run = new URL(tab.page.url()).pathname.split("/").at(-1);
      expect((await world.service.get(`/api/task-executions/${run}`)).body).toMatchObject({ state: "cancelled" });
      expect(textsOf(world.tracker, "octo/app", 20)).toHaveLength(1);
    }),
  );

  test(
    "keyboard only: an action that is confirmed while its page loads ends with the focus in the content",
    withApproval(opened, async ({ world, tab, deliver }) => {
      const { body } = await deliver(21, "cancelled while the page loads");
      const [run] = await waitForExecutions(world.service, { event_id: body.event_id, count: 1, state: "waiting" });
      const beside = await openBeside(tab, world.service.url);
      const { page } = beside;
      await beside.open(`/console/run/${run?.id}`);
      await beside.sees("Proposals");
      await tabTo(page, "Cancel run");
      // A change makes the page load its data again, and the answer is late.
      const release = await beside.hold(`/api/task-executions/${run?.id}`);
      const loading = page.waitForRequest((request) => request.url().endsWith(`/api/task-executions/${run?.id}`));
      await page.evaluate(() => dispatchEvent(new Event("online")));
      await loading;
      await page.keyboard.press("Enter");
      await beside.sees("The run stops and posts nothing more.");
      const answer = page.waitForResponse((response) => response.url().endsWith("/cancel"));
      await page.keyboard.press("Enter");
      expect((await answer).status()).toBe(200);
      await release();
      await beside.sees(cancelled);
      await returnsTo(page, null);
      await page.close();
    }),
  );

  test("keyboard only: a form and a button without a dialog keep the focus, and so does the way back", async () => {
    const { tab } = opened();
    const { page } = tab;
    await tab.open("/console/routing");
    await tab.sees("What would an event start?");
    const fields = { source: "alpha", event: "issues", action: "opened" };
    for (const [name, value] of Object.entries(fields)) await page.type(`input[name="${name}"]`, value);
    await page.keyboard.press("Enter");
    await tab.sees("Fires issue.created, which starts triage.");
    await page.waitForFunction(() => (document.activeElement as HTMLInputElement | null)?.name === "action");
    await tab.open("/console/settings/audit");
    await tabTo(page, "Check for tampering");
    await page.keyboard.press("Enter");
    await tab.sees("No entries were changed or removed");
    await returnsTo(page, "Check for tampering");
    await tab.open("/console/runs");
    await tabTo(page, "triage");
    await page.keyboard.press("Enter");
    await tab.sees("Where it came from");
    await page.goBack();
    await tab.sees("Agent");
    await page.waitForFunction(() => document.activeElement?.id === "content");
  });

  test("keyboard only: a text is copied where browsers have no clipboard API", async () => {
    const { world, tab } = opened();
    const beside = await openBeside(tab, world.service.url);
    await beside.page.evaluateOnNewDocument(() => {
      Object.defineProperty(navigator, "clipboard", { value: undefined });
      addEventListener("copy", ({ target }) => {
        (globalThis as { copied?: string }).copied = (target as HTMLTextAreaElement).value;
      });
    });
    await beside.open("/console/connections");
    await tabTo(beside.page, "Copy webhook URL");
    await beside.page.keyboard.press("Enter");
    await beside.sees("Copied");
    expect(await beside.page.evaluate(() => (globalThis as { copied?: string }).copied)).toMatch(/\/webhook\/\w+$/);
    await returnsTo(beside.page, "Copied");
    await beside.page.close();
  });
}

/**
 * Presses Tab until the element with this name has the focus, once the page shows it. Each element on the way must show that it has
 * the focus.
 */
async function tabTo(page: Page, name: string): Promise<void> {
  const isShown = (wanted: string) =>
    !document.querySelector("main > [hidden]") &&
    [...document.querySelectorAll("a, button, summary")].some(({ textContent }) => textContent === wanted);
  await page.waitForFunction(isShown, { polling: 100 }, name);
  const passed: string[] = [];
  for (let times = 0; times < 80; times++) {
    await page.keyboard.press("Tab");
    const now = await focus(page);
    passed.push(now.name.slice(0, 30));
    if (!now.isPage) expect(now.isVisible, `the focus on ${now.name}`).toBe(true);
    if (now.name === name) return;
  }
  throw new Error(`Tab does not lead to ${name}: ${passed.join(", ")}`);
}

/** Waits until the dialog is closed and the element with this name has the focus; `null`: any part of the content. */
const returnsTo = (page: Page, name: string | null): Promise<unknown> =>
  page
    .waitForFunction(
      (wanted) => {
        const active = document.activeElement;
        if (document.querySelector("dialog") || !active) return false;
        return wanted === null ? active.closest("main") !== null : active.textContent === wanted;
      },
      { polling: 100 },
      name,
    )
    .catch(async () => {
      throw new Error(`The focus did not return to ${name ?? "the content"}: ${JSON.stringify(await focus(page))}`);
    });

interface Focus {
  readonly name: string;
  readonly isPage: boolean;
  readonly isInDialog: boolean;
  readonly isVisible: boolean;
}
const focus = (page: Page): Promise<Focus> =>
  page.evaluate(() => {
    const active = document.activeElement ?? document.body;
    const { outlineStyle, outlineWidth, boxShadow } = getComputedStyle(active);
    const { top, bottom, width } = active.getBoundingClientRect();
    const isMarked = (outlineStyle !== "none" && Number.parseFloat(outlineWidth) >= 1) || boxShadow !== "none";
    return {
      name: active.textContent ?? "",
      isPage: active === document.body || active === document.documentElement,
      isInDialog: active.closest("dialog") !== null,
      isVisible: isMarked && width > 0 && bottom > 0 && top < innerHeight,
    };
  });
