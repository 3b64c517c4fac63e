import { expect, test } from "vitest";
import { openBeside } from "../harness/browser.ts";
import type { Opened } from "./opened.ts";

/** What a page shows if it gets nothing to show: no run at its address, no answer of the service, or that of a proxy. */
export function noAnswer(opened: () => Opened): void {
  test("an address without a run says so, offers a way on and nothing to press", async () => {
    const { tab } = opened();
    for (const [id, said] of [
      ["01a2165e-355b-7001-a728-da4f77bfd541", "There is no task execution"],
      ["not-an-id", "There is nothing at this address"],
    ] as const) {
      await tab.open(`/console/run/${id}`);
      await tab.sees(said);
      await tab.sees("Find the issue");
      expect(await tab.page.$$("main button")).toEqual([]);
    }
  });

  test("a service that accepts requests but answers none is reported, and the page continues once it answers", async () => {
    const frozen = await openBeside(opened().tab, opened().world.service.url);
    // Instead of half a minute.
    await frozen.page.evaluateOnNewDocument(() => {
      const original = AbortSignal.timeout;
      AbortSignal.timeout = (ms) => original.call(AbortSignal, ms / 20);
    });
    await frozen.open("/console/agents");
    await frozen.sees("pm_default");
    process.kill(opened().world.service.pid, "SIGSTOP");
    try {
      await frozen.press("Runs");
      await frozen.sees("The service is not responding");
    } finally {
      process.kill(opened().world.service.pid, "SIGCONT");
    }
    await frozen.sees(/octo\/app#\d/);
    await frozen.page.waitForFunction(() => !document.body.textContent?.includes("The service is not responding"));
    await frozen.page.close();
  });

  test("the login page of a proxy is named, not shown as a faulty answer", async () => {
    const behind = await openBeside(opened().tab, opened().world.service.url);
    await behind.page.setRequestInterception(true);
    behind.page.on("request", (request) =>
      request.url().includes("/api/agents")
        ? void request.respond({ status: 200, contentType: "text/html", body: "<html>Log in</html>" })
        : void request.continue(),
    );
    await behind.open("/console/agents");
    await behind.sees("A proxy answered instead of the service. Reload this page");
    expect(await behind.text()).not.toContain("SyntaxError");
    await behind.page.close();
  });
}
