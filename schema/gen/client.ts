// Generated from openapi.json by `npm run generate`; do not edit.

export type Agent = { id: string; name: string; role_id: "pm" | "ta" | "qa" | "dev" | "hub"; description?: (string | null) | undefined; prompt: string; context?: (string | null) | undefined; identity?: (string | null) | undefined; responsibilities: (string)[]; constraints: (string)[]; communication_style?: (string | null) | undefined; model?: (string | null) | undefined; temperature?: (number | null) | undefined; allowed_tools?: ((string)[] | null) | undefined; policy: { trigger_allowed_bots?: (string)[] | undefined; trigger_min_standing?: "owner" | "member" | "collaborator" | "contributor" | "none" | undefined; write_min_standing?: "owner" | "member" | "collaborator" | "contributor" | "none" | undefined; loop_max_hops?: number | undefined; run_tokens?: number | undefined; run_seconds?: number | undefined; run_writes?: number | undefined; issue_runs_per_hour?: number | undefined; issue_tokens_per_day?: number | undefined; author_runs_per_hour?: number | undefined; day_tokens?: number | undefined; day_usd?: number | undefined; month_usd?: number | undefined; on_close?: "cancel" | "finish" | undefined; targets?: "issue" | "project" | "any" | undefined; reads?: "project" | "any" | undefined; allow?: ("mentions" | "images" | "closing" | "commands")[] | undefined; staged?: boolean | undefined; approve?: (string)[] | undefined; presence?: "off" | "reaction" | "comment" | undefined }; trust_level: "default" | "trusted" | "privileged"; auth_enabled: boolean; capabilities: (string)[]; created_at: string; updated_at: string };

export type ApiKey = { id: number; name: string; hint: string; scopes: (KeyScope)[]; agent_ids: ((string)[] | null); projects: ((number)[] | null); expires_at: (string | null); created_at: string; last_used_at: (string | null); revoked_at: (string | null) };

export type AppliedPolicy = { agent_id: (string | null); project_id: (number | null); policy: EffectivePolicy };

export type AttemptEvent = { attempt: number; event: string; detail: (string | null); agent_id: (string | null); at: string };

export type AuditEntry = { id: string; agent_id: string; execution_id: (string | null); event: AuditEvent; detail: (string | null); prompt_tokens: number; completion_tokens: number; duration_ms: (number | null); created_at: string };

export type AuditEvent = "execution.started" | "execution.retried" | "execution.interrupted" | "execution.succeeded" | "execution.failed" | "execution.cancelled" | "execution.restarted" | "execution.held" | "execution.released" | "model.called" | "tool.called" | "answer.posted";

export type AuditLogEntry = { seq: number; actor: string; operation: string; object: string; before?: unknown | undefined; after?: unknown | undefined; request_id: string; created_at: string; hash: string };

export type AuditLogVerification = { state: ChainState; entries: number; first_seq: (number | null); broken_at: (number | null); hash: string };

export type AuditTrail = { execution_id: string; task_id: string; state: TaskExecutionState; entries: (AuditEntry)[] };

export type AuthorKind = "human" | "bot" | "app" | "unknown";

export type BulkAction = "restart" | "cancel" | "release" | "approve" | "reject";

export type BulkEvent = { id: string; source: string; slug: string; delivery_id: (string | null); event_name: (string | null); action: (string | null); actor: (string | null); author: ({ id: (string | null); name: (string | null); kind: AuthorKind; standing: Standing } | null); subject: (string | null); subject_title: (string | null); canonical_triggers: (string)[]; outcome: EventOutcome; reason: (string | null); replay_of: (string | null); polled: boolean; occurred_at: (string | null); received_at: string; body_removed_at: (string | null); unreadable?: string | undefined };

export type BulkExecution = { id: string; task_id: string; event_id: (string | null); agent_id: (string | null); project_id: (number | null); source: string; canonical_trigger: string; subject: (string | null); subject_title: (string | null); state: TaskExecutionState; held_reason: (string | null); held_until: (string | null); waiting_for: (string | null); next_attempt_at: (string | null); reason: (string | null); hop: (number | null); answers: (string | null); attempts: number; result_url: (string | null); error: (string | null); prompt_tokens: number; completion_tokens: number; tool_calls: number; model: (string | null); cost_usd: (number | null); unpriced_tokens: number; dry_run: boolean; duration_ms: (number | null); created_at: string; started_at: (string | null); finished_at: (string | null); transcript_removed_at: (string | null); unreadable?: string | undefined };

export type BulkOfEvents = { action: "replay"; filter: EventFilter; count: number; confirm: (string | null); changed: number; skipped: number; first_error: (string | null); samples: (BulkEvent)[] };

export type BulkOfExecutions = { action: BulkAction; filter: ExecutionFilter; count: number; confirm: (string | null); changed: number; skipped: number; first_error: (string | null); samples: (BulkExecution)[] };

export type Capability = { id: number; agent_id: string; capability: string; created_at: string };

export type ChainState = "intact" | "broken";

export type ChatAnswer = { agent_id: string; model: string; content: string; rounds: number; tool_calls: (ChatToolCall)[]; usage: { prompt_tokens: number; completion_tokens: number; total_tokens: number } };

export type ChatMessage = { role: ChatRole; content: string };

export type ChatRole = "user" | "assistant" | "system";

export type ChatToolCall = { tool: string; status: StepState };

export type CloudEvent = { specversion: "1.0"; id: string; source: string; type: string; subject?: string | undefined; time: string; datacontenttype: "application/json"; data?: unknown | undefined };

export type Configuration = { settings: (Setting)[] };

export type ConnectedAgent = { agent_id: string; streams: number; running: number };

export type ConnectionStatus = "ok" | "failed" | "not_configured";

export type DeliveredEvent = { id: string; source: string; slug: string; delivery_id: (string | null); event_name: (string | null); action: (string | null); actor: (string | null); author: ({ id: (string | null); name: (string | null); kind: AuthorKind; standing: Standing } | null); subject: (string | null); subject_title: (string | null); canonical_triggers: (string)[]; outcome: EventOutcome; reason: (string | null); replay_of: (string | null); polled: boolean; occurred_at: (string | null); received_at: string; body_removed_at: (string | null); unreadable?: string | undefined };

export type EffectivePolicy = { trigger_allowed_bots: { value: (string)[]; level: "settings" | "project" | "agent" }; trigger_min_standing: { value: "owner" | "member" | "collaborator" | "contributor" | "none"; level: "settings" | "project" | "agent" }; write_min_standing: { value: "owner" | "member" | "collaborator" | "contributor" | "none"; level: "settings" | "project" | "agent" }; loop_max_hops: { value: number; level: "settings" | "project" | "agent" }; run_tokens: { value: number; level: "settings" | "project" | "agent" }; run_seconds: { value: number; level: "settings" | "project" | "agent" }; run_writes: { value: number; level: "settings" | "project" | "agent" }; issue_runs_per_hour: { value: number; level: "settings" | "project" | "agent" }; issue_tokens_per_day: { value: number; level: "settings" | "project" | "agent" }; author_runs_per_hour: { value: number; level: "settings" | "project" | "agent" }; day_tokens: { value: number; level: "settings" | "project" | "agent" }; day_usd: { value: number; level: "settings" | "project" | "agent" }; month_usd: { value: number; level: "settings" | "project" | "agent" }; on_close: { value: "cancel" | "finish"; level: "settings" | "project" | "agent" }; targets: { value: "issue" | "project" | "any"; level: "settings" | "project" | "agent" }; reads: { value: "project" | "any"; level: "settings" | "project" | "agent" }; allow: { value: ("mentions" | "images" | "closing" | "commands")[]; level: "settings" | "project" | "agent" }; staged: { value: boolean; level: "settings" | "project" | "agent" }; approve: { value: (string)[]; level: "settings" | "project" | "agent" }; presence: { value: "off" | "reaction" | "comment"; level: "settings" | "project" | "agent" } };

