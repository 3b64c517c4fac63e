import { callContext, setUpPlugin, testKnowledge } from "@signalbox/sdk/testing";
import { http } from "msw";
import { setupServer } from "msw/node";
import { describe, expect, test } from "vitest";
import { pageUrl } from "./api.ts";
import wiki from "./index.ts";
import { apiOf, settings, webUrlOf } from "./settings.ts";
import { account, FakeWiki } from "./test-wiki.ts";

const body = "<p>Before.</p><h2>Setting&nbsp;up</h2><p>Größe 🦉 zählt</p>";
const strange = [
  "",
  "plain",
  "<p>",
  "</p></p></div>",
  "<ac:structured-macro><ac:parameter>",
  "<![CDATA[",
  `<pre>${"```\n".repeat(200_000)}</pre>`,
  "<p>a\u0000b \ud800</p>",
  `<p>${"<b>".repeat(5000)}deep`,
  `${"<table><tr><td>".repeat(400)}x`,
  `<p>${"# ".repeat(20_000)}</p>`,
  '<ac:structured-macro ac:name="code"><ac:plain-text-body><![CDATA[```\n# no heading\n```]]></ac:plain-text-body></ac:structured-macro>',
];

describe.concurrent.each([
  ["Cloud", true],
  ["Data Center", false],
])("%s", (_, cloud) => {
  const start = async () => {
    const one = await new FakeWiki(cloud).listen();
    one.maxListed = 20;
    for (let i = 0; i < 45; i++)
      one.add({ title: `Page ${i}`, body: `<h1>Page ${i}</h1><p>About ${i}.</p>`, space: i % 3 ? "DOCS" : "OPS" });
    return one;
  };
  const source = (url: string) => ({ base_url: url, space_keys: ["DOCS", "OPS"], is_cloud: cloud, ...account });
  const elsewhere = (url: string) => ({ ...source(url), space_keys: ["DOCS", "NOWHERE"] });
  for (const { name, run } of testKnowledge(wiki, { settings: source, elsewhere, body, strange, wiki: start })) test(name, run);

  test("a page in an invisible space does not count as deleted", async () => {
    const server = await start();
    try {
      const { knowledge } = await setUpPlugin(wiki);
      const [gone = "", there = ""] = server.ids();
      server.remove(gone);
      const read = (given: object) => knowledge?.wiki?.read([gone, there], callContext(settings.parse(given)));
      expect((await read(source(server.url)))?.map(({ id }) => id)).toEqual([there]);
      await expect(read(elsewhere(server.url))).rejects.toMatchObject({
        code: "not_found",
        message: expect.stringContaining("NOWHERE"),
      });
    } finally {
      await server.close();
    }
  });
});

test.each([true, false])(
  "a malformed entry of a listing does not stop the others; it is read if it has an id (Cloud: %s)",
  async (is_cloud) => {
    class Malformed extends FakeWiki {
      protected override route(...[request]: Parameters<FakeWiki["route"]>): ReturnType<FakeWiki["route"]> {
        const answer = super.route(request);
        const { results } = answer.body as { results?: object[] };
        const isList = /\/(spaces\/\d+\/pages|content)$/.test(request.path);
        if (!isList || !results) return answer;
        return {
          ...answer,
          body: { ...(answer.body as object), results: [null, 7, { title: "x" }, { id: "99", version: {} }, ...results] },
        };
      }
    }
    const server = new Malformed(is_cloud).intercept("http://wiki.test", { http, setupServer });
    try {
      const id = server.add({ title: "A", body });
      const { knowledge } = await setUpPlugin(wiki);
      const config = settings.parse({ base_url: server.url, space_keys: ["DOCS"], is_cloud, ...account });
      const listed = await knowledge?.wiki?.list({ cursor: null }, callContext(config));
      expect(listed?.pages).toEqual([
        { id: "99", revision: "unknown" },
        { id, revision: "1@DOCS" },
      ]);
    } finally {
      await server.close();
    }
  },
);

test("Data Center: a refused page is left out; a refused space is an error", async () => {
  const refused = new Set<string>();
  class Refusing extends FakeWiki {
    protected override route(...[request]: Parameters<FakeWiki["route"]>): ReturnType<FakeWiki["route"]> {
      return refused.has(request.path.split("/").at(-1) ?? "") ? { status: 403, body: {} } : super.route(request);
    }
  }
  const server = new Refusing(false).intercept("http://wiki.test", { http, setupServer });
  try {
    const ids = ["A", "B"].map((title) => server.add({ title, body }));
    const { knowledge } = await setUpPlugin(wiki);
    const config = { base_url: server.url, space_keys: ["DOCS"], is_cloud: false, ...account };
    const read = () => knowledge?.wiki?.read(ids, callContext(settings.parse(config)));
    refused.add(ids[0] as string);
    expect((await read())?.map(({ title }) => title)).toEqual(["B"]);
    refused.add("DOCS");
    await expect(read()).rejects.toMatchObject({ code: "unauthorized" });
  } finally {
    await server.close();
  }
});

test("URLs with and without a path", () => {
  const of = (base_url: string, is_cloud = true) => settings.parse({ base_url, space_keys: ["A"], is_cloud });
  expect(apiOf(of("https://acme.atlassian.net"))).toBe("https://acme.atlassian.net/wiki/api/v2");
  expect(apiOf(of("https://acme.atlassian.net/wiki/"))).toBe("https://acme.atlassian.net/wiki/api/v2");
  expect(apiOf(of("https://wiki.example.com/confluence/", false))).toBe("https://wiki.example.com/confluence/rest/api");
  expect(webUrlOf(of("https://wiki.example.com", false))).toBe("https://wiki.example.com");
});

test("the URL of a page takes linear time", () => {
  const base = `https://wiki.example/${"/".repeat(1 << 20)}x`;
  expect(pageUrl(base, "https://wiki.example", "/p")).toBe(`${base}/p`);
});
