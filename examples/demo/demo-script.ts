import { allText, type ChatRequest, type Reply, textOf } from "./chat.ts";

interface Finding {
  /** Matches the id of the task, its name, or words in its description. */
  readonly task: RegExp;
  readonly heading: string;
  readonly lines: readonly string[];
}

const findings: readonly Finding[] = [
  {
    task: /triage|initial.intent|what the issue asks for/i,
    heading: "Triage",
    lines: [
      "**Request:** the reporter wants “{title}” fixed for everyone, not just worked around.",
      "**Type and priority:** a bug that users hit in everyday use. I suggest the `bug` label and a fix in the next release.",
      "**Missing:** the version, and whether it happens every time.",
      "**Done when:** the steps in the report work, and a regression test covers them.",
    ],
  },
  {
    task: /tech(nical)?.discovery|feasib/i,
    heading: "Technical review",
    lines: [
      "**Feasible:** yes, with no change to the public interface.",
      "**Where to start:** the path that “{title}” describes, from the request to the first write. Log both ends before changing either.",
      "**Risk:** medium. Callers may rely on today's behaviour, so start with a failing test.",
      "**Estimate:** one to two days, including review.",
    ],
  },
  {
    task: /code.quality|code.review|quality of th(e|is) change/i,
    heading: "Code review",
    lines: [
      "**Looks good:** “{title}” does one thing.",
      "**Please check:** errors on the new path reach the caller, and the test fails without the change.",
    ],
  },
  {
    task: /quality.verification|testing|must be tested/i,
    heading: "Quality check",
    lines: [
      "**To verify for “{title}”:** follow the steps in the description, try one invalid input, then repeat both after a restart.",
      "**Regression:** check the related screens by hand.",
    ],
  },
  {
    task: /customer/i,
    heading: "For the reporter",
    lines: ["There is an update on “{title}”. Please try it on the test system and tell us here whether it does what you need."],
  },
  {
    task: /grooming|for implementation/i,
    heading: "Ready for development",
    lines: ["“{title}” splits into a failing test, the fix, and a changelog entry."],
  },
  {
    task: /interpretation|acceptance criteria/i,
    heading: "Acceptance criteria",
    lines: [
      "Given the steps in “{title}”, when a user follows them, then they see the result that the reporter expected.",
      "The result is the same after a reload.",
    ],
  },
  {
    task: /dev(elopment)?.environment/i,
    heading: "Environment",
    lines: ["For “{title}”, the usual setup is enough: install, migrate, load the sample data, start."],
  },
  {
    task: /implementation|developer/i,
    heading: "Implementation",
    lines: ["“{title}” needs a failing test first. Make the change where that test points."],
  },
];

const general: Finding = { task: /./, heading: "Note", lines: ["I have read “{title}” and have nothing to add yet."] };

export const signature = "*Written by the scripted demo model, not by a language model.*";

/** Reads the issue with the tool if it is offered, then answers the task. */
export function demoScript(request: ChatRequest): Reply {
  const finding = recognise(request);
  const readTool = request.tools?.map((tool) => tool.function.name).find((name) => name.endsWith("__get_issue"));
  const hasRead = request.messages.some((message) => message.tool_calls?.some((call) => call.function.name === readTool));
  const issue = issueAt(request);
  if (readTool && !hasRead && issue !== null) return { content: null, tool_calls: [{ name: readTool, arguments: issue }] };
  const title = titleOf(request);
  const lines = finding.lines.map((line) => `- ${line.replace("{title}", title)}`);
  return { content: [`### ${finding.heading}`, "", ...lines, "", signature].join("\n") };
}

/**
 * The task comes after `Task:` in the user message; without that it is inferred from the prompts. If several match, the
 * first one in the text is used.
 */
function recognise(request: ChatRequest): Finding {
  const user = allText(request, "user");
  for (const text of [/^Task: .*\n?.*/m.exec(user)?.[0] ?? "", allText(request, "system"), user]) {
    const found = findings
      .map((finding) => ({ finding, at: text.search(finding.task) }))
      .filter(({ at }) => at >= 0)
      .sort((a, b) => a.at - b.at)[0];
    if (found) return found.finding;
  }
  return general;
}

/** The issue as named in the prompt, for example `gamma:APP#APP-12`, else a number in it. */
function issueAt(request: ChatRequest): { issue: string; project?: string } | null {
  const text = allText(request, "user");
  const [, project, named] = /about \w+:([^\s#]+)#(\S+?)\.(?:\s|$)/.exec(text) ?? [];
  if (project !== undefined && named !== undefined) return { issue: named, project };
  const number = /#(\d+)\b/.exec(text)?.[1] ?? /(?:issue|number)\W{0,6}(\d+)\b/i.exec(text)?.[1];
  return number === undefined ? null : { issue: number };
}

/** From the tool's result, else from the prompt. */
function titleOf(request: ChatRequest): string {
  for (const message of request.messages.filter(({ role }) => role === "tool")) {
    const title = /"title"\s*:\s*("(?:[^"\\]|\\.)*")/.exec(textOf(message))?.[1];
    if (title) return JSON.parse(title) as string;
  }
  const user = allText(request, "user");
  const title = /^# .*#\d+: (.+)$/m.exec(user)?.[1] ?? /^title: *(.+)$/im.exec(user)?.[1];
  return title?.trim() ?? "this issue";
}
