import { existsSync } from "node:fs";
import { join, relative } from "node:path";
import { BaseSequencer, type TestSpecification } from "vitest/node";

const root = join(import.meta.dirname, "../..");

/**
 * The longest files of a run on a busy machine, the longest first. After the first of them, files that mostly wait alternate with
 * files that compute, so that no core is idle.
 */
const longest = [
  "test/runs/kill-points.test.ts",
  "test/operations/event-loop.test.ts",
  "test/operations/event-loop-answers.test.ts",
  "test/gateway/crowd.test.ts",
  "runtime/cli/plugin/packages.test.ts",
  "test/plugins/message-buses.test.ts",
  "test/console/console.test.ts",
  "test/runs/late-writes.test.ts",
  "examples/demo/main.test.ts",
  "test/plugins/webhooks.test.ts",
  "test/operations/replicas.test.ts",
  "test/runs/outages.test.ts",
  "test/runs/retries.test.ts",
  "test/operations/command-line.test.ts",
  "test/runs/replica-outages.test.ts",
  "test/runs/crash.test.ts",
  "test/runs/late-living-comments.test.ts",
  "test/operations/database-faults.test.ts",
  "test/operations/silent-replica.test.ts",
  "test/gateway/streams.test.ts",
  "test/operations/refused-posts.test.ts",
  "test/api/statuses.test.ts",
  "test/runs/living-comment.test.ts",
  "test/webhooks/poll-sources.test.ts",
  "test/webhooks/bodies.test.ts",
  "test/gateway/a2a-bridge.test.ts",
  "test/runs/long-outages.test.ts",
  "test/plugins/author.test.ts",
  "test/operations/pgbouncer.test.ts",
  "test/operations/database-outage.test.ts",
  "test/runs/approval.test.ts",
  "test/runs/loops.test.ts",
  "test/plugins/slack.test.ts",
  "test/runs/mcp-servers.test.ts",
  "test/gateway/coding-agent.test.ts",
  "test/plugins/doctor.test.ts",
  "test/runs/presence.test.ts",
  "test/runs/queues.test.ts",
  "runtime/untrusted/removed-parts.test.ts",
  "test/gateway/bodies.test.ts",
  "test/runs/commands-after-crash.test.ts",
  "test/memory/knowledge.test.ts",
  "test/runs/leases.test.ts",
  "test/runs/order.test.ts",
  "test/memory/memory.test.ts",
  "test/plugins/connectors.test.ts",
  "runtime/memory/stores.test.ts",
];

/** Sorted so that no worker runs a long file alone at the end. All other files keep vitest's order. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const gone = longest.filter((file) => !existsSync(join(root, file)));
    if (gone.length > 0) throw new Error(`test/runner/longest-first.ts names what is not there: ${gone.join(", ")}`);
    const place = ({ moduleId }: TestSpecification) => {
      const known = longest.indexOf(relative(root, moduleId).replaceAll("\\", "/"));
      return known < 0 ? longest.length : known;
    };
    return (await super.sort(files)).sort((one, other) => place(one) - place(other));
  }
}
