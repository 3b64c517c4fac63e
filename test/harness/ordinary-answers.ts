/** Ordinary texts of agents and people. `@someone` is a participant of the issue. */
export const ordinaryAnswers: Readonly<Record<string, string>> = {
  "a heading, code with a decorator and a keyword, a table":
    "## Cause\n\n`load()` throws:\n\n```ts\n@Injectable()\nexport class A {} // fixes #1\n```\n\n| a | b |\n| --- | --- |\n| 1 | 2 |",
  "emoji with a skin tone, a link, a reference, a task list, a quotation":
    "Thanks 👍🏽, see [the docs](https://example.com/a?b=c) and #12.\n\n- [x] done\n- [ ] open\n\n> quoted",
  "a participant who is mentioned": "Hi @someone, which version do you use? The log says `ENOENT`.",
  "a review with file names and line numbers":
    "Two things:\n\n1. `src/store.ts:41` reads the file twice. The second read can go.\n2. In `open()` the lock is never released if `parse` throws.\n\nOtherwise **looks good**.",
  "a shell session":
    "Run this and send me the output:\n\n```sh\n$ npm ci --ignore-scripts\n$ npm test 2>&1 | tee log.txt  # ~3 minutes\n```\n\nOn Windows use `npm.cmd`.",
  "a diff": "I would change it like this:\n\n```diff\n- if (a = b) return;\n+ if (a === b) return;\n```",
  "words that are commands elsewhere":
    "This closes the discussion about retries. I fixed the typo, and whoever resolves conflicts should merge main first. See /etc/hosts and the path /usr/local/bin.",
  "addresses, hashes, ids and versions":
    "It broke in 3f2504e0 (v2.3.1, build 20260105). The id is 0f8fad5b-d9cb-469f-a165-70867728950e, the host db-1.internal.example.com, the mail address support@example.com.",
  "scripts of the world": "日本語のコメントです。العربية تُكتب من اليمين. Привет, as they say. Käse kostet 3 € — wirklich.",
  "a formula, comparison signs and asterisks": "If `a < b && b > c`, then 2 * 3 * 4 = 24, and x_1 stays. Costs: ~5 %.",
  "nested lists": "Steps:\n\n- Open the page\n  - as a user\n  - as an admin\n- Press **Save**\n\nExpected: it saves.",
};
