import { expect, test } from "vitest";
import { FairShare, type Owners } from "./fair-share.ts";

const owned = (project: string, author: string): Owners => ({ source: "alpha", project, author });
const crowd = owned("octo/crowd", "alpha 1");
const few = owned("octo/few", "alpha 2");
const of = (owners: Owners, count: number): Owners[] => Array(count).fill(owners);
const claimAll = (share: FairShare) => share.recordClaim(of(crowd, 16), of(crowd, 16));

test("a project has half of the slots, and all of them once a claim has found no others", () => {
  const share = new FairShare(16);
  expect(share.startClaim()).toBe(8);
  claimAll(share);
  expect(share.startClaim()).toBeNull();
  share.makeRoomFor(crowd);
  expect(share.startClaim()).toBeNull();
  share.makeRoomFor(few);
  expect(share.startClaim()).toBe(8);
});

test("an execution of another project that begins to wait while a claim runs has its share of the next one", () => {
  const share = new FairShare(16);
  share.startClaim();
  share.makeRoomFor(few);
  share.makeRoomFor(crowd);
  claimAll(share);
  expect(share.startClaim()).toBe(8);
  // No one came during this claim.
  claimAll(share);
  // This claim does not look for others, so it cannot have found none.
  expect(share.startClaim()).toBeNull();
  share.makeRoomFor(few);
  claimAll(share);
  expect(share.startClaim()).toBe(8);
});

test("further executions of the same project during a claim do not make the next one look for others", () => {
  const share = new FairShare(16);
  share.startClaim();
  share.makeRoomFor(crowd);
  claimAll(share);
  expect(share.startClaim()).toBeNull();
});

test("a claim that took only executions of others may have left some of them", () => {
  const share = new FairShare(16);
  share.startClaim();
  share.recordClaim(of(few, 2), [...of(crowd, 14), ...of(few, 2)]);
  expect(share.startClaim()).toBe(8);
});
