import { z } from "zod";
import { prose } from "./common.ts";
import { operation } from "./operation.ts";
import { stepState } from "./steps.ts";

const chatMessage = z
  .object({
    role: z.enum(["user", "assistant", "system"]).meta({ id: "ChatRole" }),
    content: prose(500_000),
  })
  .meta({ id: "ChatMessage" });

const toolCall = z.object({ tool: z.string().describe("Qualified tool name."), status: stepState }).meta({ id: "ChatToolCall" });

export const chatAnswer = z
  .object({
    agent_id: z.string(),
    model: z.string(),
    content: z.string().describe("The agent's answer, in Markdown."),
    rounds: z.int().describe("Number of requests sent to the model."),
    tool_calls: z.array(toolCall),
    usage: z
      .object({ prompt_tokens: z.int(), completion_tokens: z.int(), total_tokens: z.int() })
      .meta({ id: "ChatUsage" })
      .describe("Total tokens of all rounds."),
  })
  .meta({ id: "ChatAnswer" });

export const chat = operation({
  id: "llm.chat",
  http: "POST /api/llm/chat",
  rpc: "LlmService.Chat",
  summary: "Chat with an agent",
  description: "Uses the agent's persona and tools, outside any task.",
  input: z.object({
    agent_id: z.string().min(1).max(128).describe("Agent to chat with."),
    messages: z
      .array(chatMessage)
      .min(1, "must contain at least one message")
      .max(500)
      .describe("Messages of the chat, oldest first."),
    stream: z
      .boolean()
      .default(false)
      .describe(
        "Whether to respond with server-sent events over HTTP: `delta` for parts of the text, `tool_call`, and finally `answer` or `error`. Default: `false`.",
      ),
  }),
  output: chatAnswer,
  serverSentEvents: z
    .union([z.object({ delta: z.string() }), toolCall, chatAnswer, z.object({ error: z.string() })])
    .describe("Data of one event: `delta`, `tool_call`, `answer` or `error`."),
  problems: ["not_found", "bad_gateway", "unavailable"],
});
