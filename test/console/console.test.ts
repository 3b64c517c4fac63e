import { randomBytes } from "node:crypto";
import type { Browser } from "puppeteer-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { allText, type Reply } from "../../examples/demo/chat.ts";
import { issueOpened } from "../harness/alpha-payloads.ts";
import { openBeside, openBrowser, openTab, type Tab } from "../harness/browser.ts";
import { eventually, waitForExecutions } from "../harness/wait.ts";
import { callOf, roundsOf, startWorld, taskOf, textsOf, type World } from "../harness/world.ts";
import { assistive } from "./assistive.ts";
import { everyPage, hostile } from "./every-page.ts";
import { keyboardOnly } from "./keyboard-only.ts";
import { noAnswer } from "./no-answer.ts";
import { type Opened, withApproval } from "./opened.ts";
import { setupPages } from "./setup-pages.ts";
import { shownTexts } from "./shown-texts.ts";

const key = "a-key-for-everything";

/** Makes a run fail permanently; an outage would make it wait. */
const refusal = {
  choices: [{ message: { role: "assistant", content: null, refusal: "scripted fault" }, finish_reason: "stop" }],
};

describe("the console", { tags: ["chromium"] }, () => {
  let world: World;
  let browser: Browser;
  let tab: Tab;
  let mended = false;

  beforeAll(async () => {
    world = await startWorld({
      apiKey: key,
      tasks: ["triage"],
      env: {
        API_KEYS: key,
        EXECUTION_RETRY_LIMIT: "0",
        ENCRYPTION_KEY: randomBytes(32).toString("hex"),
        ALLOW_PRIVATE_ADDRESSES: "127.0.0.0/8",
      },
      script: (request): Reply => {
        if (!mended && /the model is broken/.test(JSON.stringify(request))) return { raw: refusal };
        if (/hostile/.test(JSON.stringify(request.messages)) && roundsOf(request) === 0)
          return callOf("add_comment", request, { body: hostile });
        return {
          content: `Answer of ${taskOf(request)}: ${/hostile/.test(JSON.stringify(request.messages)) ? hostile : "done"}${/ in VOICE \w+/.exec(allText(request, "system"))?.[0] ?? ""}`,
        };
      },
    });
    browser = await openBrowser();
    tab = await openTab(browser, world.service.url);
  });
  afterAll(async () => {
    await browser?.close();
    await world?.[Symbol.asyncDispose]();
  });
  const deliver = (number: number, title: string, body = "") =>
    world.service.webhook(issueOpened({ repo: "octo/app", number, title, body }));
  const opened = (): Opened => ({ world, tab, deliver });

  test("opens with a key, in a cookie that scripts cannot read; without one, changes are not followed", async () => {
    const paths: string[] = [];
    tab.page.on("request", (request) => paths.push(new URL(request.url()).pathname));
    await tab.open("/");
    await tab.fill("API key", "not-a-key-at-all");
    await tab.press("Log in");
    await tab.sees("The API key is not valid");
    expect(paths).toContain("/console/session");
    expect(paths).not.toContain("/api/events");
    await tab.fill("API key", key);
    await tab.press("Log in");
    await tab.sees("Failures by message");
    const [cookie] = await tab.page.browserContext().cookies();
    expect(cookie).toMatchObject({ name: "signalbox_session", httpOnly: true, sameSite: "Strict" });
    expect(cookie?.value).not.toContain(key);
    await eventually(() => paths.includes("/api/events"));
  });

  test("a failing run is found, understood and fixed; its issue shows the path from delivery to comment", async () => {
    await deliver(1, "the model is broken");
    await waitForExecutions(world.service, { count: 1, state: "failed" });
    await tab.open("/console/now");
    await tab.sees("scripted fault");
    await tab.click("main .list a.title");
    await tab.sees("The run failed and will not be retried");
    await tab.sees("restart the run");
    mended = true;
    await tab.press("Restart");
    await tab.sees("resumes after its last finished step");
    await tab.click("dialog button.primary");
    await tab.sees("The agent answered, and the answer was posted.");
    expect(textsOf(world.tracker, "octo/app", 1)).toHaveLength(1);
    await tab.open("/console/issues?q=octo%2Fapp%231");
    await tab.press("the model is broken octo/app#1");
    await tab.sees("the model is broken octo/app#1Fired issue.created");
    await tab.sees("Answer of triage: done");
    await tab.sees("Open the comment");
  });

  test("failed runs are restarted together after a preview; a run is tried with another prompt, answers side by side", async () => {
    mended = false;
    await deliver(2, "the model is broken");
    await waitForExecutions(world.service, { count: 1, state: "failed" });
    mended = true;
    for (const [list, empty] of [
      ["runs?state=failed&q=no+run+says+this", "No runs match these filters."],
      ["runs?state=held", "No runs match these filters."],
      ["deliveries?outcome=discarded&q=no+delivery+says+this", "No deliveries match these filters."],
    ] as const) {
      await tab.open(`/console/${list}`);
      await tab.sees(empty);
      expect(await tab.page.$$(".buttons.lead button")).toEqual([]);
    }
    await tab.open("/console/now");
    await tab.click(".numbers a[href*=finished_from]");
    await tab.press("Restart all");
    expect(tab.page.url()).toMatch(/state=failed&finished_from=\d{4}-/);
    await tab.press("Restart 1 run");
    await tab.sees("triage for octo/app#2");
    await tab.click("dialog button.primary");
    await tab.sees("1 done");
    const done = await waitForExecutions(world.service, { count: 2, state: "succeeded" });
    await tab.open(`/console/run/${done[0]?.id}`);
    await tab.click("details.card summary");
    await tab.fill("Prompt", "You answer in VOICE two.");
    await tab.press("Run as a dry run");
    await tab.sees("Compare runs");
    await tab.sees("done in VOICE two");
    expect(await tab.violations()).toEqual([]);
    expect([1, 2].map((issue) => textsOf(world.tracker, "octo/app", issue).length)).toEqual([1, 1]);
    await tab.click(".compared ::-p-text(dry run)");
  });

  test("a page of another origin cannot write with the cookie, and a read key cannot press", async () => {
    const [cookie] = await tab.page.browserContext().cookies();
    const send = (headers: Record<string, string>) =>
      fetch(`${world.service.url}/api/agents/seed`, {
        method: "POST",
        headers: { cookie: `signalbox_session=${cookie?.value}`, ...headers },
      });
    const own = new URL(world.service.url);
    expect((await send({ "sec-fetch-site": "same-site", origin: "http://127.0.0.1:1" })).status).toBe(403);
    expect((await send({ origin: "http://127.0.0.1:1" })).status).toBe(403);
    expect((await send({})).status).toBe(403);
    expect((await send({ origin: own.origin })).status).toBe(200);
    const made = await world.service.post<{ key: string; id: number }>("/api/keys", { name: "reader", scopes: ["read"] });
    const reader = await openTab(browser, world.service.url);
    await reader.open("/console/agents");
    await reader.fill("API key", made.body.key);
    await reader.press("Log in");
    await reader.sees("Product manager");
    expect(await reader.page.$eval("main form button[type=submit]", (one) => (one as HTMLButtonElement).disabled)).toBe(true);
    await reader.open("/console/settings/keys");
    await reader.sees("Your key does not have access to this page.");
    // The session ends with its key.
    await world.service.del(`/api/keys/${made.body.id}`);
    await reader.open("/console/runs");
    await reader.sees("Log in");
    await reader.page.close();
  });

  test("two tabs: what one does, the other shows; both survive a restart of the service", async () => {
    const other = await openBeside(tab, world.service.url);
    await other.open("/console/runs");
    await tab.open("/console/now");
    await deliver(2, "seen in both");
    await other.sees("octo/app#2");
    await world.service.stop();
    await other.sees("The service is not responding");
    // Once, above the page, not in each of its parts.
    expect(await other.page.$$(".refused")).toEqual([]);
    await world.service.restart();
    await deliver(3, "after the restart");
    await other.sees("octo/app#3");
    await tab.press("Log out");
    await tab.sees("A key with the scope");
    await other.sees("A key with the scope");
    await other.page.close();
    await tab.fill("API key", key);
    await tab.press("Log in");
    await tab.sees("Failures by message");
  });

  test("pause and resume: nothing starts in between", async () => {
    await tab.open("/console/now");
    await tab.press("Pause");
    await tab.fill("Reason", "the tracker is being moved");
    await tab.click("dialog button.danger");
    await tab.sees("Everything is paused: the tracker is being moved");
    await deliver(7, "while paused");
    await tab.open("/console/issue?subject=alpha%3Aocto%2Fapp%237");
    await tab.sees("queued");
    expect(textsOf(world.tracker, "octo/app", 7)).toEqual([]);
    await tab.open("/console/now");
    await tab.press("Resume: Everything");
    await eventually(() => textsOf(world.tracker, "octo/app", 7).length === 1);
  });

  test(
    "a proposal is written once it is approved",
    withApproval(opened, async () => {
      await deliver(8, "wants approval");
      await tab.open("/console/now");
      await tab.sees("Waiting for you");
      await tab.click("main a.title");
      await tab.sees("Proposals");
      expect(textsOf(world.tracker, "octo/app", 8)).toEqual([]);
      await tab.press("Approve");
      await tab.sees("This cannot be undone");
      await tab.click("dialog button.primary");
      await tab.sees("The agent answered, and the answer was posted.");
      expect(textsOf(world.tracker, "octo/app", 8)).toHaveLength(1);
    }),
  );

  test("a page is shown without an answer that is late, and is completed when it comes", async () => {
    const slow = await openBeside(tab, world.service.url);
    const release = await slow.hold("group_by=day");
    await slow.open("/console/cost");
    await slow.sees("BUDGET_MONTH_USD");
    expect(await slow.page.$("main .waiting")).not.toBeNull();
    expect(await slow.text()).not.toContain("median duration");
    await release();
    await slow.sees("median duration");
    // Other answers may be late, too.
    await slow.page.waitForFunction(() => !document.querySelector("main .waiting"), { polling: 100 });
    await slow.page.close();
  });

  test("an issue without events shows what was refused, and a refused write is shown as failed", async () => {
    await world.service.webhook(issueOpened({ repo: "octo/app", number: 404 }), { secret: "wrong" });
    await tab.open("/console/issues?q=octo%2Fapp%23404");
    await tab.sees("Refused in the last day, possibly for this issue");
    await tab.sees("The webhook was refused: header X-Hub-Signature-256");
    world.tracker.fault({ method: "POST", path: "comments", status: 403, times: 1 });
    const { body } = await deliver(405, "the tracker refuses");
    const run = body.executions?.[0]?.id;
    await waitForExecutions(world.service, { event_id: body.event_id, count: 1, state: "failed" });
    await tab.open(`/console/run/${run}`);
    await tab.sees("Post to alpha failed");
    await tab.sees("Give the token write permission on issues");
  });

  keyboardOnly(opened);
  noAnswer(opened);
  assistive(opened);
  setupPages(opened);
  shownTexts(opened);
  everyPage(opened);
});
