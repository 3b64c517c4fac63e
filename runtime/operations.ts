import type { UseCase } from "@signalbox/sdk";
import { agentOperations } from "./agents/operations.ts";
import { auditOperations } from "./audit/operations.ts";
import { capabilityOperations } from "./capabilities/operations.ts";
import { configurationOperation } from "./configuration/operations.ts";
import { eventOperations } from "./events/operations.ts";
import { executionOperations } from "./executions/operations.ts";
import { type GatewayParts, gatewayOperations } from "./gateway/operations.ts";
import { healthOperation, type Part } from "./health/operations.ts";
import { type IntegrationDeps, integrationOperations } from "./integrations/operations.ts";
import { keyOperations } from "./keys/operations.ts";
import { type KnowledgeDeps, knowledgeOperations } from "./knowledge/operations.ts";
import { liveOperations } from "./live/operations.ts";
import type { ChatDeps } from "./llm-chat/chat.ts";
import { chatOperation } from "./llm-chat/operations.ts";
import { mappingOperations } from "./mappings/operations.ts";
import { type McpServerDeps, mcpServerOperations } from "./mcp-servers/operations.ts";
import type { Memory } from "./memory/open.ts";
import { memoryOperations } from "./memory/operations.ts";
import type { Queues } from "./message-queues/open.ts";
import { queueOperations } from "./message-queues/operations.ts";
import { pauseOperations } from "./pauses/operations.ts";
import type { Bus } from "./platform/bus.ts";
import type { BoundOperation } from "./platform/operation.ts";
import type { Setting } from "./platform/settings.ts";
import type { Connections } from "./plugins/connections.ts";
import { type PluginDeps, pluginOperations } from "./plugins/operations.ts";
import { policyOperations } from "./policy/operations.ts";
import type { Policies } from "./policy/policies.ts";
import { type PollParts, pollSourceOperations } from "./poll-sources/operations.ts";
import { projectOperations } from "./projects/operations.ts";
import { type RetentionParts, retentionOperations } from "./retention/operations.ts";
import { type SourceDeps, sourceOperations } from "./sources/operations.ts";
import { type StatusParts, statusOperation } from "./status/operations.ts";
import { subjectOperations } from "./subjects/operations.ts";
import { taskOperations } from "./tasks/operations.ts";
import { type ToolExecutionDeps, toolExecutionOperations } from "./tool-executions/operations.ts";
import { type ToolDeps, toolOperations } from "./tools/operations.ts";
import { usageOperation } from "./usage/operations.ts";
import { useCaseOperations } from "./use-cases/operations.ts";
import { watchdogOperation } from "./watchdog/operations.ts";
import { type WebhookMappingDeps, webhookMappingOperations } from "./webhook-mappings/operations.ts";
import type { DeferredWebhooks } from "./webhooks/deferred/defer.ts";
import { type ExplainDeps, explainOperation } from "./webhooks/explain.ts";
import type { Receiver } from "./webhooks/receive.ts";
import type { Routing } from "./webhooks/routing.ts";

/** Dependencies of the operations besides the database. */
export interface Parts {
  readonly bus: Bus;
  readonly policies: Policies;
  readonly routing: Routing;
  readonly receiver: Receiver;
  readonly explain: ExplainDeps;
  readonly connections: Connections;
  /** Names of the sources of the loaded plugins and of the webhook mappings. */
  readonly sources: () => Iterable<string>;
  readonly webhookMappings: WebhookMappingDeps;
  readonly integrations: IntegrationDeps;
  readonly tools: ToolDeps;
  readonly toolExecutions: ToolExecutionDeps;
  readonly mcpServers: McpServerDeps;
  readonly chat: ChatDeps;
  readonly gateway: GatewayParts;
  readonly memory: Memory;
  readonly knowledge: KnowledgeDeps;
  readonly health: readonly Part[];
  readonly status: StatusParts;
  readonly settings: readonly Setting[];
  readonly deferredWebhooks: DeferredWebhooks["backlogs"];
  readonly watchdogEnabled: boolean;
  readonly plugins: PluginDeps;
  readonly polls: Omit<PollParts, "receiver">;
  readonly queues: Queues;
  readonly webhookChecks: SourceDeps;
  readonly retention: RetentionParts;
  readonly useCases: ReadonlyMap<string, UseCase>;
}

/** All operations. HTTP, gRPC and the generated files are derived from this list. */
export const bindAll = (parts: Parts): BoundOperation[] => [
  ...agentOperations(parts.bus),
  ...capabilityOperations,
  ...auditOperations(parts.sources),
  ...projectOperations(
    parts.bus,
    async (_, project_id, limit) => (await parts.memory.list([{ project_id }], { limit, offset: 0 })).items,
  ),
  ...policyOperations(parts.policies),
  ...taskOperations(parts.bus, parts.routing, parts.webhookMappings.eventNames),
  ...mappingOperations(parts.bus, parts.sources, parts.webhookMappings.eventNames),
  ...executionOperations(parts.bus, parts.sources),
  explainOperation(parts.explain),
  ...eventOperations(parts.receiver, parts.sources),
  ...webhookMappingOperations(parts.webhookMappings),
  ...integrationOperations(parts.integrations),
  ...toolOperations(parts.tools),
  ...toolExecutionOperations(parts.toolExecutions),
  ...mcpServerOperations(parts.mcpServers),
  chatOperation(parts.chat),
  ...memoryOperations(parts.memory),
  ...knowledgeOperations(parts.knowledge),
  ...keyOperations(parts.bus),
  usageOperation,
  ...retentionOperations(parts.retention),
  watchdogOperation(parts.watchdogEnabled, parts.sources),
  ...gatewayOperations(parts.gateway),
  ...pluginOperations(parts.plugins),
  ...pollSourceOperations({ receiver: parts.receiver, ...parts.polls }),
  ...queueOperations(parts.queues),
  ...sourceOperations(parts.webhookChecks),
  ...useCaseOperations(parts.useCases),
  ...liveOperations,
  ...subjectOperations(parts.sources),
  ...pauseOperations(parts.bus, parts.sources),
  statusOperation(parts.status),
  configurationOperation(parts.settings),
  healthOperation(parts.health, { plugins: () => parts.plugins.manager.notServing(), deferredWebhooks: parts.deferredWebhooks }),
];
