import { expect, test } from "vitest";
import { BodyBudget } from "./body.ts";

test("if too many bodies arrive, the one that has received the least for its age is refused", () => {
  const budget = new BodyBudget(1_000);
  const refused: string[] = [];
  const arrive = (name: string, ageMs: number, bytes: number) =>
    budget.track({ since: performance.now() - ageMs, bytes, refuse: () => refused.push(name) });
  arrive("a large upload", 20_000, 10_000_000);
  for (let i = 0; i < 3_997; i++) arrive("a body that begins", 5, 0);
  arrive("slow", 10_000, 100);
  arrive("slower", 10_000, 1);
  for (let i = 0; i < 2; i++) arrive("a newcomer", 0, 0);
  expect(refused).toEqual(["slower", "slow"]);
});
