import { describe, expect, it } from "vitest";
import type { Target } from "../../src/fleet/model.ts";
import { Secret } from "../../src/lib/secret.ts";
import { chooseTarget } from "../../src/api/service-call.ts";

const [usResearch, euResearch, euTraining] = [
  { region: "us", key: "research" },
  { region: "eu", key: "research" },
  { region: "eu", key: "training" },
];
const all = [usResearch, euResearch, euTraining];
const apiKey = new Secret("key");
const keys = ["research", "training"].map((name) => ({ name, apiKey }));

function choose(targets: readonly Target[], choice: Parameters<typeof chooseTarget>[1]): Target {
  return chooseTarget({ targets: targets.map((target) => ({ target })), keys }, choice).target;
}

describe("the target of a look-up", () => {
  it.each([
    [[usResearch], {}, usResearch],
    [all, { region: "us" }, usResearch],
    [all, { key: "training" }, euTraining],
    [all, { region: "eu", key: "research" }, euResearch],
    [[usResearch, euResearch], { region: "eu" }, euResearch],
  ])("need only be said as far as there is a choice: %j %j", (targets, choice, target) => {
    expect(choose(targets, choice)).toEqual(target);
  });

  it.each([
    [{}, "There are several regions. Choose one (--region): us, eu."],
    [{}, "There are several keys. Choose one (--key): research, training."],
    [{ region: "eu" }, "There are several keys. Choose one (--key): research, training."],
    [{ key: "research" }, "There are several regions. Choose one (--region): us, eu."],
    [{ region: "su" }, 'There is no region "su". Configured: us, eu. Did you mean "us"?'],
    [
      { key: "reserch" },
      'There is no key "reserch". Configured: research, training. Did you mean "research"?',
    ],
    [{ key: "x".repeat(9) }, "Configured: research, training."],
    [{ region: "us", key: "training" }, 'There is no key "training". Configured: research.'],
  ])("is asked for with the names there are: %j", (choice, says) => {
    expect(() => choose(all, choice)).toThrow(says);
  });
});
