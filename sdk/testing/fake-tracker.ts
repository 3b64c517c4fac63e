import type { Subject } from "../contract.ts";
import { FakeServer } from "./fake-server.ts";
import type { TestTracker } from "./fixtures.ts";

/** A tracker at a free port of loopback. Routes and state are the subclass's. */
export abstract class FakeTracker extends FakeServer implements TestTracker {
  abstract comments(subject: Subject): readonly string[];
}
