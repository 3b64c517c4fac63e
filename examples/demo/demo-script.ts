import { allText, type ChatRequest, type Reply, textOf } from "./chat.ts";

interface Finding {
  /** Matches the id of the task, its name, or words of its description. */
  readonly task: RegExp;
  readonly heading: string;
  readonly lines: readonly string[];
}

const findings: readonly Finding[] = [
  {
    task: /triage|initial.intent|what the issue asks for/i,
    heading: "Triage",
    lines: [
      "**Request:** the reporter wants “{title}” solved for everyone, not worked around once.",
      "**Kind and urgency:** a fault that users meet in daily work; I suggest the label `bug` and the next release.",
      "**Missing:** the version in use, and whether it happens each time.",
      "**Done when:** the steps of the report succeed, and a test keeps it that way.",
    ],
  },
  {
    task: /tech(nical)?.discovery|feasib/i,
    heading: "Technical review",
    lines: [
      "**Feasible:** yes, without a change of the public interface.",
      "**Where to look first:** the path that “{title}” describes, from the request to the first write; log both ends before changing either.",
      "**Risk:** medium. Callers may rely on today's behaviour, so start with a test that fails today.",
      "**Estimate:** one to two days, review included.",
    ],
  },
  {
    task: /code.quality|code.review|quality of th(e|is) change/i,
    heading: "Code review",
    lines: [
      "**Reads well:** the change “{title}” does one thing.",
      "**Please check:** errors on the new path reach the caller, and the test fails without the change.",
    ],
  },
  {
    task: /quality.verification|testing|must be tested/i,
    heading: "Quality check",
    lines: [
      "**To verify for “{title}”:** the steps of the description, one wrong input, and the same again after a restart.",
      "**Regression:** the neighbouring screens once, by hand.",
    ],
  },
  {
    task: /customer/i,
    heading: "For the reporter",
    lines: ["There is news on “{title}”. Please try it on the test system, and say here whether it does what you need."],
  },
  {
    task: /grooming|for implementation/i,
    heading: "Ready for work?",
    lines: ["“{title}” splits into a test that fails, the fix, and a note in the changelog."],
  },
  {
    task: /interpretation|acceptance criteria/i,
    heading: "Acceptance criteria",
    lines: [
      "Given the steps of “{title}”, when they are followed, then what the reporter expected happens.",
      "It still does after a reload.",
    ],
  },
  {
    task: /dev(elopment)?.environment/i,
    heading: "Environment",
    lines: ["For “{title}” the usual checkout will do: install, migrate, load the sample data, start."],
  },
  {
    task: /implementation|developer/i,
    heading: "Implementation",
    lines: ["“{title}” needs a test that fails first; the change itself belongs where that test points."],
  },
];

const general: Finding = { task: /./, heading: "Note", lines: ["I have read “{title}” and have nothing to add to it yet."] };

export const signature = "*Written by the scripted demonstration model, not by a language model.*";

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
