import { storableText } from "../../platform/json.ts";

/** A fault of an MCP server. The message is appended to the server's name: `answered 500: …`. It can be stored, whoever wrote it. */
export class ServerFault extends Error {
  override readonly name = "ServerFault";
  constructor(message: string, cause?: unknown) {
    const text = message.trim() || "failed without a message";
    super(
      storableText(text.length > maxLength ? `${text.slice(0, maxLength)}…` : text),
      cause === undefined ? undefined : { cause },
    );
  }
}

/** Length limit of a server's message, characters: operators and models read it. */
const maxLength = 500;
