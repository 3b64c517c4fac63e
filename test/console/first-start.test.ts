import type { Browser, HTTPRequest } from "puppeteer-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startModel } from "../../examples/demo/model.ts";
import { startTracker, type Tracker } from "../../examples/demo/tracker.ts";
import { issueOpened } from "../harness/alpha-payloads.ts";
import { openBrowser, openTab, type Tab } from "../harness/browser.ts";
import { type Service, startService } from "../harness/service.ts";
import { eventually, waitForExecutions } from "../harness/wait.ts";
import { login, surroundings, textsOf, token } from "../harness/world.ts";

/** Without keys, agents and mappings, behind a proxy under a path. */
describe("the first start", { tags: ["chromium"] }, () => {
  let tracker: Tracker;
  let model: Awaited<ReturnType<typeof startModel>>;
  let service: Service;
  let browser: Browser;
  let tab: Tab;

  beforeAll(async () => {
    tracker = await startTracker({ token, login, autoCreate: true });
    model = await startModel();
    const env = { ...surroundings(tracker, model), PUBLIC_URL: "http://localhost/box" };
    service = await startService({ env });
    browser = await openBrowser();
    tab = await openTab(browser, service.url);
  });
  afterAll(async () => {
    await browser?.close();
    await Promise.all([tracker?.close(), model?.close()]);
    await service?.close();
  });

  test("the first steps lead to the first comment", async () => {
    await tab.open("/box/");
    await tab.sees("First steps");
    await tab.sees("Connected: alpha");
    await tab.sees(/Connect a model\S+ answers\. Test it/);
    await tab.press("Create defaults");
    await tab.sees("Creates five agents");
    await tab.click("dialog label ::-p-text(Closes:)");
    await tab.click("dialog button.primary");
    await tab.page.waitForFunction(() => !document.querySelector("dialog"), { polling: 100 });
    const mapped = (await service.get<{ canonical_trigger: string }[]>("/api/tasks/triggers?limit=1000")).body;
    expect([...new Set(mapped.map((one) => one.canonical_trigger))].sort()).toEqual([
      "issue.closed",
      "issue.created",
      "issue.updated",
      "pr.closed",
      "pr.merged",
      "pr.opened",
    ]);
    await tab.press("Start runs for more events");
    await tab.sees("Comments: an agent interprets");
    await tab.click("dialog button.quiet");
    await tab.press("Send test event");
    await tab.sees("Sends “issue opened”");
    await tab.click("dialog button.primary");
    await tab.sees("issue.created");
    expect(new URL(tab.page.url()).pathname).toMatch(/^\/box\/console\/delivery\//);
    await tab.press("Test event from the Signalbox console octo/app#1");
    await tab.sees("Written by the scripted demo model");
    await tab.sees("Open the comment");
    expect(await tab.page.title()).toBe("Test event from the Signalbox console · octo/app#1 · Signalbox");
    await eventually(() => expect(textsOf(tracker, "octo/app", 1)).toHaveLength(2));
    await tab.open("/box/console/now");
    await tab.sees("Failures by message");
    expect(await tab.text()).not.toContain("First steps");
    expect(tab.faults).toEqual([]);
  });

  test("keyboard only: search, go, open and close", async () => {
    await tab.open("/box/console/now");
    await tab.sees("Failures by message");
    await tab.page.keyboard.press("g");
    await tab.page.keyboard.press("r");
    await tab.sees("octo/app#1");
    await tab.page.keyboard.press("/");
    await tab.page.keyboard.type("no such words");
    await tab.page.keyboard.press("Enter");
    await tab.sees("No runs match these filters.");
    expect(tab.page.url()).toContain("q=no+such+words");
    await tab.page.keyboard.press("Tab");
    await tab.page.evaluate(() => (document.activeElement as HTMLElement).blur());
    await tab.page.keyboard.press("?");
    await tab.sees("Show this list");
    await tab.page.keyboard.press("Escape");
    await tab.page.waitForFunction(() => !document.querySelector("dialog"));
  });

  test("keyboard only: a run is opened, everything is paused and resumed", async () => {
    const { keyboard } = tab.page;
    const focused = () => tab.page.evaluate(() => document.activeElement?.textContent ?? "");
    const tabTo = async (name: string) => {
      const passed: string[] = [];
      while (passed.at(-1) !== name && passed.length < 80) {
        await keyboard.press("Tab");
        passed.push(await focused());
      }
      expect(passed.at(-1), passed.join(", ")).toBe(name);
      await keyboard.press("Enter");
    };
    await tab.open("/box/console/runs?subject=octo%2Fapp%231&task_id=triage_initial_intent");
    await tab.sees("Test event from the Signalbox console");
    await tabTo("Skip to content");
    await tabTo("triage_initial_intent");
    await tab.sees("The agent answered, and the answer was posted.");
    await keyboard.press("g");
    await keyboard.press("n");
    await tab.sees("Failures by message");
    await tabTo("Pause");
    await tab.sees("Webhooks are still accepted and stored.");
    await keyboard.press("Tab");
    await keyboard.type("by keys");
    await tabTo("Pause");
    await tab.sees("Everything is paused: by keys");
    await tabTo("Resume");
    await tab.page.waitForFunction(() => !document.querySelector(".paused"), { polling: 100 });
  });

  test("the webhook has the public address, not the one that the console was opened at", async () => {
    await tab.open("/box/console/connections");
    await tab.sees("http://localhost/box/webhook/alpha");
    await tab.press("Set up webhook: GitHub");
    await tab.fill("Project on GitHub", "octo/app");
    await tab.click("dialog button.primary");
    await tab.sees("The webhook was created on GitHub.");
    const answer = await fetch(`${tracker.url}/repos/octo/app/hooks`, { headers: { authorization: `Bearer ${token}` } });
    expect(await answer.json()).toMatchObject([{ config: { url: "http://localhost/box/webhook/alpha" } }]);
  });

  test("a page that stays open during much work does not grow", async () => {
    await tab.open("/box/console/runs");
    const session = await tab.page.createCDPSession();
    const size = async () => {
      await session.send("HeapProfiler.collectGarbage");
      const { Nodes = 0, JSEventListeners = 0 } = await tab.page.metrics();
      return Nodes + JSEventListeners;
    };
    const open = (number: number) => service.webhook(issueOpened({ repo: "octo/busy", number }));
    const work = async (first: number) => {
      await Promise.all(Array.from({ length: 29 }, (_, n) => open(first + n)));
      const { body } = await open(first + 29);
      await waitForExecutions(service, { event_id: body.event_id, count: 2 });
      await eventually(async () => {
        const { queue } = (await service.get<{ queue: { queued: number; running: number } }>("/api/status")).body;
        return queue.queued + queue.running === 0;
      });
      await tab.sees(`octo/busy#${first + 29}`);
    };
    // After that, one page of the list is full, and all of its rows have been replaced: the browser keeps those before.
    await work(1);
    await work(31);
    const full = await size();
    await work(61);
    // The states of rows differ by a few nodes; rows that are not removed would double them.
    await eventually(async () => (await size()) < full * 1.1, { timeout: 20_000 });
  });

  test("the page names its files by their content, sends no more than 100 KB, and calls nothing else", async () => {
    const answer = await fetch(`${service.url}/`, { headers: { accept: "text/html" } });
    expect(answer.headers.get("content-security-policy")).toMatch(/default-src 'none'.*script-src 'self'/);
    expect(answer.headers.get("x-frame-options")).toBe("DENY");
    const html = await answer.text();
    expect(html).not.toMatch(/<script(?![^>]* src=)|<style|style=|onload/);
    const fresh = await openTab(browser, service.url);
    const sizes: number[] = [];
    fresh.page.on("response", async (response) => {
      if (/\/assets\//.test(response.url())) {
        expect(response.headers()["cache-control"]).toContain("immutable");
        sizes.push(Number(response.headers()["content-length"]));
      }
    });
    await fresh.open("/box/console/issue?subject=alpha%3Aocto%2Fnone%231");
    await fresh.sees("No deliveries");
    expect(sizes.length).toBeGreaterThan(2);
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(100_000);
    expect(await (await fetch(`${service.url}/`)).json()).toMatchObject({ service: "signalbox", console: "/box/console" });
    expect((await fetch(`${service.url}/console/assets/none.js`)).status).toBe(404);
  });

  test("the first key closes the service, and the page continues with it", async () => {
    await tab.open("/box/console/settings/keys");
    await tab.fill("Name", "mine");
    const logIn = await held(tab, (request) => request.method() === "POST" && request.url().endsWith("/console/session"));
    await tab.press("Create key");
    await logIn.arrived;
    // All requests of the page before the login are refused.
    await tab.page.evaluate(() => dispatchEvent(new Event("online")));
    await tab.sees("You stay logged in for 8 hours");
    await logIn.goOn();
    await tab.sees(/It is shown only once:sbx_[\w-]{43}/);
    await tab.sees("mine: full access");
    expect((await fetch(`${service.url}/api/agents`)).status).toBe(401);
    await tab.open("/box/console/now");
    await tab.open("/box/console/settings/keys");
    await tab.sees("New key");
    expect(await tab.text()).not.toContain("It is shown only once");
  });
});

/** Holds the first request of a kind back from the service until `goOn`. */
async function held({ page }: Tab, isMeant: (request: HTTPRequest) => boolean) {
  const { promise: arrived, resolve } = Promise.withResolvers<HTTPRequest>();
  await page.setRequestInterception(true);
  page.on("request", (request) => (isMeant(request) ? resolve(request) : void request.continue()));
  return {
    arrived,
    goOn: async () => {
      await (await arrived).continue();
      page.removeAllListeners("request");
      await page.setRequestInterception(false);
    },
  };
}
