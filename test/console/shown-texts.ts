import type { HTTPRequest, Page } from "puppeteer-core";
import { expect, test } from "vitest";
import type { Opened } from "./opened.ts";

/** Texts and rows that could break a page, or hide a part of what an approver reads. */
export function shownTexts(opened: () => Opened): void {
  test("a row that the page cannot show takes nothing else with it", async () => {
    const { world, tab } = opened();
    const restore = await answerWith(tab.page, "/api/webhook-events", async ({ search }) => {
      const { body } = await world.service.get<object[]>(`/api/webhook-events${search}`);
      return body.map((event, index) => (index === 0 ? { ...event, subject: 5 } : event));
    });
    try {
      await tab.open("/console/deliveries");
      await tab.sees("This part of the page could not be displayed.");
      await tab.sees("Reason contains");
      expect(await tab.violations()).toEqual([]);
      await tab.page.keyboard.press("g");
      await tab.page.keyboard.press("n");
      await tab.sees("Failures by message");
    } finally {
      await restore();
    }
    await tab.open("/console/deliveries");
    await tab.sees("octo/app#1");
    expect(await tab.text()).not.toContain("could not be displayed");
  });

  test("the failures on the page Now say of how many they are the latest", async () => {
    const { world, tab } = opened();
    const { body } = await world.service.get<object[]>("/api/task-executions?limit=1");
    const failed = body.map((run) => ({ ...run, state: "failed", error: "a fault that is frequent" }));
    const restore = await answerWith(tab.page, "/api/task-executions", async () => failed, "10000+");
    try {
      await tab.open("/console/now");
      await tab.sees("The latest 1 of 10,000+ failed runs.");
    } finally {
      await restore();
    }
  });

  test("no nesting hides a text: it stays large enough, within the screen, or is shown as its source", async () => {
    const { world, tab } = opened();
    const { body } = await world.service.get<{ id: string }[]>("/api/task-executions?subject=octo%2Fapp%231&limit=1");
    const path = `/api/task-executions/${body[0]?.id}`;
    const run = (await world.service.get<object>(path)).body;
    // The page reloads its data automatically, so each look needs the answer still to be replaced.
    const show = async (result: string, word: string, look = async () => {}) => {
      const restore = await answerWith(tab.page, path, async () => ({ ...run, result }));
      try {
        await tab.open(`/console/run/${body[0]?.id}`);
        await tab.sees(word);
        await look();
      } finally {
        await restore();
      }
    };
    const nested = [
      `${"<sub>".repeat(20)}lowered${"</sub>".repeat(20)}`,
      `${"<sup><sub>".repeat(20)}raised${"</sub></sup>".repeat(20)}`,
      `${"> ".repeat(90)}quoted`,
      `${"- ".repeat(90)}listed`,
      `${"> - ".repeat(45)}mixed`,
    ].join("\n\n");
    for (const width of [360, 1280]) {
      await tab.page.setViewport({ width, height: 900 });
      await show(nested, "mixed", async () => {
        for (const word of ["lowered", "raised", "quoted", "listed", "mixed"]) {
          const { height, left, right, lines } = await tab.page.evaluate(placeOf, word);
          expect({ word, lines, isLarge: height > 9, isInside: left >= 0 && right <= width }).toEqual({
            word,
            lines: 1,
            isLarge: true,
            isInside: true,
          });
        }
      });
    }
    await show(`${">".repeat(5_000)} deep`, "> deep");
    expect(tab.faults).toEqual([]);
  });
}

/** Where the first occurrence of a word in the answer is painted, in pixels, and over how many lines. */
function placeOf(word: string) {
  const walker = document.createTreeWalker(document.querySelector(".markdown") as Node, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const at = (walker.currentNode.textContent ?? "").indexOf(word);
    if (at < 0) continue;
    const range = document.createRange();
    range.setStart(walker.currentNode, at);
    range.setEnd(walker.currentNode, at + word.length);
    const { height, left, right } = range.getBoundingClientRect();
    return { height, left, right, lines: range.getClientRects().length };
  }
  throw new Error(`${word} is not shown`);
}

/** Answers the page's requests for a path in place of the service; `total`: the number of items. Returns how to end that. */
async function answerWith(
  page: Page,
  path: string,
  bodyOf: (url: URL) => Promise<unknown>,
  total = "1",
): Promise<() => Promise<void>> {
  const answer = (request: HTTPRequest) => {
    const url = new URL(request.url());
    if (url.pathname !== path) return void request.continue();
    void bodyOf(url).then((body) =>
      request.respond({
        status: 200,
        headers: { "content-type": "application/json", "x-total-count": total },
        body: JSON.stringify(body),
      }),
    );
  };
  await page.setRequestInterception(true);
  page.on("request", answer);
  return async () => {
    page.off("request", answer);
    await page.setRequestInterception(false);
  };
}
