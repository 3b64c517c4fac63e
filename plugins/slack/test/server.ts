import { type FakeResponse, FakeServer, type RecordedRequest } from "@signalbox/sdk/testing";

export const token = "slack-test-token";
type Data = Record<string, unknown>;
interface Posted extends Data {
  readonly ts: string;
  text: string;
  blocks: readonly Data[];
}

/** https://docs.slack.dev/reference/block-kit/blocks/section-block and https://docs.slack.dev/reference/methods/chat.postMessage */
function refusalOf(blocks: readonly Data[]): string | null {
  const lengths = blocks.map(({ text }) => (text as { text?: string } | undefined)?.text?.length ?? 0);
  if (blocks.length > 50 || lengths.some((length) => length > 3_000)) return "invalid_blocks";
  return lengths.reduce((sum, length) => sum + length, 0) > 13_200 ? "msg_blocks_too_long" : null;
}

/** The part of Slack's Web API that the plugin uses, with one channel. */
export class SlackServer extends FakeServer {
  readonly messages: Posted[] = [];
  /** Texts of messages that it refuses. */
  refused: RegExp | null = null;
  readonly ephemeral: Data[] = [];

  protected override readsOnly({ path }: RecordedRequest): boolean {
    return path.endsWith("conversations.history");
  }
  protected route({ path, headers, body, query }: RecordedRequest): FakeResponse {
    if (headers.authorization !== `Bearer ${token}`) return { status: 200, body: { ok: false, error: "invalid_auth" } };
    const fields = (body ?? {}) as Posted;
    switch (path) {
      case "/api/conversations.history": {
        const oldest = Number(query.get("oldest"));
        return { status: 200, body: { ok: true, messages: this.messages.filter(({ ts }) => Number(ts) >= oldest).reverse() } };
      }
      case "/api/chat.postMessage": {
        const refusal = this.refused?.test(String(fields.text)) ? "msg_too_long" : refusalOf(fields.blocks ?? []);
        if (refusal) return { status: 200, body: { ok: false, error: refusal } };
        const ts = `${(Date.now() / 1000).toFixed(3)}${String(this.messages.length).padStart(3, "0")}`;
        this.messages.push({ ...fields, ts });
        return { status: 200, body: { ok: true, channel: fields.channel, ts }, wrote: true };
      }
      case "/api/chat.update": {
        const found = this.messages.find(({ ts }) => ts === fields.ts);
        if (!found) return { status: 200, body: { ok: false, error: "message_not_found" } };
        Object.assign(found, { text: fields.text, blocks: fields.blocks });
        return { status: 200, body: { ok: true, ts: fields.ts }, wrote: true };
      }
      case "/api/chat.postEphemeral":
        this.ephemeral.push(fields);
        return { status: 200, body: { ok: true }, wrote: true };
      default:
        return { status: 200, body: { ok: false, error: "unknown_method" } };
    }
  }
}