export type Erasure = { dry_run: boolean; subject: (string | null); subjects: (string)[]; actor: (string | null); project_id: (number | null); events: number; executions: number; cancelled: number; steps: number; memories: number };

export type Error = { error: string };

export type EventAuthor = ({ id: (string | null); name: (string | null); kind: AuthorKind; standing: Standing } | null);

export type EventFilter = { from?: string | undefined; to?: string | undefined; subject?: string | undefined; q?: string | undefined; source?: string | undefined; outcome?: "dispatched" | "discarded" | undefined };

export type EventHits = { source: string; event_name: string; action: (string | null); canonical_trigger: string; hits: number; last_at: string };

export type EventOutcome = "dispatched" | "discarded" | "refused";

export type ExecutionFilter = { from?: string | undefined; to?: string | undefined; subject?: string | undefined; q?: string | undefined; finished_from?: string | undefined; finished_to?: string | undefined; state?: TaskExecutionState | undefined; task_id?: string | undefined; agent_id?: string | undefined; project_id?: number | undefined; event_id?: string | undefined };

export type ExecutionRef = { id: string; task_id: string };

export type ExecutionStep = { seq: number; kind: StepKind; state: StepState; name: (string | null); input?: unknown | undefined; output?: unknown | undefined; error: (string | null); prompt_tokens: number; completion_tokens: number; cost_usd: (number | null); duration_ms: number; created_at: string; started_at: string; ended_at: (string | null); unreadable?: string | undefined };

export type ExplainedCheck = { check: string; passes: boolean; reason: string };

export type ExplainedTask = { task_id: string; canonical_trigger: string; starts: boolean; checks: (ExplainedCheck)[] };

export type Explanation = { source: string; event: string; action: (string | null); subject: (string | null); author: EventAuthor; outcome: "dispatched" | "discarded"; reason: (string | null); canonical_trigger: (string | null); canonical_triggers: (string)[]; checks: (ExplainedCheck)[]; tasks: (ExplainedTask)[] };

export type FailedMcpServer = { name: string; error: string };

export type Health = { status: "ok" | "degraded"; timestamp: string; plugins?: (PluginNotServing)[] | undefined; deferred_webhooks?: (PathBacklog)[] | undefined; down?: (string)[] | undefined };

export type IngestionJob = { id: string; knowledge_source_id: string; status: IngestionStatus; pages_seen: number; pages_changed: number; pages_deleted: number; chunks_written: number; error: (string | null); created_at: string; started_at: (string | null); finished_at: (string | null) };

export type IngestionStatus = "queued" | "running" | "succeeded" | "failed";

export type Integration = { id: string; source: string; name: string; credentials: { [name: string]: string }; missing: (string)[]; agent_id: (string | null); project_id: (number | null); created_at: string; updated_at: string };

export type IsolationLayer = { layer: IsolationLayerName; active: boolean; reason: (string | null) };

export type IsolationLayerName = "limits" | "no_new_privileges" | "own_user" | "namespaces" | "seccomp";

export type KeyScope = "agent" | "read" | "write" | "admin";

export type KnowledgeSource = { id: string; name: string; type: string; config: { [name: string]: unknown }; project_id: (number | null); enabled: boolean; last_synced_at: (string | null); created_at: string; updated_at: string };

export type LiveChange = { execution_id: string; execution: ({ id: string; task_id: string; event_id: (string | null); agent_id: (string | null); project_id: (number | null); source: string; canonical_trigger: string; subject: (string | null); subject_title: (string | null); state: TaskExecutionState; held_reason: (string | null); held_until: (string | null); waiting_for: (string | null); next_attempt_at: (string | null); reason: (string | null); hop: (number | null); answers: (string | null); attempts: number; result_url: (string | null); error: (string | null); prompt_tokens: number; completion_tokens: number; tool_calls: number; model: (string | null); cost_usd: (number | null); unpriced_tokens: number; dry_run: boolean; duration_ms: (number | null); created_at: string; started_at: (string | null); finished_at: (string | null); transcript_removed_at: (string | null); unreadable?: string | undefined } | null); step: ({ seq: number; kind: StepKind; state: StepState; name: (string | null); input?: unknown | undefined; output?: unknown | undefined; error: (string | null); prompt_tokens: number; completion_tokens: number; cost_usd: (number | null); duration_ms: number; created_at: string; started_at: string; ended_at: (string | null); unreadable?: string | undefined } | null) };

export type McpDiscovery = { servers: number; tools: number; failed: (FailedMcpServer)[] };

export type McpServer = { id: number; name: string; url: string; agent_id: (string | null); status: "pending" | "connected" | "failed"; tools: (McpServerTool)[]; last_error: (string | null); version: string; changes: (McpToolChange)[]; checked_at: (string | null); created_at: string };

export type McpServerTool = { name: string; qualified_name: string; description: string; approved: boolean };

export type McpToolChange = { name: string; before: ({ description: string; parameters?: unknown | undefined; read_only: boolean; idempotent: boolean } | null); after: McpToolVersion };

export type McpToolVersion = { description: string; parameters?: unknown | undefined; read_only: boolean; idempotent: boolean };

export type Memory = { id: string; key: string; content: string; scope: "task" | "agent" | "project" | "organizational"; agent_id: (string | null); project_id: (number | null); task_id: (string | null); created_at: string; updated_at: string };

export type MemoryFound = { key: string; content: string; scope: "task" | "agent" | "project" | "organizational"; agent_id: (string | null); project_id: (number | null); similarity: number; created_at: string };

export type MemoryListed = { key: string; content: string; scope: "task" | "agent" | "project" | "organizational"; agent_id: (string | null); project_id: (number | null); created_at: string; updated_at: string };

export type MemoryUse = { execution_id: string; task_id: string; agent_id: (string | null); subject: (string | null); state: TaskExecutionState; created_at: string };

export type NewApiKey = { id: number; name: string; hint: string; scopes: (KeyScope)[]; agent_ids: ((string)[] | null); projects: ((number)[] | null); expires_at: (string | null); created_at: string; last_used_at: (string | null); revoked_at: (string | null); key: string };

export type OptionalMappings = "comments" | "reviews" | "updates" | "closes";

export type PathBacklog = { plugin: string; slug: string; count: number; oldest_at: string };

export type Pause = { scope: PauseScope; id: (string | null); reason: string; paused_by: string; paused_at: string };

export type PauseScope = "all" | "project" | "agent" | "source";

export type Plugin = { id: string; version: (string | null); title: (string | null); about: (string | null); kinds: (string)[]; tools: (string)[]; sources: (string)[]; routes: (PluginRoute)[]; origin: "environment" | "installed"; tier: "sandbox" | "in_process"; state: "installed" | "approved" | "enabled" | "starting" | "ready" | "degraded" | "backoff" | "quarantined" | "stopped"; code: (string | null); reason: (string | null); crashes: number; memory_bytes: (number | null); sha256: (string | null); permissions: { http: ({ host: string; methods: (string)[]; why: string })[]; operations: ({ id: string; why: string })[]; open_routes: ({ name: string; why: string })[] }; denied: (string)[]; needs: (string)[]; settings: (PluginSetting)[]; waiting: ({ version: string; widens: (string)[]; breaks: (string)[] } | null); versions: (PluginVersion)[]; created_at: (string | null); updated_at: (string | null) };

export type PluginHost = { host: string; methods: (string)[] };

export type PluginIsolation = { required: boolean; layers: (IsolationLayer)[] };

export type PluginLog = { lines: (PluginLogLine)[] };

export type PluginLogLine = { time: string; message: string; fields: { [name: string]: unknown } };

