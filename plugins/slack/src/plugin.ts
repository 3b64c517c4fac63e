import { definePlugin } from "@signalbox/sdk";
import own from "../package.json" with { type: "json" };
import { actionsRoute } from "./actions.ts";
import { openSlack } from "./client.ts";
import { config } from "./config.ts";
import { channelQueue } from "./queue.ts";

export default definePlugin({
  id: "slack",
  version: own.version,
  sdk: "^0.1.0",
  about: "Posts what agents did to a Slack channel, and receives approvals and stops from there.",
  config,
  needs: ["fetch", "throttle", "secret", "operations", "log"],
  hosts: ["slack.com"],
  setup: (context) => {
    const slackOf = openSlack(context, context.config);
    return {
      queues: { slack: channelQueue(slackOf, context, context.config) },
      routes: { actions: actionsRoute(slackOf, context, context.config) },
    };
  },
});
