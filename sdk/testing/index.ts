/**
 * The conformance suites for plugins. A suite is a list of cases, which any test runner can run:
 *
 *     for (const c of testSource(plugin, fixtures)) test(c.name, c.run);
 */
export type { Conformance, Recording, TestService } from "./conformance.ts";
export { callContext, type FakeCapabilities, fakeCapabilities, setUpPlugin, testVectors } from "./fake-host.ts";
export { FakeOperations } from "./fake-operations.ts";
export { type FakeResponse, FakeServer, type RecordedRequest } from "./fake-server.ts";
export { FakeTracker } from "./fake-tracker.ts";
export { FaultInjector, isApplied } from "./fault-injector.ts";
export type { GoldenWebhook, SourceFixtures, TestCase, TestTracker, ToolFixtures, ToolSample, TrackerFault } from "./fixtures.ts";
export { freePorts } from "./free-ports.ts";
export { type KnowledgeFixtures, type TestWiki, testKnowledge } from "./knowledge-suite.ts";
export { type MemoryFixtures, testMemory } from "./memory-suite.ts";
export { type ApiContract, contractViolations } from "./openapi.ts";
export { type QueueEnvironment, type QueueFixtures, testQueues } from "./queue-suite.ts";
export { type RouteFixtures, type RouteSample, type SampleRequest, testRoutes } from "./route-suite.ts";
export { testSource } from "./source-suite.ts";
export { testTools } from "./tool-suite.ts";
export { testUseCase, type UseCaseFixtures } from "./use-case-suite.ts";
