import { expect, test } from "vitest";
import { issueOpened } from "../harness/alpha-payloads.ts";
import { eventually, hourLasts } from "../harness/wait.ts";
import { textsOf } from "../harness/world.ts";
import type { Opened } from "./opened.ts";

/** The pages on which an operator sets Signalbox up and looks after it. */
export function setupPages(opened: () => Opened): void {
  test("a pasted payload is explained, and other text is refused with a reason", async () => {
    const { world, tab } = opened();
    await tab.open("/console/routing");
    await tab.sees("What would a payload start?");
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
    const { world, tab, deliver } = opened();
    await deliver(41, "to be erased");
    await eventually(async () => textsOf(world.tracker, "octo/app", 41).length === 1);
    await tab.open("/console/settings/storage");
    await tab.sees("Erase data about");
    await tab.fill("Which one", "octo/app#41");
    await tab.press("Preview");
    await tab.sees("octo/app#41: 1 delivery, 1 run");
    await tab.press("Erase");
    await tab.sees("This cannot be undone");
    expect(await tab.violations()).toEqual([]);
    await tab.click("dialog button.danger");
    await tab.sees("Erased: 1 delivery, 1 run");
    const { body } = await world.service.get<{ result: string | null }[]>(
      "/api/task-executions?subject=octo%2Fapp%2341&fields=result",
    );
    expect(body).toMatchObject([{ result: null }]);
  });

  test.each([
    ["runs", "No runs match these filters."],
    ["deliveries", "No deliveries match these filters."],
    ["settings/audit", "No changes match these filters."],
  ])("%s between two times, which the address keeps", async (path, none) => {
    const { world, tab, deliver } = opened();
    await world.service.put("/api/agents/pm_default", { description: "changed" });
    await deliver(143, "between two times");
    const set = (label: string, value: string) =>
      tab.page.$eval(
        `::-p-xpath(//label[span="${label}"]/input)`,
        (field, value) => {
          (field as HTMLInputElement).value = value;
          field.dispatchEvent(new Event("change", { bubbles: true }));
        },
        value,
      );
    await tab.open(`/console/${path}`);
    await tab.page.waitForSelector("ul.list > li");
    await set("From", "2099-01-31T10:30");
    await tab.sees(none);
    const from = new URL(tab.page.url()).searchParams.get("from") ?? "";
    expect(from).toBe(await tab.page.evaluate(() => new Date("2099-01-31T10:30").toISOString()));
    await tab.open(`/console/${path}?from=2020-01-31T10:30:00Z`);
    await tab.page.waitForSelector("ul.list > li");
    await set("To", "2021-01-31T10:30");
    await tab.sees(none);
    await tab.page.reload();
    await tab.sees(none);
    const times = await tab.page.$$eval("input[type=datetime-local]", (all) => all.map((one) => one.value.slice(0, 4)));
    expect(times.filter(Boolean)).toEqual(["2020", "2021"]);
    expect(await tab.violations()).toEqual([]);
    await tab.page.setViewport({ width: 320, height: 900 });
    const cut = await tab.page.$$eval(".filters label", (all) =>
      all.filter((one) => one.getBoundingClientRect().right > window.innerWidth).map((one) => one.textContent),
    );
    expect(cut).toEqual([]);
    await tab.page.setViewport({ width: 1280, height: 900 });
  });

  test("a search of memories says that it shows only the best matches", async () => {
    const { world, tab } = opened();
    const keys = Array.from({ length: 55 }, (_, n) => `lantern-${n}`);
    const memory = { content: "The lantern shines.", scope: "organizational" };
    await Promise.all(keys.map((key) => world.service.post("/api/memory", { key, ...memory })));
    await tab.open("/console/memory?q=lantern");
    await tab.sees("Only the best 50 matches are shown.");
    await Promise.all(keys.map((key) => world.service.del(`/api/memory/${key}`)));
  });

  test("no tab of the settings is cut at 320 px", async () => {
    const { tab } = opened();
    await tab.page.setViewport({ width: 320, height: 900 });
    await tab.open("/console/settings/audit");
    await tab.page.waitForFunction(() => document.querySelector("main h1") && !document.querySelector(".waiting"));
    const tabs = await tab.page.$$eval(".tabs a", (all) =>
      all.map((one) => ({ text: one.textContent, isCut: one.getBoundingClientRect().right > window.innerWidth })),
    );
    expect(tabs).toContainEqual({ text: "Audit log", isCut: false });
    expect(tabs.filter(({ isCut }) => isCut)).toEqual([]);
    await tab.page.setViewport({ width: 1280, height: 900 });
  });

  test("the settings in effect, the budgets, and where a memory is used", async () => {
    const { world, tab, deliver } = opened();
    await tab.open("/console/settings/configuration?q=ALPHA_TOKEN");
    await tab.sees(/ALPHA_TOKEN.*\*{8}.*the environment/);
    const named = { headers: { "x-request-id": "request-of-an-auditor" } };
    await world.service.put("/api/agents/pm_default", { description: "audited" }, named);
    await tab.open("/console/settings/audit?object=agents%2Fpm_default");
    await tab.sees("request-of-an-auditor");
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

  test("memories: more than a page of them, and one that a link names", async () => {
    const { world, tab } = opened();
    const { service } = world;
    const scope = "organizational";
    const first = await service.post("/api/memory", { key: "bollard", content: "The bollard is red.", scope });
    expect(first.status).toBe(201);
    const keys = Array.from({ length: 101 }, (_, n) => `memory-${n}`);
    await Promise.all(keys.map((key) => service.post("/api/memory", { key, content: `The number is ${key}.`, scope })));
    await tab.open("/console/memory");
    await tab.sees(/10\d total/);
    expect(await tab.text()).not.toContain("bollard");
    await tab.press("Older");
    await tab.sees("bollard");
    await tab.open("/console/memory?key=bollard");
    await tab.sees("The bollard is red.");
    expect(await tab.violations()).toEqual([]);
    await tab.press("Delete: bollard");
    await tab.click("dialog[open] button.danger");
    await eventually(async () => (await service.get("/api/memory/bollard")).status === 404);
    await tab.page.waitForFunction(() => !location.search.includes("bollard"));
    await tab.open("/console/memory?key=bollard");
    await tab.sees("There is no memory with the key bollard");
    await Promise.all(keys.map((key) => service.del(`/api/memory/${key}`)));
  });

  test("keys: when they expire and what they are restricted to; costs of this month, by the names of projects", async () => {
    const { world, tab, deliver } = opened();
    const { service } = world;
    // Costs are counted by day, so no day may begin meanwhile.
    await hourLasts();
    const project = { name: "The web shop", source: "alpha", source_project_id: "octo/app" };
    const { id } = (await service.post<{ id: number }>("/api/projects", project)).body;
    await deliver(43, "paid by a project");
    await eventually(async () => textsOf(world.tracker, "octo/app", 43).length === 1);
    const bound = { name: "bound", scopes: ["read"], projects: [id] };
    // A busy machine may create it only after the time at which it should expire, which is refused.
    const key = await eventually(async () => {
      const expires_at = new Date(Date.now() + 3_000).toISOString();
      const { status, body } = await service.post<{ id: number }>("/api/keys", { ...bound, expires_at });
      return status === 201 && body;
    });
    await tab.open("/console/settings/keys");
    await tab.sees(`Only projects: ${id}`);
    await tab.sees("expired");
    expect(await tab.violations()).toEqual([]);
    await tab.open("/console/cost?days=this-month&by=project");
    await tab.sees(`${id} The web shop`);
    await tab.click("figure + details summary");
    await tab.sees(new RegExp(`Numbers by day.*Cost${new Date().toISOString().slice(0, 10)}[1-9]`));
    expect(await tab.violations()).toEqual([]);
    await service.del(`/api/keys/${key.id}`);
    await service.del(`/api/projects/${id}`);
  });

  test("a prompt is tried on the last issues of an agent", async () => {
    const { world, tab } = opened();
    await tab.open("/console/agent/pm_default");
    await tab.sees("Try a prompt on recent issues");
    await tab.click("details.card summary");
    await tab.fill("Prompt to try", "You answer in VOICE four.");
    await tab.press("Run as dry runs");
    await tab.sees(/octo\/app#42: compare answers.*VOICE four/);
    expect(await tab.violations()).toEqual([]);
    expect(textsOf(world.tracker, "octo/app", 42)).toHaveLength(1);
  });

  test("the webhook is created at the tracker, and found complete the next time", async () => {
    const { tab } = opened();
    for (const said of ["The webhook was created on GitHub. It sends ", "The webhook on GitHub was already complete."]) {
      await tab.open("/console/connections");
      await tab.press("Set up webhook: GitHub");
      await tab.fill("Project on GitHub", "octo/hooked");
      await tab.click("dialog button.primary");
      await tab.sees(said);
    }
    expect(await tab.violations()).toEqual([]);
  });

  test("a stored account is tested, and a refused credential is named", async () => {
    const { world, tab } = opened();
    const credentials = { token: "not-the-token", api_url: world.tracker.url };
    const made = await world.service.post<{ id: string }>("/api/integrations", {
      source: "alpha",
      name: "Second bot",
      credentials,
    });
    expect(made.status).toBe(201);
    await tab.open("/console/connections");
    await tab.sees("Second bot");
    await tab.press("Test: Second bot on alpha");
    await tab.sees(/Not working: .*401/);
    await tab.sees("requests left");
    expect(await tab.violations()).toEqual([]);
    const confirm = () => tab.click("dialog[open] .buttons button:first-child");
    await tab.press("Rotate secret: Second bot on alpha");
    await tab.sees("Generates a new webhook secret and shows it once.");
    await confirm();
    await tab.sees("The new webhook secret is shown only once.");
    const secret = await tab.page.$eval(".new-key code", ({ textContent }) => textContent ?? "");
    const signed = () => world.service.webhook(issueOpened({ repo: "octo/app", number: 78 }), { slug: made.body.id, secret });
    expect((await signed()).status).toBe(202);
    await tab.press("Rotate secret: Second bot on alpha");
    await confirm();
    await tab.press("Drop previous secret: Second bot on alpha");
    await tab.sees("Webhooks still signed with it will be refused.");
    expect((await signed()).status).toBe(202);
    await confirm();
    await eventually(async () => (await signed()).status === 401);
    expect(await tab.violations()).toEqual([]);
    await tab.open("/console/routing");
    await tab.sees(/issue\.created [\d,]+ hits/);
    await world.service.del(`/api/integrations/${made.body.id}`);
  });
}
