import { randomBytes } from "node:crypto";
import { defuse } from "../../runtime/outbox/defuse.ts";
import { redact } from "../../runtime/outbox/redact.ts";
import { secretsFinder, storedSecrets } from "../../runtime/outbox/secrets.ts";
import { cleanText } from "../../runtime/untrusted/clean.ts";
import { fenceCleaned } from "../../runtime/untrusted/fence.ts";
import { median, report } from "./report.ts";

/** Length of the text of an issue and of the answer, in characters. */
const length = 8_192;
const rounds = 2_000;
/** Maximum cost of both per run, in milliseconds. */
const limit = 1;

const paragraph = `The import of **orders** fails since version 2.3, see [the log](https://example.com/log?id=4711).

\`\`\`ts
export const load = (path: string) => readFile(path, "utf8"); // fixes #12
\`\`\`

- [x] tried it with \`--verbose\`, as @ann wrote in #41
- [ ] <b>not</b> tried on Windows \u{1f44d}

| version | result |
|---|---|
| 2.2 | ok |
`;
const text = paragraph.repeat(Math.ceil(length / paragraph.length)).slice(0, length);
/** The values that integrations, webhook mappings, wikis and plugins have stored. */
const stored = Array.from({ length: 500 }, (_, n) => ({
  kind: "webhook mapping" as const,
  name: String(n),
  member: null,
  value: randomBytes(24).toString("base64url"),
}));
const secrets = secretsFinder(
  () => [stored],
  () => storedSecrets(stored),
);
const options = { allow: [], participants: new Set(["ann"]), hosts: ["https://example.com"] };

const steps = {
  "shown to a model": () => fenceCleaned("Comment", cleanText(text), "event", {}),
  "on its way out": () => defuse(redact(text, secrets()).text, options),
};

/** The cost of cleaning a text of 8 KB for the model, and of checking it in the outbox. */
export async function run(): Promise<void> {
  const times = Object.fromEntries(Object.keys(steps).map((name) => [name, [] as number[]]));
  const both: number[] = [];
  for (let round = 0; round < rounds; round++) {
    let sum = 0;
    for (const [name, step] of Object.entries(steps)) {
      const began = performance.now();
      step();
      const took = performance.now() - began;
      times[name]?.push(took);
      sum += took;
    }
    both.push(sum);
  }
  const rows = Object.entries({ ...times, both }).map(([name, taken]) => [name, median(taken), highest(taken)]);
  const p50 = median(both);
  report({
    name: "text",
    about: `cleaning, fencing, redacting ${stored.length} secrets and defusing ${length} characters, milliseconds`,
    columns: ["step", "p50", "p99"],
    rows,
    findings: [`Both cost a run ${p50.toFixed(2)} ms (p50); the limit is ${limit} ms.`],
  });
  if (p50 > limit) process.exitCode = 1;
}

const highest = (values: readonly number[]): number => [...values].sort((a, b) => a - b)[Math.floor(values.length * 0.99)] ?? 0;
