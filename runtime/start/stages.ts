import type { Part } from "../health/operations.ts";
import type { Keyring } from "../keys/keyring.ts";
import type { Memory } from "../memory/open.ts";
import type { MemoryResources } from "../memory/prepare.ts";
import type { Background } from "./background.ts";
import type { ConversationParts, Tools } from "./conversation.ts";
import type { Core } from "./core.ts";
import type { Network } from "./network.ts";
import type { Plugins } from "./plugins.ts";
import type { Webhooks } from "./webhooks.ts";

/** The parts of the service that the operations use. */
export interface Stages {
  readonly core: Core;
  readonly keyring: Keyring;
  readonly network: Network;
  readonly requiredParts: readonly Part[];
  readonly resources: MemoryResources;
  readonly plugins: Plugins;
  readonly memory: Memory;
  readonly tools: Tools;
  readonly conversation: ConversationParts;
  readonly webhooks: Webhooks;
  readonly background: Background;
}
