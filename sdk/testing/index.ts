/**
 * What a plugin must pass. A suite is a list of cases, so any test runner can run it:
 *
 *     for (const c of testSource(plugin, fixtures)) test(c.name, c.run);
 */
export type { Conformance, Recording, Stranger } from "./conformance.ts";
export { callOf, type FakeCapabilities, fakeCapabilities, setUp, testVectors } from "./fake-host.ts";
export { FakeOperations } from "./fake-operations.ts";
export { FakeServer, type SeenRequest, type TrackerReply } from "./fake-server.ts";
export { FakeTracker } from "./fake-tracker.ts";
export type { Golden, SourceFixtures, TestCase, TestTracker, ToolFixtures, ToolSample, TrackerFault } from "./fixtures.ts";
export { type KnowledgeFixtures, type TestWiki, testKnowledge } from "./knowledge-suite.ts";
export { type MemoryFixtures, testMemory } from "./memory-suite.ts";
export { type ApiContract, requestFaults } from "./openapi.ts";
export { isCarriedOut, PlannedFault } from "./planned-fault.ts";
export { type QueueFixtures, type QueueGround, testQueues } from "./queue-suite.ts";
export { type RouteFixtures, type RouteSample, type SampleRequest, testRoutes } from "./route-suite.ts";
export { testSource } from "./source-suite.ts";
export { testTools } from "./tool-suite.ts";
export { testUseCase, type UseCaseFixtures } from "./use-case-suite.ts";
