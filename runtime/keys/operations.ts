import * as keys from "@signalbox/schema/keys";
import { problem } from "@signalbox/schema/problem";
import type { Bus } from "../platform/bus.ts";
import { type Bound, handle } from "../platform/operation.ts";
import { hashOf, hintOf, newKey } from "./key.ts";
import { insertKey, listKeys, revokeKey } from "./queries.ts";

/** Changes are published before they are answered; another replica that misses it looks by itself within seconds. */
export function keyOperations(bus: Pick<Bus, "publish">): Bound[] {
  return [
    handle(keys.list, (page, { sql }) => listKeys(sql, page)),
    handle(keys.create, async ({ name, scopes }, { sql }) => {
      const key = newKey();
      const row = await insertKey(sql, { name, key_hash: hashOf(key), hint: hintOf(key), scopes: [...new Set(scopes)] });
      if (!row) throw problem("conflict", `name: a key "${name}" is in use already`, { field: "name" });
      await bus.publish("keys");
      return { ...row, key };
    }),
    handle(keys.revoke, async ({ id }, { sql }) => {
      if (!(await revokeKey(sql, id))) throw problem("not_found", `There is no key ${id} in use.`);
      await bus.publish("keys");
      return {};
    }),
  ];
}
