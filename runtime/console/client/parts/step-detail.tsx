import type { ExecutionStep } from "../../../../schema/gen/client.ts";
import { External } from "../route/link.tsx";
import { Markdown } from "./markdown.tsx";
import { asText, Block, Text } from "./text.tsx";
import { countText, dollarText, Time } from "./time.tsx";

/** The input and output of a step. */
export function StepDetail({ step }: { step: ExecutionStep }) {
  return (
    <div class="step-body">
      <p class="soft small-text">
        <Time at={step.created_at} />
        {step.prompt_tokens + step.completion_tokens > 0 &&
          `, ${countText(step.prompt_tokens)} tokens in, ${countText(step.completion_tokens)} out`}
        {step.cost_usd !== null && `, ${dollarText(step.cost_usd)}`}
      </p>
      {step.error && (
        <p class="refused">
          <Text max={2_000}>{step.error}</Text>
        </p>
      )}
      {step.kind === "prompt" && <Prompt input={step.input} />}
      {step.kind === "model" && <Reply output={step.output} />}
      {step.kind === "tool" && <ToolCall step={step} />}
      {step.kind === "post" && <Posted step={step} />}
    </div>
  );
}

interface Message {
  readonly role: string;
  readonly content: unknown;
}

function Prompt({ input }: { input: unknown }) {
  const { messages = [], tools = [], model } = (input ?? {}) as { messages?: Message[]; tools?: string[]; model?: string };
  return (
    <>
      {messages.map(({ role, content }, index) => (
        <div key={index} class="message">
          <p>{role === "system" ? "Instructions to the agent" : role === "user" ? "Task, event and issue" : role}</p>
          <Block text={asText(content)} label={`${role} message`} />
        </div>
      ))}
      <p class="soft small-text">
        Model: {model ?? "default"}. {tools.length === 0 ? "No tools were offered." : `Tools offered: ${tools.join(", ")}.`}
      </p>
    </>
  );
}

function Reply({ output }: { output: unknown }) {
  const { content, tool_calls = [] } = (output ?? {}) as {
    content?: string | null;
    tool_calls?: { name?: string; arguments?: unknown }[];
  };
  return (
    <>
      {content && <Markdown text={content} label="Model's answer" />}
      {tool_calls.map((one, index) => (
        <div key={index} class="message">
          <p>
            Calls <Text max={120}>{one.name ?? "a tool"}</Text>
          </p>
          <Block text={asText(one.arguments)} label="Parameters" />
        </div>
      ))}
      {!content && tool_calls.length === 0 && <p class="soft">The model returned no text.</p>}
    </>
  );
}

function ToolCall({ step }: { step: ExecutionStep }) {
  return (
    <>
      <div class="message">
        <p>Parameters</p>
        <Block text={asText(step.input)} label="Parameters" />
      </div>
      {step.output !== null && step.output !== undefined && (
        <div class="message">
          <p>Result</p>
          <Block text={asText(step.output)} label="Result" />
        </div>
      )}
    </>
  );
}

function Posted({ step }: { step: ExecutionStep }) {
  const { body } = (step.input ?? {}) as { body?: string };
  const { url } = (step.output ?? {}) as { url?: string };
  return (
    <>
      {body && <Markdown text={body} label="Comment" />}
      {url && <External url={url}>Open the comment</External>}
    </>
  );
}
