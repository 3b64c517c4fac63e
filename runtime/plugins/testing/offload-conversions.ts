import { gammaIssue, html, markdown, storage, uuid, wiki } from "./offload-inputs.ts";

export interface Conversion {
  readonly name: string;
  /** Texts that are repeated. */
  readonly inputs: readonly string[];
  /** The platform's response, if it is requested. */
  readonly reply?: (text: string) => unknown;
  readonly run: (text: string) => Promise<unknown>;
}

const gamma = { url: "https://jira.example", email: "a@b.c", api_token: "t" };
const server = { ...gamma, is_cloud: false };
const plane = { api_url: "https://plane.example", api_key: "k", workspace_slug: "w" };
const page = (value: string) => ({
  id: "1",
  type: "page",
  title: "T",
  version: { number: 1 },
  space: { key: "A" },
  body: { storage: { value } },
});
const deltaData = (html: string) => ({ id: uuid, project: uuid, description_html: `<p>${html}` });

/** How a test passes a text to a plugin. */
interface Ways {
  parsed(source: string, headers: Readonly<Record<string, string>>, payload: unknown): Promise<unknown>;
  comment(source: string, connection: Record<string, unknown>, issue: Record<string, unknown>, body: string): Promise<unknown>;
  readPage(): Promise<unknown>;
}

/** Every path of a text to an offloaded function of a built-in plugin. */
export const conversionsOf = ({ parsed, comment, readPage }: Ways): readonly Conversion[] => [
  {
    name: "gamma webhook, wiki markup",
    inputs: wiki,
    run: (text) => parsed("gamma", {}, { webhookEvent: "jira:issue_created", issue: gammaIssue(text) }),
  },
  {
    name: "gamma comment, Cloud",
    inputs: markdown,
    reply: () => ({ id: "1", body: null }),
    run: (body) => comment("gamma", gamma, { issue: "APP-1" }, body),
  },
  {
    name: "gamma comment, Server",
    inputs: markdown,
    reply: () => ({ id: "1", body: null }),
    run: (body) => comment("gamma", server, { issue: "APP-1" }, body),
  },
  {
    name: "delta webhook",
    inputs: html,
    run: (text) => parsed("delta", {}, { event: "issue", action: "created", data: deltaData(text) }),
  },
  {
    name: "delta comment",
    inputs: markdown,
    reply: () => ({ id: uuid }),
    run: (body) => comment("delta", plane, { issue: uuid, project: uuid }, body),
  },
  { name: "wiki page", inputs: storage, reply: page, run: readPage },
];
