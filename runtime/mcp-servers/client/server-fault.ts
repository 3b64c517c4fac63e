/** What an MCP server did wrong. The message follows its name: `answered 500: …`. */
export class ServerFault extends Error {
  override readonly name = "ServerFault";
  constructor(message: string, cause?: unknown) {
    const text = message.trim() || "failed without saying why";
    super(text.length > longest ? `${text.slice(0, longest)}…` : text, cause === undefined ? undefined : { cause });
  }
}

/** A server's own words are shown to operators and models: not more of them than can be read. */
const longest = 500;
