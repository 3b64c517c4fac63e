import { useState } from "preact/hooks";
import { call, list } from "../api/call.ts";
import { ActionButton } from "../parts/dialog.tsx";
import { Section } from "../parts/page.tsx";
import { Copy, Text } from "../parts/text.tsx";

const example = "LLM_BASE_URL=https://api.openai.com/v1\nLLM_API_KEY=…\nLLM_MODEL=gpt-4o-mini";

/** Explains how to connect a model, and sends a test question to it. */
export function ModelCard() {
  const [answer, setAnswer] = useState<string | null>(null);
  const ask = async () => {
    const agents = await list("agents.list", { limit: 1 });
    const agent_id = agents.items[0]?.id;
    if (!agent_id) {
      setAnswer("There are no agents yet. First create the default agents under Agents.");
      return;
    }
    const { content } = await call("llm.chat", {
      agent_id,
      messages: [{ role: "user", content: "Answer with one word: ready?" }],
    });
    setAnswer(`The model answered: ${content}`);
  };
  return (
    <Section title="Model">
      <div class="card">
        <p>
          Use any OpenAI-compatible API. Set these variables in the environment or in .env, then restart the service. The key is
          never stored in the database.
        </p>
        <pre class="snippet">
          <code>{example}</code>
        </pre>
        <div class="buttons">
          <ActionButton
            label="Test model"
            needs="write"
            confirm={<p>Asks an agent one short question, which costs a few tokens.</p>}
            run={ask}
          />
          <Copy text={example} label="Copy for .env" />
        </div>
        {answer && (
          <p role="status" class="card-foot">
            <Text max={400}>{answer}</Text>
          </p>
        )}
      </div>
    </Section>
  );
}