export type PluginNotServing = { id: string; state: "backoff" | "quarantined" };

export type PluginRoute = { path: string; method: string; scope: string; about: string };

export type PluginSetting = { name: string; title: (string | null); secret: boolean; injected: boolean; set: boolean; required: boolean; of_account: boolean };

export type PluginVersion = { version: string; sha256: string; origin: (string | null); integrity: (string | null); publisher: (string | null); rolled_back_at: (string | null); approved_at: (string | null); installed_at: string; breaks: (string)[] };

export type PollResult = { fetched: number; accepted: number; duplicates: number };

export type PollSource = { id: number; source: string; project_id: string; interval_minutes: number; enabled: boolean; since: (string | null); cursor: (string | null); last_polled_at: (string | null); last_error: (string | null); created_at: string; updated_at: string };

export type Project = { id: number; name: string; description?: (string | null) | undefined; source: SourceId; source_project_id: string; policy: { trigger_allowed_bots?: (string)[] | undefined; trigger_min_standing?: "owner" | "member" | "collaborator" | "contributor" | "none" | undefined; write_min_standing?: "owner" | "member" | "collaborator" | "contributor" | "none" | undefined; loop_max_hops?: number | undefined; run_tokens?: number | undefined; run_seconds?: number | undefined; run_writes?: number | undefined; issue_runs_per_hour?: number | undefined; issue_tokens_per_day?: number | undefined; author_runs_per_hour?: number | undefined; day_tokens?: number | undefined; day_usd?: number | undefined; month_usd?: number | undefined; on_close?: "cancel" | "finish" | undefined; targets?: "issue" | "project" | "any" | undefined; reads?: "project" | "any" | undefined; allow?: ("mentions" | "images" | "closing" | "commands")[] | undefined; staged?: boolean | undefined; approve?: (string)[] | undefined; presence?: "off" | "reaction" | "comment" | undefined }; created_at: string; updated_at: string };

export type Proposal = { id: string; seq: number; kind: ProposalKind; tool: (string | null); target: (string | null); parameters?: unknown | undefined; body: (string | null); state: ProposalState; error: (string | null); url: (string | null); decided_by: (string | null); decided_at: (string | null); expires_at: (string | null); unreadable?: string | undefined };

export type ProposalKind = "tool" | "comment";

export type ProposalState = "proposed" | "applied" | "rejected" | "expired" | "failed" | "dry_run";

export type ReceiptStatus = "accepted" | "discarded" | "duplicate";

export type RefusedPlugin = { name: string; code: string; reason: string };

export type Replica = { id: string; host: string; role: "all" | "api" | "worker"; version: string; running: number; started_at: string; seen_at: string; silent_seconds: (number | null); this: boolean };

export type Resolution = { source: string; event: string; action: (string | null); canonical_trigger: (string | null); tasks: (Task)[] };

export type RetentionRule = { what: string; setting: (string | null); days: number; due: number };

export type RotatedIntegration = { id: string; source: string; name: string; credentials: { [name: string]: string }; missing: (string)[]; agent_id: (string | null); project_id: (number | null); created_at: string; updated_at: string; webhook_secret: (string | null) };

export type RoutingHits = { from: string; events: (EventHits)[]; tasks: (TaskHits)[] };

export type Seeded = { created: number; skipped: number };

export type Setting = { name: string; value: (string | null); default: (string | null); source: "environment" | "file" | "default"; secret: boolean; about: string };

export type SourceEventMapping = { id: number; source: string; event_name: string; action: (string | null); canonical_trigger: string; created_at: string };

export type SourceId = "alpha" | "beta" | "gamma" | "delta";

export type Standing = "owner" | "member" | "collaborator" | "contributor" | "none" | "unknown";

export type Status = { state: "ok" | "degraded" | "stopped"; checks: (StatusCheck)[]; queue: ({ queued: number; running: number; held: number; waiting: number; failed_last_hour: number; oldest_queued_seconds: (number | null); p50_wait_ms: (number | null) } | null); paused: (Pause)[]; replicas: (Replica)[]; agents: (ConnectedAgent)[]; version: string; timestamp: string };

export type StatusCheck = { name: string; state: "ok" | "degraded" | "failed" | "unknown"; since: string; message: string; next_try_at: (string | null); connection: ({ account: (string | null); may_write: (boolean | null); rate_limit: ({ remaining: number; limit: (number | null); resets_at: (string | null) } | null) } | null) };

export type StepKind = "prompt" | "model" | "tool" | "post";

export type StepState = "started" | "succeeded" | "failed" | "dry_run" | "proposed" | "rejected" | "expired";

export type Storage = { bytes: number; tables: (StorageTable)[]; retention: (RetentionRule)[] };

export type StorageTable = { name: string; rows: number; bytes: number; bytes_per_day: (number | null) };

export type SubjectDelivery = { event: DeliveredEvent; verdict: string; executions: (SubjectExecution)[] };

export type SubjectExecution = { id: string; task_id: string; event_id: (string | null); agent_id: (string | null); project_id: (number | null); source: string; canonical_trigger: string; subject: (string | null); subject_title: (string | null); state: TaskExecutionState; held_reason: (string | null); held_until: (string | null); waiting_for: (string | null); next_attempt_at: (string | null); reason: (string | null); hop: (number | null); answers: (string | null); attempts: number; result_url: (string | null); error: (string | null); prompt_tokens: number; completion_tokens: number; tool_calls: number; model: (string | null); cost_usd: (number | null); unpriced_tokens: number; dry_run: boolean; duration_ms: (number | null); created_at: string; started_at: (string | null); finished_at: (string | null); transcript_removed_at: (string | null); unreadable?: string | undefined; verdict: string };

export type SubjectFound = { subject: string; source: string; project: string; issue: string; title: (string | null); events: number; last_event_at: string };

export type SubjectTimeline = { subject: string; source: string; project: string; issue: string; title: (string | null); verdict: string; deliveries: (SubjectDelivery)[]; more: boolean; refused: ({ id: string; source: string; slug: string; delivery_id: (string | null); event_name: (string | null); action: (string | null); actor: (string | null); author: ({ id: (string | null); name: (string | null); kind: AuthorKind; standing: Standing } | null); subject: (string | null); subject_title: (string | null); canonical_triggers: (string)[]; outcome: EventOutcome; reason: (string | null); replay_of: (string | null); polled: boolean; occurred_at: (string | null); received_at: string; body_removed_at: (string | null); unreadable?: string | undefined })[]; deferred: ({ count: number; plugin: string; oldest_at: string } | null) };

export type TakenEvents = { events: (CloudEvent)[] };

export type Task = { id: string; name: string; description: string; actor_id: string; actor_fallback?: (string | null) | undefined; required_capabilities: (string)[]; created_at: string; updated_at: string };

export type TaskExecution = { id: string; task_id: string; event_id: (string | null); agent_id: (string | null); project_id: (number | null); source: string; canonical_trigger: string; subject: (string | null); subject_title: (string | null); state: TaskExecutionState; held_reason: (string | null); held_until: (string | null); waiting_for: (string | null); next_attempt_at: (string | null); reason: (string | null); hop: (number | null); answers: (string | null); attempts: number; result?: (string | null) | undefined; result_url: (string | null); error: (string | null); prompt_tokens: number; completion_tokens: number; tool_calls: number; model: (string | null); cost_usd: (number | null); unpriced_tokens: number; dry_run: boolean; duration_ms: (number | null); created_at: string; started_at: (string | null); finished_at: (string | null); transcript_removed_at: (string | null); unreadable?: string | undefined };

export type TaskExecutionState = "queued" | "held" | "running" | "waiting" | "succeeded" | "failed" | "cancelled";

