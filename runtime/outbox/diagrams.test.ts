import { expect, test } from "vitest";
import { maxStallMs, mebibyte, repeat, repeatedStallOf } from "../platform/test-stall.ts";
import { defuse } from "./defuse.ts";

const options = { allow: [], participants: new Set<string>(), hosts: ["github.com"] } as const;
const safe = (text: string) => defuse(text, options);

const image = 'flowchart LR\n  A@{ img: "https://evil.test/q" }';
const block = (fence: string, word: string, body: string) => `${fence}${word}\n${body}\n${fence}`;

test.each([
  ["a diagram", block("```", "mermaid", image)],
  ["in another case, with a space", block("~~~", " Mermaid", image)],
  ["with attributes", block("```", "{.mermaid}", image)],
  ["with parameters", block("````", "mermaid:x", image)],
  ["spelled with references", block("```", "merm&#97;id", image)],
  ["an escaped address", block("```", "mermaid", 'A@{ img: "\\x2f\\x2fevil.test" }')],
  ["an address with an escaped slash", block("```", "mermaid", 'A@{ img: "/\\/evil.test" }')],
  ["an address with a tab", block("```", "mermaid", 'A@{ img: "/\t/evil.test" }')],
  ["an address with character codes", block("```", "mermaid", "A[<img src='#47;#47;evil.test'>]")],
  ["a scheme without slashes", block("```", "mermaid", 'A@{ img: "https:evil.test" }')],
  ["an address that a program builds", block("```", "plantuml", '!$a = "ht" + "tp"\n!include $a')],
  ["in a list", `- ${block("```", "mermaid", image).replaceAll("\n", "\n  ")}`],
  ["in a quotation", `> ${block("```", "mermaid", image).replaceAll("\n", "\n> ")}`],
  ["behind a line that only looks like its end", "```mermaid\nA\n    ```\n``` x\n//evil.test\n```"],
  ["without an end", `\`\`\`mermaid\n${image}`],
])("shown as its source: %s", (_, text) => {
  const shown = safe(text);
  expect(shown).not.toBe(text);
  expect(shown.replace(/(`{3,}|~{3,})text/, "")).toBe(text.replace(/(`{3,}|~{3,})[^\S\n]*\S+/, ""));
  expect(defuse(text, { ...options, allow: ["images"] })).toBe(text);
});

test.each([
  ["a diagram without addresses", "```mermaid\nflowchart LR\n  A[Docker image] & B -->|50 %| C\n```\n\nSee https://example.com."],
  ["a diagram of PlantUML without addresses", "```plantuml\n@startuml\nAnn -> Bob: hi\n@enduml\n```"],
  ["code with an address", "```ts\n// mermaid: https://example.com\n```"],
  ["code in an element", "<pre>curl https://example.com</pre> <code>x</code>"],
])("unchanged: %s", (_, text) => expect(safe(text)).toBe(text));

test("an element that names the language of a diagram is shown as text", () => {
  expect(safe('<pre lang="mermaid">x</pre>')).toBe('&lt;pre lang="mermaid">x</pre>');
  expect(safe('<code class="language-mermaid">x</code>')).toBe('&lt;code class="language-mermaid">x</code>');
});

test.each(["`", "~", "``` ", "```mermaid ", "```mermaid\n", "~~~dot\n//\n", "```\n", "/ ", "//", "h t t p ", "```dot\n````\n"])(
  "%j, repeated, takes linear time",
  async (piece) => {
    expect(await repeatedStallOf(async () => safe(repeat(piece, mebibyte)))).toBeLessThan(maxStallMs);
  },
  60_000,
);
