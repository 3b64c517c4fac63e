import { z } from "zod";
import { prose } from "./common.ts";
import { stepState } from "./executions.ts";
import { operation } from "./operation.ts";

const chatMessage = z
  .object({
    role: z.enum(["user", "assistant", "system"]).meta({ id: "ChatRole" }),
    content: prose(500_000),
  })
  .meta({ id: "ChatMessage" });

const toolCall = z.object({ tool: z.string().describe("Qualified name."), status: stepState }).meta({ id: "ChatToolCall" });

export const chatAnswer = z
  .object({
    agent_id: z.string(),
    model: z.string(),
    content: z.string().describe("Markdown."),
    rounds: z.int().describe("Requests that the model was sent."),
    tool_calls: z.array(toolCall),
    usage: z
      .object({ prompt_tokens: z.int(), completion_tokens: z.int(), total_tokens: z.int() })
      .meta({ id: "ChatUsage" })
      .describe("Of all rounds together."),
  })
  .meta({ id: "ChatAnswer" });

export const chat = operation({
  id: "llm.chat",
  http: "POST /api/llm/chat",
  rpc: "LlmService.Chat",
  summary: "Talk with an agent: its persona and tools, outside of any task.",
  input: z.object({
    agent_id: z.string().min(1).max(128),
    messages: z.array(chatMessage).min(1, "must have at least one message").max(500).describe("Oldest first."),
    stream: z
      .boolean()
      .default(false)
      .describe(
        "HTTP: answer with server-sent events: `delta`s of the text, `tool_call`s, and `answer` or `error` as the last one.",
      ),
  }),
  output: chatAnswer,
  serverSentEvents: z
    .union([z.object({ delta: z.string() }), toolCall, chatAnswer, z.object({ error: z.string() })])
    .describe("The data of one event: `delta`, `tool_call`, `answer` or `error`."),
  problems: ["not_found", "bad_gateway", "unavailable"],
});