export type TaskExecutionWithProposals = { id: string; task_id: string; event_id: (string | null); agent_id: (string | null); project_id: (number | null); source: string; canonical_trigger: string; subject: (string | null); subject_title: (string | null); state: TaskExecutionState; held_reason: (string | null); held_until: (string | null); waiting_for: (string | null); next_attempt_at: (string | null); reason: (string | null); hop: (number | null); answers: (string | null); attempts: number; result?: (string | null) | undefined; result_url: (string | null); error: (string | null); prompt_tokens: number; completion_tokens: number; tool_calls: number; model: (string | null); cost_usd: (number | null); unpriced_tokens: number; dry_run: boolean; duration_ms: (number | null); created_at: string; started_at: (string | null); finished_at: (string | null); transcript_removed_at: (string | null); unreadable?: string | undefined; proposals: (Proposal)[] };

export type TaskExecutionWithTranscript = { id: string; task_id: string; event_id: (string | null); agent_id: (string | null); project_id: (number | null); source: string; canonical_trigger: string; subject: (string | null); subject_title: (string | null); state: TaskExecutionState; held_reason: (string | null); held_until: (string | null); waiting_for: (string | null); next_attempt_at: (string | null); reason: (string | null); hop: (number | null); answers: (string | null); attempts: number; result?: (string | null) | undefined; result_url: (string | null); error: (string | null); prompt_tokens: number; completion_tokens: number; tool_calls: number; model: (string | null); cost_usd: (number | null); unpriced_tokens: number; dry_run: boolean; duration_ms: (number | null); created_at: string; started_at: (string | null); finished_at: (string | null); transcript_removed_at: (string | null); unreadable?: string | undefined; proposals: (Proposal)[]; memories: (string)[]; history: (AttemptEvent)[]; transcript: (ExecutionStep)[] };

export type TaskHits = { task_id: string; canonical_trigger: string; hits: number; last_at: string };

export type Tokens = { prompt: number; completion: number; total: number };

export type Tool = { qualified_name: string; name: string; provider: string; description: string; category: (string | null); parameters: { [name: string]: ToolParameter }; origin: "builtin" | "plugin" | "mcp" | "database"; endpoint: (string | null); agent_id: (string | null); stored: boolean; created_at: (string | null); updated_at: (string | null) };

export type ToolExecution = { id: string; execution_id: (string | null); agent_id: (string | null); tool: string; parameters?: unknown | undefined; result?: unknown | undefined; status: "started" | "succeeded" | "failed" | "dry_run" | "proposed" | "rejected" | "expired"; error: (string | null); prompt_tokens: number; completion_tokens: number; duration_ms: number; created_at: string };

export type ToolParameter = { type: "string" | "integer" | "number" | "boolean" | "array" | "object" | "any"; required?: boolean | undefined; description?: string | undefined };

export type TrackerIssue = ({ key: string; url: string } | null);

export type TriggerTaskMapping = { id: number; canonical_trigger: string; task_id: string; conditions: { min_standing?: "owner" | "member" | "collaborator" | "contributor" | "none" | undefined; mention?: string | undefined; label?: string | undefined; projects?: (string)[] | undefined }; created_at: string };

export type Usage = { tokens: Tokens; tasks: { total: number; succeeded: number; failed: number; running: number; queued: number }; tool_calls: { total: number; failed: number }; from?: (string | null) | undefined; to?: (string | null) | undefined; runs?: number | undefined; failed?: number | undefined; held?: number | undefined; cost_usd?: (number | null) | undefined; unpriced_tokens?: number | undefined; p50_duration_ms?: (number | null) | undefined; p95_duration_ms?: (number | null) | undefined; groups?: (UsageGroup)[] | undefined };

export type UsageGroup = { day?: string | undefined; month?: string | undefined; project_id?: (number | null) | undefined; agent_id?: (string | null) | undefined; model?: (string | null) | undefined; task_id?: (string | null) | undefined; source?: (string | null) | undefined; tokens: Tokens; tool_calls: number; runs: number; failed: number; held: number; cost_usd: (number | null); unpriced_tokens: number; p50_duration_ms: (number | null); p95_duration_ms: (number | null) };

export type UsageStats = { agent_id: string; tasks: { total: number; succeeded: number; failed: number }; tokens: Tokens; tool_calls: number; avg_duration_ms: (number | null) };

export type UseCaseProject = { project_id: string; name: string; id: number };

export type UseCaseSetup = { status: string; project: UseCaseProject; agents_verified: (string)[]; tracker_issue: TrackerIssue; next_steps: (string)[] };

export type UseCaseTeardown = { status: string; project_deleted: boolean; issue_closed: boolean };

export type WatchdogEntry = { id: number; level: WatchdogLevel; message: string; context: { [name: string]: unknown }; created_at: string };

export type WatchdogLevel = "info" | "warn" | "error";

export type WebhookEvent = { id: string; source: string; slug: string; delivery_id: (string | null); event_name: (string | null); action: (string | null); actor: (string | null); author: ({ id: (string | null); name: (string | null); kind: AuthorKind; standing: Standing } | null); subject: (string | null); subject_title: (string | null); canonical_triggers: (string)[]; outcome: EventOutcome; reason: (string | null); replay_of: (string | null); polled: boolean; occurred_at: (string | null); received_at: string; body_removed_at: (string | null); payload?: unknown | undefined; unreadable?: string | undefined };

export type WebhookEventWithPayload = { id: string; source: string; slug: string; delivery_id: (string | null); event_name: (string | null); action: (string | null); actor: (string | null); author: ({ id: (string | null); name: (string | null); kind: AuthorKind; standing: Standing } | null); subject: (string | null); subject_title: (string | null); canonical_triggers: (string)[]; outcome: EventOutcome; reason: (string | null); replay_of: (string | null); polled: boolean; occurred_at: (string | null); received_at: string; body_removed_at: (string | null); payload?: unknown | undefined; unreadable?: string | undefined; executions: ({ id: string; task_id: string; state: TaskExecutionState })[] };

export type WebhookMapping = { id: number; source: string; event_type: (string | null); jq_filter: (string | null); canonical_trigger: (string | null); path_pattern: (string | null); extraction_rules: ({ [name: string]: string } | null); auth: ({ method: "none" } | { method: "hmac_sha256"; header: string; prefix?: string | undefined } | { method: "token"; header: string } | { method: "ip_allowlist"; cidrs: (string)[] }); created_at: string; updated_at: string };

export type WebhookReceipt = { event_id: string; status: ReceiptStatus; canonical_trigger?: (string | null) | undefined; canonical_triggers?: (string)[] | undefined; executions?: (ExecutionRef)[] | undefined };

export type WebhookReport = { source: string; url: string; ok: boolean; id: (string | null); active: boolean; configured: (string)[]; missing: (string)[]; unknown: (string)[]; changed: "created" | "updated" | null; notes: (string)[] };

export type WorkflowContext = { project: Project; agents: (Agent)[]; triggers: ({ canonical_trigger: string; tasks: (Task)[] })[]; recent_executions: (TaskExecution)[]; memories: ({ key: string; content: string; scope: string; agent_id: (string | null); project_id: (number | null); created_at: string; updated_at: string })[] };

