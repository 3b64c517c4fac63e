import { randomBytes } from "node:crypto";
import type { Browser } from "puppeteer-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { allText, type Reply } from "../../examples/demo/chat.ts";
import { issueOpened } from "../harness/alpha-payloads.ts";
import { openBeside, openBrowser, openTab, type Tab } from "../harness/browser.ts";
import { eventually, waitForExecutions } from "../harness/wait.ts";
import { callOf, roundsOf, startWorld, taskOf, textsOf, type World } from "../harness/world.ts";
import { hostile, pages, settings } from "./pages.ts";

const key = "a-key-for-everything";

/** Fails a run for good: an outage would be waited for. */
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

  test("opens with a key, in a cookie that scripts cannot read", async () => {
    await tab.open("/");
    await tab.fill("API key", "not-a-key-at-all");
    await tab.press("Log in");
    await tab.sees("The API key is not valid");
    await tab.fill("API key", key);
    await tab.press("Log in");
    await tab.sees("Failures by message");
    const [cookie] = await tab.page.browserContext().cookies();
    expect(cookie).toMatchObject({ name: "signalbox_session", httpOnly: true, sameSite: "Strict" });
    expect(cookie?.value).not.toContain(key);
  });

  test("a failing run is found, understood and fixed; its issue shows the path from delivery to comment", async () => {
    await deliver(1, "the model is broken");
    await waitForExecutions(world.service, { count: 1, state: "failed" });
    await tab.open("/console/now");
    await tab.sees("scripted fault");
    await tab.click("main .list a.title");
    await tab.sees("The run ended with an error");
    await tab.sees("restart the run");
    mended = true;
    await tab.press("Restart");
    await tab.sees("resumes after its last finished step");
    await tab.click("dialog button.primary");
    await tab.sees("The agent has answered, and the answer is posted.");
    expect(textsOf(world.tracker, "octo/app", 1)).toHaveLength(1);
    await tab.open("/console/issues?q=octo%2Fapp%231");
    await tab.press("octo/app#1");
    await tab.sees("Fired issue.created");
    await tab.sees("Answer of triage: done");
    await tab.sees("Open the comment");
  });

  test("failed runs are restarted together after a preview; a run is tried with another prompt, answers side by side", async () => {
    mended = false;
    await deliver(2, "the model is broken");
    await waitForExecutions(world.service, { count: 1, state: "failed" });
    mended = true;
    await tab.open("/console/runs?state=failed");
    await tab.press("Restart all");
    await tab.press("Restart all: 1");
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
    await reader.sees("Your key may not see this.");
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
    await other.sees("The service does not answer");
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
    await tab.fill("Why", "the tracker is being moved");
    await tab.click("dialog button.danger");
    await tab.sees("Everything is paused: the tracker is being moved");
    await deliver(7, "while paused");
    await tab.open("/console/issue?subject=alpha%3Aocto%2Fapp%237");
    await tab.sees("queued");
    expect(textsOf(world.tracker, "octo/app", 7)).toEqual([]);
    await tab.open("/console/now");
    await tab.press("Resume");
    await eventually(() => textsOf(world.tracker, "octo/app", 7).length === 1);
  });

  test("a proposal is written once it is approved", async () => {
    await world.service.put("/api/agents/pm_default", { policy: { approve: ["comment"] } });
    await deliver(8, "wants approval");
    await tab.open("/console/now");
    await tab.sees("Waiting for you");
    await tab.click("main a.title");
    await tab.sees("Proposals");
    expect(textsOf(world.tracker, "octo/app", 8)).toEqual([]);
    await tab.press("Approve");
    await tab.sees("This cannot be undone");
    await tab.click("dialog button.primary");
    await tab.sees("The agent has answered, and the answer is posted.");
    expect(textsOf(world.tracker, "octo/app", 8)).toHaveLength(1);
    await world.service.put("/api/agents/pm_default", { policy: {} });
  });

  test("keyboard only: search, go, open and close", async () => {
    await tab.open("/console/now");
    await tab.sees("Failures by message");
    await tab.page.keyboard.press("g");
    await tab.page.keyboard.press("r");
    await tab.sees("octo/app#8");
    await tab.page.keyboard.press("/");
    await tab.page.keyboard.type("no such words");
    await tab.page.keyboard.press("Enter");
    await tab.sees("No run matches these filters.");
    expect(tab.page.url()).toContain("q=no+such+words");
    await tab.page.keyboard.press("Tab");
    await tab.page.evaluate(() => (document.activeElement as HTMLElement).blur());
    await tab.page.keyboard.press("?");
    await tab.sees("This list");
    await tab.page.keyboard.press("Escape");
    await tab.page.waitForFunction(() => !document.querySelector("dialog"));
  });

  test("an issue without events shows what was refused, and a refused write is shown as failed", async () => {
    await world.service.webhook(issueOpened({ repo: "octo/app", number: 404 }), { secret: "wrong" });
    await tab.open("/console/issues?q=octo%2Fapp%23404");
    await tab.sees("Refused in the last day, perhaps about this issue");
    await tab.sees("The webhook was refused: header X-Hub-Signature-256");
    world.tracker.fault({ method: "POST", path: "comments", status: 403, times: 1 });
    const { body } = await deliver(405, "the tracker refuses");
    const run = body.executions?.[0]?.id;
    await waitForExecutions(world.service, { event_id: body.event_id, count: 1, state: "failed" });
    await tab.open(`/console/run/${run}`);
    await tab.sees("Post to alpha failed");
    await tab.sees("Give the token write permission on issues");
  });

  test("a pasted payload is explained, and other text is refused with a reason", async () => {
    await tab.open("/console/routing");
    await tab.sees("What would this payload start?");
    await tab.fill("Source or integration", "alpha");
    await tab.fill("Event header", "issues");
    await tab.fill("Payload", "{ no");
    await tab.press("Explain");
    await tab.sees("The payload is not JSON");
    await tab.fill("Payload", JSON.stringify(issueOpened({ repo: "octo/app", number: 40, title: "pasted" })));
    await tab.press("Explain");
    await tab.sees("It would start triage.");
    await tab.sees("the event is mapped to issue.created");
    await tab.fill("Payload", JSON.stringify({ ...issueOpened({ repo: "octo/app", number: 40 }), action: "pinned" }));
    await tab.press("Explain");
    await tab.sees("no source event mapping");
    expect((await world.service.get<unknown[]>("/api/webhook-events?subject=octo%2Fapp%2340")).body).toEqual([]);
  });

  test("what is stored about an issue is counted, then erased", async () => {
    await deliver(41, "to be erased");
    await eventually(async () => textsOf(world.tracker, "octo/app", 41).length === 1);
    await tab.open("/console/settings/storage");
    await tab.sees("Erase what is stored");
    await tab.fill("Which", "octo/app#41");
    await tab.press("Count what would be erased");
    await tab.sees("octo/app#41: 1 delivery, 1 run");
    await tab.press("Erase");
    await tab.sees("It cannot be undone");
    expect(await tab.violations()).toEqual([]);
    await tab.click("dialog button.danger");
    await tab.sees("Erased: 1 delivery, 1 run");
    const { body } = await world.service.get<{ result: string | null }[]>(
      "/api/task-executions?subject=octo%2Fapp%2341&fields=result",
    );
    expect(body).toMatchObject([{ result: null }]);
  });

  test("the settings in effect, the budgets, and where a memory is used", async () => {
    await tab.open("/console/settings/configuration?q=ALPHA_TOKEN");
    await tab.sees(/ALPHA_TOKEN.*\*{8}.*the environment/);
    await tab.open("/console/cost");
    await tab.sees("BUDGET_MONTH_USD");
    await world.service.post("/api/memory", { key: "gondola", content: "The gondola sinks in rain.", scope: "organizational" });
    await deliver(42, "gondola", "The gondola sinks in rain.");
    await eventually(async () => textsOf(world.tracker, "octo/app", 42).length === 1);
    await tab.open("/console/memory?key=gondola");
    await tab.sees(/Where it is used.*triage.*octo\/app#42/);
    expect(await tab.violations()).toEqual([]);
    const [run] = (await world.service.get<{ id: string }[]>("/api/task-executions?subject=octo%2Fapp%2342")).body;
    await tab.open(`/console/run/${run?.id}`);
    await tab.sees("Memories in the prompt: gondola");
    await world.service.del("/api/memory/gondola");
  });

  test("a prompt is tried on the last issues of an agent", async () => {
    await tab.open("/console/agent/pm_default");
    await tab.sees("Try a prompt on the last issues");
    await tab.click("details.card summary");
    await tab.fill("Prompt to try", "You answer in VOICE four.");
    await tab.press("Run as dry runs");
    await tab.sees(/octo\/app#42: both answers side by side.*VOICE four/);
    expect(await tab.violations()).toEqual([]);
    expect(textsOf(world.tracker, "octo/app", 42)).toHaveLength(1);
  });

  test("a stored account is tested, and a refused credential is named", async () => {
    const credentials = { token: "not-the-token", api_url: world.tracker.url };
    const made = await world.service.post<{ id: string }>("/api/integrations", {
      source: "alpha",
      name: "Second bot",
      credentials,
    });
    expect(made.status).toBe(201);
    await tab.open("/console/connections");
    await tab.sees("Second bot");
    await tab.page.evaluate(() => {
      const row = [...document.querySelectorAll("li")].find((one) => one.textContent?.includes("Second bot"));
      [...(row?.querySelectorAll("button") ?? [])].find(({ textContent }) => textContent === "Test")?.click();
    });
    await tab.sees(/It does not work: .*401/);
    await tab.sees("requests left");
    expect(await tab.violations()).toEqual([]);
    const confirm = () => tab.click("dialog[open] .buttons button:first-child");
    await tab.press("Rotate secret");
    await tab.sees("A new webhook secret is generated and shown once.");
    await confirm();
    await tab.sees("The new webhook secret is shown only once.");
    const secret = await tab.page.$eval(".new-key code", ({ textContent }) => textContent ?? "");
    const signed = () => world.service.webhook(issueOpened({ repo: "octo/app", number: 78 }), { slug: made.body.id, secret });
    expect((await signed()).status).toBe(202);
    await tab.press("Rotate secret");
    await confirm();
    await tab.press("Drop the previous secret");
    await tab.sees("Webhooks that are still signed with it are refused.");
    expect((await signed()).status).toBe(202);
    await confirm();
    await eventually(async () => (await signed()).status === 401);
    expect(await tab.violations()).toEqual([]);
    await tab.open("/console/routing");
    await tab.sees(/issue\.created [\d,]+ hits/);
    await world.service.del(`/api/integrations/${made.body.id}`);
  });

  test("hostile content is text on every page", async () => {
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
    await eventually(async () => textsOf(world.tracker, "octo/app", 4).length === 2, { timeout: 20_000 });
    const runs = await world.service.get<{ id: string; event_id: string }[]>("/api/task-executions?subject=octo%2Fapp%234");
    const [run] = await waitForExecutions(world.service, { event_id: runs.body[0]?.event_id ?? "" });
    const steps = [0, 1, 2, 3, 4].map((step) => `run/${run?.id}?step=${step}`);
    const own = [`issue?subject=alpha%3Aocto%2Fapp%234`, `delivery/${run?.event_id}`, "agent/pm_default", ...steps];
    const opened = [`memory?key=${encodeURIComponent(hostile.slice(0, 60))}`, `issues?q=${encodeURIComponent(hostile)}`];
    for (const path of [...pages, ...settings, ...own, ...opened, `compare/${run?.id}?with=${run?.id}`]) {
      await tab.open(`/console/${path}`);
      await tab.page.waitForFunction(() => document.querySelector("main h1") && !document.querySelector(".waiting"));
      const made = "main img, main script, main iframe, main svg[onload], main a[href^='javascript'], main a[href^='data']";
      expect(await tab.page.$$(made), path).toEqual([]);
    }
    await tab.open(`/console/issue?subject=alpha%3Aocto%2Fapp%234`);
    await tab.sees("‹U+202E›gnp.exe");
    await tab.open(`/console/delivery/${run?.event_id}`);
    await tab.press("Show");
    await tab.sees(/Show all [\d,]{7,} characters/);
    expect(await tab.page.$$("main img, main script, main iframe, main a[href^='javascript'], main a[href^='data']")).toEqual([]);
    expect(tab.faults).toEqual([]);
  });

  test.each([
    ["light", 1280],
    ["dark", 1280],
    ["light", 360],
    ["dark", 360],
  ] as const)(
    "%s, %i px: axe objects to nothing, nothing is wider than the screen, nothing moves while a page loads",
    async (theme, width) => {
      const seen = await openBeside(tab, world.service.url);
      await seen.page.setViewport({ width, height: 900 });
      await seen.page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: theme }]);
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
      for (const path of [...pages, ...settings, ...own]) {
        await seen.open(`/console/${path}`);
        await seen.page.waitForFunction(() => document.querySelector("main h1") && !document.querySelector(".waiting"));
        const wide = await seen.page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
        if (wide > 0) bad.push(`${path}: ${wide} px too wide`);
        // A table is read from top to bottom on a phone, not sideways.
        const tables = await seen.page.$$eval(".scroll", (all) => all.filter((one) => one.scrollWidth > one.clientWidth).length);
        if (tables > 0) bad.push(`${path}: ${tables} tables scroll sideways`);
        for (const one of [...(await seen.violations()), ...(await seen.moved())]) bad.push(`${path}: ${one}`);
        const folder = process.env.TEST_PICTURES;
        const name = `${path.replaceAll(/\W+/g, "-").slice(0, 40)}-${theme}-${width}`;
        if (folder) await seen.page.screenshot({ path: `${folder}/${name}.png` as `${string}.png`, fullPage: true });
      }
      expect(bad).toEqual([]);
      await seen.page.close();
    },
  );
});
