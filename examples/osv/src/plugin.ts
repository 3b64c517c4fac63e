import { definePlugin, type HttpClient, httpClient, tool, truncate } from "@signalbox/sdk";
import { z } from "zod";
import own from "../package.json" with { type: "json" };

const severity = z.object({ type: z.string(), score: z.string() });
/** The members of https://google.github.io/osv.dev/api/ that are used. */
const entry = z.object({
  id: z.string(),
  summary: z.string().optional(),
  details: z.string().optional(),
  aliases: z.array(z.string()).default([]),
  severity: z.array(severity).default([]),
  published: z.string().optional(),
  references: z.array(z.object({ type: z.string(), url: z.string() })).default([]),
});
const answer = z.object({ vulns: z.array(entry).default([]) });

/** A list contains summaries; a tool of its own returns the details of one. */
const maxAdvisories = 50;

const findVulnerabilities = (client: HttpClient) =>
  tool({
    about:
      "List the known vulnerabilities of one version of a package, with ids and summaries. An empty list means that none is known.",
    category: "security",
    effect: "read",
    input: z.object({
      ecosystem: z
        .string()
        .min(1)
        .max(50)
        .describe("Registry of the package: npm, PyPI, Go, Maven, crates.io or another ecosystem of OSV."),
      package: z.string().min(1).max(300).describe("Name of the package."),
      version: z.string().min(1).max(100).describe("Exact version, for example 4.17.20."),
    }),
    output: z.object({
      total: z.int(),
      vulnerabilities: z.array(z.object({ id: z.string(), summary: z.string(), aliases: z.array(z.string()) })),
    }),
    run: async ({ ecosystem, package: name, version }, { signal }) => {
      const body = { package: { name, ecosystem }, version };
      // A POST request that only reads.
      const { data } = await client.read({ route: "POST /v1/query", body, schema: answer, signal });
      const found = data.vulns.slice(0, maxAdvisories);
      return {
        total: data.vulns.length,
        vulnerabilities: found.map(({ id, summary, details, aliases }) => ({
          id,
          aliases,
          summary: truncate(summary ?? details ?? "", 300),
        })),
      };
    },
  });

const getVulnerability = (client: HttpClient) =>
  tool({
    about: "Get one vulnerability by its id: description, severity and references.",
    category: "security",
    effect: "read",
    input: z.object({
      id: z
        .string()
        .regex(/^[A-Za-z0-9][\w.:-]{2,60}$/)
        .describe("Id of the vulnerability, for example GHSA-35jh-r3h4-6jhm."),
    }),
    output: z.object({
      id: z.string(),
      details: z.string(),
      severity: z.array(severity),
      published: z.string().nullable(),
      references: z.array(z.string()),
    }),
    run: async ({ id }, { signal }) => {
      const { data } = await client.read({ route: "GET /v1/vulns/{id}", path: { id }, schema: entry, signal });
      const { summary = "", details = "", published = null } = data;
      return {
        id: data.id,
        severity: data.severity,
        published,
        details: truncate(details || summary, 20_000),
        references: data.references.slice(0, 20).map(({ url }) => url),
      };
    },
  });

export default definePlugin({
  id: "osv",
  version: own.version,
  sdk: "^0.1.0",
  about: "Looks up known vulnerabilities of packages in the OSV database.",
  config: z.object({}),
  needs: ["fetch"],
  setup: ({ fetch }) => {
    const client = httpClient({ platform: "OSV", base: "https://api.osv.dev", headers: {}, fetch, secrets: [] });
    return { tools: { find_vulnerabilities: findVulnerabilities(client), get_vulnerability: getVulnerability(client) } };
  },
});