export interface Operations {
  "agents.add-capability": { input: { id: string } & { capability: string }; output: Capability };
  "agents.audit": { input: { id: string; limit?: number | undefined; offset?: number | undefined }; output: (AuditEntry)[] };
  "agents.audit-trail": { input: { id: string; limit?: number | undefined; offset?: number | undefined }; output: (AuditTrail)[] };
  "agents.create": { input: { id: string; name: string; role_id: "pm" | "ta" | "qa" | "dev" | "hub"; description?: (string | null) | undefined; prompt: string; context?: (string | null) | undefined; identity?: (string | null) | undefined; responsibilities?: (string)[] | undefined; constraints?: (string)[] | undefined; communication_style?: (string | null) | undefined; model?: (string | null) | undefined; temperature?: (number | null) | undefined; allowed_tools?: ((string)[] | null) | undefined; policy?: { trigger_allowed_bots?: (string)[] | undefined; trigger_min_standing?: "owner" | "member" | "collaborator" | "contributor" | "none" | undefined; write_min_standing?: "owner" | "member" | "collaborator" | "contributor" | "none" | undefined; loop_max_hops?: number | undefined; run_tokens?: number | undefined; run_seconds?: number | undefined; run_writes?: number | undefined; issue_runs_per_hour?: number | undefined; issue_tokens_per_day?: number | undefined; author_runs_per_hour?: number | undefined; day_tokens?: number | undefined; day_usd?: number | undefined; month_usd?: number | undefined; on_close?: "cancel" | "finish" | undefined; targets?: "issue" | "project" | "any" | undefined; reads?: "project" | "any" | undefined; allow?: ("mentions" | "images" | "closing" | "commands")[] | undefined; staged?: boolean | undefined; approve?: (string)[] | undefined; presence?: "off" | "reaction" | "comment" | undefined } | undefined; trust_level?: "default" | "trusted" | "privileged" | undefined; auth_enabled?: boolean | undefined; auth_secret?: string | undefined }; output: Agent };
  "agents.delete": { input: { id: string }; output: null };
  "agents.get": { input: { id: string }; output: Agent };
  "agents.list": { input: { limit?: number | undefined; offset?: number | undefined }; output: (Agent)[] };
  "agents.list-capabilities": { input: { id: string; limit?: number | undefined; offset?: number | undefined }; output: (Capability)[] };
  "agents.remove-capability": { input: { id: string; capability_id: number }; output: null };
  "agents.seed": { input: {  }; output: Seeded };
  "agents.seed-capabilities": { input: {  }; output: Seeded };
  "agents.update": { input: { id: string } & { name?: string | undefined; role_id?: "pm" | "ta" | "qa" | "dev" | "hub" | undefined; description?: (string | null) | undefined; prompt?: string | undefined; context?: (string | null) | undefined; identity?: (string | null) | undefined; responsibilities?: (string)[] | undefined; constraints?: (string)[] | undefined; communication_style?: (string | null) | undefined; model?: (string | null) | undefined; temperature?: (number | null) | undefined; allowed_tools?: ((string)[] | null) | undefined; policy?: { trigger_allowed_bots?: (string)[] | undefined; trigger_min_standing?: "owner" | "member" | "collaborator" | "contributor" | "none" | undefined; write_min_standing?: "owner" | "member" | "collaborator" | "contributor" | "none" | undefined; loop_max_hops?: number | undefined; run_tokens?: number | undefined; run_seconds?: number | undefined; run_writes?: number | undefined; issue_runs_per_hour?: number | undefined; issue_tokens_per_day?: number | undefined; author_runs_per_hour?: number | undefined; day_tokens?: number | undefined; day_usd?: number | undefined; month_usd?: number | undefined; on_close?: "cancel" | "finish" | undefined; targets?: "issue" | "project" | "any" | undefined; reads?: "project" | "any" | undefined; allow?: ("mentions" | "images" | "closing" | "commands")[] | undefined; staged?: boolean | undefined; approve?: (string)[] | undefined; presence?: "off" | "reaction" | "comment" | undefined } | undefined; trust_level?: "default" | "trusted" | "privileged" | undefined; auth_enabled?: boolean | undefined; auth_secret?: string | undefined }; output: Agent };
  "agents.usage-stats": { input: { id: string }; output: UsageStats };
  "audit-log.list": { input: { limit?: number | undefined; offset?: number | undefined; from?: string | undefined; to?: string | undefined; subject?: string | undefined; q?: string | undefined; order?: "desc" | "asc" | undefined; cursor?: string | undefined; actor?: string | undefined; operation?: string | undefined; object?: string | undefined }; output: (AuditLogEntry)[] };
  "audit.verify": { input: {  }; output: AuditLogVerification };
  "configuration.get": { input: {  }; output: Configuration };
  "data.erase": { input: { subject?: string | undefined; actor?: string | undefined; project_id?: number | undefined; dry_run?: boolean | undefined }; output: Erasure };
  "events.follow": { input: { seconds?: number | undefined }; output: null };
  "health.get": { input: {  }; output: Health };
  "integrations.create": { input: { source: string; name: string; credentials: { [name: string]: (string | boolean | number) }; agent_id?: (string | null) | undefined; project_id?: (number | null) | undefined }; output: Integration };
  "integrations.delete": { input: { id: string }; output: null };
  "integrations.get": { input: { id: string }; output: Integration };
  "integrations.list": { input: { limit?: number | undefined; offset?: number | undefined }; output: (Integration)[] };
  "integrations.reencrypt": { input: {  }; output: { reencrypted: number; unchanged: number; failed: number } };
  "integrations.rotate-secret": { input: { id: string } & { webhook_secret?: string | undefined }; output: RotatedIntegration };
  "integrations.test": { input: { source: string }; output: { status: ConnectionStatus; source: string } };
  "integrations.test-stored": { input: { source: string }; output: { id: string; source: string; status: ConnectionStatus; account: (string | null); message: string } };
  "integrations.update": { input: { id: string } & { name?: string | undefined; credentials?: { [name: string]: (string | boolean | number) } | undefined; agent_id?: (string | null) | undefined; project_id?: (number | null) | undefined }; output: Integration };
  "keys.create": { input: { name: string; scopes: (KeyScope)[]; agent_ids?: ((string)[] | null) | undefined; projects?: ((number)[] | null) | undefined; expires_at?: (string | null) | undefined }; output: NewApiKey };
  "keys.list": { input: { limit?: number | undefined; offset?: number | undefined }; output: (ApiKey)[] };
  "keys.revoke": { input: { id: number }; output: null };
  "knowledge-sources.create": { input: { name: string; config: { [name: string]: unknown }; project_id?: (number | null) | undefined; enabled?: boolean | undefined; type: string }; output: KnowledgeSource };
  "knowledge-sources.delete": { input: { id: string }; output: null };
  "knowledge-sources.get": { input: { id: string }; output: KnowledgeSource };
  "knowledge-sources.jobs": { input: { id: string; limit?: number | undefined; offset?: number | undefined }; output: (IngestionJob)[] };
  "knowledge-sources.list": { input: { limit?: number | undefined; offset?: number | undefined }; output: (KnowledgeSource)[] };
  "knowledge-sources.sync": { input: { id: string }; output: IngestionJob };
  "knowledge-sources.update": { input: { id: string } & { name?: string | undefined; config?: { [name: string]: unknown } | undefined; project_id?: (number | null) | undefined; enabled?: boolean | undefined }; output: KnowledgeSource };
  "llm.chat": { input: { agent_id: string; messages: (ChatMessage)[]; stream?: boolean | undefined }; output: ChatAnswer };
  "mcp-servers.approve": { input: { id: number } & { version?: string | undefined }; output: McpServer };
  "mcp-servers.create": { input: { name: string; url: string; agent_id?: (string | null) | undefined }; output: McpServer };
  "mcp-servers.delete": { input: { id: number }; output: null };
  "mcp-servers.discover": { input: {  }; output: McpDiscovery };
  "mcp-servers.list": { input: { limit?: number | undefined; offset?: number | undefined }; output: (McpServer)[] };
  "memory.create": { input: { key: string; content: string; scope: "task" | "agent" | "project" | "organizational"; agent_id?: (string | null) | undefined; project_id?: (number | null) | undefined; task_id?: (string | null) | undefined; ttl_seconds?: (number | null) | undefined }; output: Memory };
  "memory.delete": { input: { key: string }; output: null };
  "memory.get": { input: { key: string }; output: Memory };
  "memory.list": { input: { limit?: number | undefined; offset?: number | undefined; agent_id?: string | undefined; project_id?: number | undefined; scope?: "task" | "agent" | "project" | "organizational" | undefined }; output: (MemoryListed)[] };
  "memory.search": { input: { query: string; agent_id?: string | undefined; project_id?: number | undefined; scope?: "task" | "agent" | "project" | "organizational" | undefined; mode?: "semantic" | "keyword" | "hybrid" | undefined; limit?: number | undefined }; output: (MemoryFound)[] };
  "memory.uses": { input: { key: string; limit?: number | undefined; offset?: number | undefined }; output: (MemoryUse)[] };
  "pauses.list": { input: { limit?: number | undefined; offset?: number | undefined }; output: (Pause)[] };
  "pauses.pause": { input: { scope: "all" | "project" | "agent" | "source"; id?: (string | number) | undefined; reason: string }; output: Pause };
  "pauses.resume": { input: { scope: "all" | "project" | "agent" | "source"; id?: (string | number) | undefined }; output: Pause };
  "plugins.approve": { input: { id: string } & { version?: string | undefined }; output: Plugin };
  "plugins.configure": { input: { id: string } & { settings: { [name: string]: (string | null) } }; output: Plugin };
  "plugins.disable": { input: { id: string }; output: Plugin };
  "plugins.enable": { input: { id: string }; output: Plugin };
  "plugins.get": { input: { id: string }; output: Plugin };
  "plugins.install": { input: { manifest: { [name: string]: unknown }; bundle: string; origin?: string | undefined; publisher?: string | undefined; integrity?: string | undefined }; output: Plugin };
  "plugins.isolation": { input: {  }; output: PluginIsolation };
  "plugins.list": { input: { limit?: number | undefined; offset?: number | undefined }; output: (Plugin)[] };
  "plugins.logs": { input: { id: string }; output: PluginLog };
  "plugins.narrow": { input: { id: string } & { http?: (PluginHost)[] | undefined; operations?: (string)[] | undefined; open_routes?: (string)[] | undefined }; output: Plugin };
  "plugins.refused": { input: { limit?: number | undefined; offset?: number | undefined }; output: (RefusedPlugin)[] };
  "plugins.remove": { input: { id: string }; output: null };
  "policy.get": { input: { agent_id?: string | undefined; project_id?: number | undefined }; output: AppliedPolicy };
  "poll-sources.create": { input: { source: string; project_id: string; interval_minutes: number; enabled: boolean; since?: (string | null) | undefined }; output: PollSource };
  "poll-sources.delete": { input: { id: number }; output: null };
  "poll-sources.get": { input: { id: number }; output: PollSource };
  "poll-sources.list": { input: { limit?: number | undefined; offset?: number | undefined }; output: (PollSource)[] };
  "poll-sources.poll": { input: { id: number }; output: PollResult };
  "poll-sources.update": { input: { id: number } & { source?: string | undefined; project_id?: string | undefined; interval_minutes?: number | undefined; enabled?: boolean | undefined; since?: (string | null) | undefined }; output: PollSource };
  "projects.create": { input: { name: string; description?: (string | null) | undefined; source: SourceId; source_project_id: string; policy?: { trigger_allowed_bots?: (string)[] | undefined; trigger_min_standing?: "owner" | "member" | "collaborator" | "contributor" | "none" | undefined; write_min_standing?: "owner" | "member" | "collaborator" | "contributor" | "none" | undefined; loop_max_hops?: number | undefined; run_tokens?: number | undefined; run_seconds?: number | undefined; run_writes?: number | undefined; issue_runs_per_hour?: number | undefined; issue_tokens_per_day?: number | undefined; author_runs_per_hour?: number | undefined; day_tokens?: number | undefined; day_usd?: number | undefined; month_usd?: number | undefined; on_close?: "cancel" | "finish" | undefined; targets?: "issue" | "project" | "any" | undefined; reads?: "project" | "any" | undefined; allow?: ("mentions" | "images" | "closing" | "commands")[] | undefined; staged?: boolean | undefined; approve?: (string)[] | undefined; presence?: "off" | "reaction" | "comment" | undefined } | undefined }; output: Project };
  "projects.delete": { input: { id: number }; output: null };
  "projects.get": { input: { id: number }; output: Project };
  "projects.list": { input: { limit?: number | undefined; offset?: number | undefined }; output: (Project)[] };
  "projects.update": { input: { id: number } & { name?: string | undefined; description?: (string | null) | undefined; source?: SourceId | undefined; source_project_id?: string | undefined; policy?: { trigger_allowed_bots?: (string)[] | undefined; trigger_min_standing?: "owner" | "member" | "collaborator" | "contributor" | "none" | undefined; write_min_standing?: "owner" | "member" | "collaborator" | "contributor" | "none" | undefined; loop_max_hops?: number | undefined; run_tokens?: number | undefined; run_seconds?: number | undefined; run_writes?: number | undefined; issue_runs_per_hour?: number | undefined; issue_tokens_per_day?: number | undefined; author_runs_per_hour?: number | undefined; day_tokens?: number | undefined; day_usd?: number | undefined; month_usd?: number | undefined; on_close?: "cancel" | "finish" | undefined; targets?: "issue" | "project" | "any" | undefined; reads?: "project" | "any" | undefined; allow?: ("mentions" | "images" | "closing" | "commands")[] | undefined; staged?: boolean | undefined; approve?: (string)[] | undefined; presence?: "off" | "reaction" | "comment" | undefined } | undefined }; output: Project };
  "projects.workflow-context": { input: { id: number }; output: WorkflowContext };
  "queues.ack": { input: { queue: string; id: string }; output: null };
  "queues.pending": { input: { queue: string; limit?: number | undefined; offset?: number | undefined }; output: (CloudEvent)[] };
  "queues.take": { input: { queue: string } & { limit?: number | undefined; lease_seconds?: number | undefined }; output: TakenEvents };
  "routing.hits": { input: {  }; output: RoutingHits };
  "sources.check": { input: { source: string } & { project?: string | undefined; integration_id?: string | undefined; url?: string | undefined; apply?: boolean | undefined }; output: WebhookReport };
  "sources.create": { input: { source: string; event_name: string; action?: (string | null) | undefined; canonical_trigger: string }; output: SourceEventMapping };
  "sources.delete": { input: { id: number }; output: null };
  "sources.list": { input: { limit?: number | undefined; offset?: number | undefined }; output: (SourceEventMapping)[] };
  "sources.seed": { input: { include?: (OptionalMappings)[] | undefined }; output: Seeded };
  "status.get": { input: {  }; output: Status };
  "storage.get": { input: {  }; output: Storage };
  "subjects.get": { input: { source: string; project: string; issue: string; limit?: number | undefined }; output: SubjectTimeline };
  "subjects.search": { input: { q: string; limit?: number | undefined }; output: (SubjectFound)[] };
  "task-executions.approve": { input: { id: string } & { proposals?: (string)[] | undefined }; output: TaskExecutionWithProposals };
  "task-executions.bulk": { input: { action: BulkAction; filter: { from?: string | undefined; to?: string | undefined; subject?: string | undefined; q?: string | undefined; finished_from?: string | undefined; finished_to?: string | undefined; state?: TaskExecutionState | undefined; task_id?: string | undefined; agent_id?: string | undefined; project_id?: number | undefined; event_id?: string | undefined }; reason?: string | undefined; expect?: number | undefined; confirm?: string | undefined }; output: BulkOfExecutions };
  "task-executions.cancel": { input: { id: string }; output: TaskExecution };
  "task-executions.events": { input: { id: string; seconds?: number | undefined }; output: null };
  "task-executions.get": { input: { id: string }; output: TaskExecutionWithTranscript };
  "task-executions.list": { input: { limit?: number | undefined; offset?: number | undefined; from?: string | undefined; to?: string | undefined; subject?: string | undefined; q?: string | undefined; order?: "desc" | "asc" | undefined; cursor?: string | undefined; finished_from?: string | undefined; finished_to?: string | undefined; fields?: string | undefined; state?: TaskExecutionState | undefined; task_id?: string | undefined; agent_id?: string | undefined; project_id?: number | undefined; event_id?: string | undefined }; output: (TaskExecution)[] };
  "task-executions.reject": { input: { id: string } & { reason?: string | undefined }; output: TaskExecutionWithProposals };
  "task-executions.release": { input: { id: string }; output: TaskExecution };
  "tasks.create": { input: { id: string; name: string; description: string; actor_id: string; actor_fallback?: (string | null) | undefined; required_capabilities?: (string)[] | undefined }; output: Task };
  "tasks.delete": { input: { id: string }; output: null };
  "tasks.explain": { input: { source: string; path?: string | undefined; headers?: { [name: string]: string } | undefined; payload: { [name: string]: unknown } }; output: Explanation };
  "tasks.get": { input: { id: string }; output: Task };
  "tasks.list": { input: { limit?: number | undefined; offset?: number | undefined }; output: (Task)[] };
  "tasks.resolve": { input: { source: string; event: string; action?: string | undefined }; output: Resolution };
  "tasks.restart": { input: { id: string }; output: TaskExecution };
  "tasks.seed": { input: {  }; output: Seeded };
  "tasks.update": { input: { id: string } & { name?: string | undefined; description?: string | undefined; actor_id?: string | undefined; actor_fallback?: (string | null) | undefined; required_capabilities?: (string)[] | undefined }; output: Task };
  "tool-executions.list": { input: { limit?: number | undefined; offset?: number | undefined; from?: string | undefined; to?: string | undefined; subject?: string | undefined; q?: string | undefined; order?: "desc" | "asc" | undefined; cursor?: string | undefined; fields?: string | undefined; agent_id?: string | undefined; execution_id?: string | undefined; status?: StepState | undefined }; output: (ToolExecution)[] };
  "tools.create": { input: { provider: string; name: string; description?: (string | null) | undefined; category?: (string | null) | undefined; parameters?: ({ [name: string]: ToolParameter } | null) | undefined; endpoint?: (string | null) | undefined }; output: Tool };
  "tools.delete": { input: { qualified_name: string }; output: null };
  "tools.execute": { input: { qualified_name: string } & { parameters?: { [name: string]: unknown } | undefined }; output: ToolExecution };
  "tools.list": { input: { limit?: number | undefined; offset?: number | undefined }; output: (Tool)[] };
  "tools.seed": { input: {  }; output: Seeded };
  "tools.update": { input: { qualified_name: string } & { description?: (string | null) | undefined; category?: (string | null) | undefined; parameters?: ({ [name: string]: ToolParameter } | null) | undefined; endpoint?: (string | null) | undefined }; output: Tool };
  "triggers.create": { input: { canonical_trigger: string; task_id: string; conditions?: { min_standing?: "owner" | "member" | "collaborator" | "contributor" | "none" | undefined; mention?: string | undefined; label?: string | undefined; projects?: (string)[] | undefined } | undefined }; output: TriggerTaskMapping };
  "triggers.delete": { input: { id: number }; output: null };
  "triggers.list": { input: { limit?: number | undefined; offset?: number | undefined }; output: (TriggerTaskMapping)[] };
  "triggers.seed": { input: { include?: (OptionalMappings)[] | undefined }; output: Seeded };
  "usage.get": { input: { from?: string | undefined; to?: string | undefined; group_by?: string | undefined }; output: Usage };
  "use-cases.setup": { input: { use_case: string } & { pm_agent_id?: string | undefined; project_context?: { [name: string]: string } | undefined; source?: string | undefined; project_id?: string | undefined }; output: UseCaseSetup };
  "use-cases.teardown": { input: { use_case: string }; output: UseCaseTeardown };
  "watchdog.list": { input: { limit?: number | undefined; offset?: number | undefined; from?: string | undefined; to?: string | undefined; subject?: string | undefined; q?: string | undefined; order?: "desc" | "asc" | undefined; cursor?: string | undefined; level?: "info" | "warn" | "error" | undefined; search?: string | undefined }; output: (WatchdogEntry)[] };
  "webhook-events.bulk": { input: { action: "replay"; filter: { from?: string | undefined; to?: string | undefined; subject?: string | undefined; q?: string | undefined; source?: string | undefined; outcome?: "dispatched" | "discarded" | undefined }; dry_run?: boolean | undefined; agent_id?: string | undefined; task_id?: string | undefined; prompt?: string | undefined; expect?: number | undefined; confirm?: string | undefined }; output: BulkOfEvents };
  "webhook-events.get": { input: { id: string }; output: WebhookEventWithPayload };
  "webhook-events.list": { input: { limit?: number | undefined; offset?: number | undefined; from?: string | undefined; to?: string | undefined; subject?: string | undefined; q?: string | undefined; order?: "desc" | "asc" | undefined; cursor?: string | undefined; fields?: string | undefined; source?: string | undefined; outcome?: EventOutcome | undefined }; output: (WebhookEvent)[] };
  "webhook-events.replay": { input: { id: string } & { dry_run?: boolean | undefined; agent_id?: string | undefined; task_id?: string | undefined; prompt?: string | undefined }; output: WebhookReceipt };
  "webhook-mappings.create": { input: { source: string; event_type?: (string | null) | undefined; jq_filter?: (string | null) | undefined; canonical_trigger?: (string | null) | undefined; path_pattern?: (string | null) | undefined; extraction_rules?: ({ [name: string]: string } | null) | undefined; auth?: ({ method: "none" } | { method: "hmac_sha256"; header: string; prefix?: string | undefined; secret: string } | { method: "token"; header: string; secret: string } | { method: "ip_allowlist"; cidrs: (string)[] } | null) | undefined }; output: WebhookMapping };
  "webhook-mappings.delete": { input: { id: number }; output: null };
  "webhook-mappings.get": { input: { id: number }; output: WebhookMapping };
  "webhook-mappings.list": { input: { limit?: number | undefined; offset?: number | undefined }; output: (WebhookMapping)[] };
  "webhook-mappings.seed": { input: {  }; output: Seeded };
  "webhook-mappings.update": { input: { id: number } & { source?: string | undefined; event_type?: (string | null) | undefined; jq_filter?: (string | null) | undefined; canonical_trigger?: (string | null) | undefined; path_pattern?: (string | null) | undefined; extraction_rules?: ({ [name: string]: string } | null) | undefined; auth?: ({ method: "none" } | { method: "hmac_sha256"; header: string; prefix?: string | undefined; secret?: string | undefined } | { method: "token"; header: string; secret?: string | undefined } | { method: "ip_allowlist"; cidrs: (string)[] } | null) | undefined }; output: WebhookMapping };
  "webhooks.receive": { input: { slug: string } & { [name: string]: unknown }; output: WebhookReceipt };
}

