import { expect, test } from "vitest";
import { invisibleMarker, markerDigest, markersIn } from "./marker.ts";

test("the digest of a key is always the same, because comments of earlier releases contain it", () => {
  expect(markerDigest("0198f0a0-0000-7000-8000-000000000000.2")).toBe("4325710163170776576453");
  expect(markersIn(JSON.stringify({ body: `${invisibleMarker("one")}Hello` }))).toEqual([markerDigest("one")]);
});