/** Method and path of each operation. */
export const routes: Readonly<Record<keyof Operations, string>> = {
  "agents.add-capability": "POST /api/agents/{id}/capabilities",
  "agents.audit": "GET /api/agents/{id}/audit",
  "agents.audit-trail": "GET /api/agents/{id}/audit-trail",
  "agents.create": "POST /api/agents",
  "agents.delete": "DELETE /api/agents/{id}",
  "agents.get": "GET /api/agents/{id}",
  "agents.list": "GET /api/agents",
  "agents.list-capabilities": "GET /api/agents/{id}/capabilities",
  "agents.remove-capability": "DELETE /api/agents/{id}/capabilities/{capability_id}",
  "agents.seed": "POST /api/agents/seed",
  "agents.seed-capabilities": "POST /api/agents/capabilities/seed",
  "agents.update": "PUT /api/agents/{id}",
  "agents.usage-stats": "GET /api/agents/{id}/usage-stats",
  "audit-log.list": "GET /api/audit-log",
  "audit.verify": "GET /api/audit-log/verify",
  "configuration.get": "GET /api/configuration",
  "data.erase": "POST /api/erase",
  "events.follow": "GET /api/events",
  "health.get": "GET /health",
  "integrations.create": "POST /api/integrations",
  "integrations.delete": "DELETE /api/integrations/{id}",
  "integrations.get": "GET /api/integrations/{id}",
  "integrations.list": "GET /api/integrations",
  "integrations.reencrypt": "POST /api/integrations/reencrypt",
  "integrations.rotate-secret": "POST /api/integrations/{id}/rotate-secret",
  "integrations.test": "GET /api/integrations/{source}/test",
  "integrations.test-stored": "POST /api/integrations/{source}/test",
  "integrations.update": "PUT /api/integrations/{id}",
  "keys.create": "POST /api/keys",
  "keys.list": "GET /api/keys",
  "keys.revoke": "DELETE /api/keys/{id}",
  "knowledge-sources.create": "POST /api/knowledge-sources",
  "knowledge-sources.delete": "DELETE /api/knowledge-sources/{id}",
  "knowledge-sources.get": "GET /api/knowledge-sources/{id}",
  "knowledge-sources.jobs": "GET /api/knowledge-sources/{id}/jobs",
  "knowledge-sources.list": "GET /api/knowledge-sources",
  "knowledge-sources.sync": "POST /api/knowledge-sources/{id}/sync",
  "knowledge-sources.update": "PUT /api/knowledge-sources/{id}",
  "llm.chat": "POST /api/llm/chat",
  "mcp-servers.approve": "POST /api/mcp-servers/{id}/approve",
  "mcp-servers.create": "POST /api/mcp-servers",
  "mcp-servers.delete": "DELETE /api/mcp-servers/{id}",
  "mcp-servers.discover": "POST /api/mcp-servers/discover",
  "mcp-servers.list": "GET /api/mcp-servers",
  "memory.create": "POST /api/memory",
  "memory.delete": "DELETE /api/memory/{key}",
  "memory.get": "GET /api/memory/{key}",
  "memory.list": "GET /api/memory",
  "memory.search": "POST /api/memory/search",
  "memory.uses": "GET /api/memory/{key}/uses",
  "pauses.list": "GET /api/pause",
  "pauses.pause": "POST /api/pause",
  "pauses.resume": "POST /api/resume",
  "plugins.approve": "POST /api/plugins/{id}/approve",
  "plugins.configure": "PUT /api/plugins/{id}/settings",
  "plugins.disable": "POST /api/plugins/{id}/disable",
  "plugins.enable": "POST /api/plugins/{id}/enable",
  "plugins.get": "GET /api/plugins/{id}",
  "plugins.install": "POST /api/plugins",
  "plugins.isolation": "GET /api/plugin-isolation",
  "plugins.list": "GET /api/plugins",
  "plugins.logs": "GET /api/plugins/{id}/logs",
  "plugins.narrow": "PUT /api/plugins/{id}/permissions",
  "plugins.refused": "GET /api/refused-plugins",
  "plugins.remove": "DELETE /api/plugins/{id}",
  "policy.get": "GET /api/policy",
  "poll-sources.create": "POST /api/poll-sources",
  "poll-sources.delete": "DELETE /api/poll-sources/{id}",
  "poll-sources.get": "GET /api/poll-sources/{id}",
  "poll-sources.list": "GET /api/poll-sources",
  "poll-sources.poll": "POST /api/poll-sources/{id}/poll",
  "poll-sources.update": "PUT /api/poll-sources/{id}",
  "projects.create": "POST /api/projects",
  "projects.delete": "DELETE /api/projects/{id}",
  "projects.get": "GET /api/projects/{id}",
  "projects.list": "GET /api/projects",
  "projects.update": "PUT /api/projects/{id}",
  "projects.workflow-context": "GET /api/projects/{id}/workflow-context",
  "queues.ack": "POST /api/{queue}/events/{id}/ack",
  "queues.pending": "GET /api/{queue}/events/pending",
  "queues.take": "POST /api/{queue}/events/take",
  "routing.hits": "GET /api/routing/hits",
  "sources.check": "POST /api/sources/{source}/check",
  "sources.create": "POST /api/tasks/sources",
  "sources.delete": "DELETE /api/tasks/sources/{id}",
  "sources.list": "GET /api/tasks/sources",
  "sources.seed": "POST /api/tasks/sources/seed",
  "status.get": "GET /api/status",
  "storage.get": "GET /api/storage",
  "subjects.get": "GET /api/subjects/{source}/{project}/{issue}",
  "subjects.search": "GET /api/subjects",
  "task-executions.approve": "POST /api/task-executions/{id}/approve",
  "task-executions.bulk": "POST /api/task-executions/bulk",
  "task-executions.cancel": "POST /api/task-executions/{id}/cancel",
  "task-executions.events": "GET /api/task-executions/{id}/events",
  "task-executions.get": "GET /api/task-executions/{id}",
  "task-executions.list": "GET /api/task-executions",
  "task-executions.reject": "POST /api/task-executions/{id}/reject",
  "task-executions.release": "POST /api/task-executions/{id}/release",
  "tasks.create": "POST /api/tasks",
  "tasks.delete": "DELETE /api/tasks/{id}",
  "tasks.explain": "POST /api/tasks/resolve",
  "tasks.get": "GET /api/tasks/{id}",
  "tasks.list": "GET /api/tasks",
  "tasks.resolve": "GET /api/tasks/resolve",
  "tasks.restart": "POST /api/tasks/{id}/restart",
  "tasks.seed": "POST /api/tasks/seed",
  "tasks.update": "PUT /api/tasks/{id}",
  "tool-executions.list": "GET /api/tool-executions",
  "tools.create": "POST /api/tools",
  "tools.delete": "DELETE /api/tools/{qualified_name}",
  "tools.execute": "POST /api/tools/{qualified_name}/execute",
  "tools.list": "GET /api/tools",
  "tools.seed": "POST /api/tools/seed",
  "tools.update": "PUT /api/tools/{qualified_name}",
  "triggers.create": "POST /api/tasks/triggers",
  "triggers.delete": "DELETE /api/tasks/triggers/{id}",
  "triggers.list": "GET /api/tasks/triggers",
  "triggers.seed": "POST /api/tasks/triggers/seed",
  "usage.get": "GET /api/usage",
  "use-cases.setup": "POST /api/use-cases/{use_case}/setup",
  "use-cases.teardown": "POST /api/use-cases/{use_case}/teardown",
  "watchdog.list": "GET /api/watchdog",
  "webhook-events.bulk": "POST /api/webhook-events/bulk",
  "webhook-events.get": "GET /api/webhook-events/{id}",
  "webhook-events.list": "GET /api/webhook-events",
  "webhook-events.replay": "POST /api/webhook-events/{id}/replay",
  "webhook-mappings.create": "POST /api/webhook-mappings",
  "webhook-mappings.delete": "DELETE /api/webhook-mappings/{id}",
  "webhook-mappings.get": "GET /api/webhook-mappings/{id}",
  "webhook-mappings.list": "GET /api/webhook-mappings",
  "webhook-mappings.seed": "POST /api/webhook-mappings/seed",
  "webhook-mappings.update": "PUT /api/webhook-mappings/{id}",
  "webhooks.receive": "POST /webhook/{slug}",
};

