import { expect, it } from "vitest";
import { judgeAndCommit, SuppressionsChangedError } from "../../src/alerts/current-suppressions.ts";
import { IdTakenError } from "../../src/alerts/incident.ts";
import { noSuppressions } from "../../src/alerts/silence.ts";

/** Each reading gives the next version. */
function versioned() {
  let version = 1;
  const judgedBy: (number | null)[] = [];
  return {
    judgedBy,
    suppressions: {
      at: () => ({ ...noSuppressions, version }),
      reload: async () => void (version += 1),
    },
    judge: (current: { at(atMs: number): { readonly version: number | null } }) =>
      void judgedBy.push(current.at(0).version),
  };
}

it("what changed meanwhile is read again, and an id that is taken is drawn again", async () => {
  const { suppressions, judge, judgedBy } = versioned();
  const errors = [new IdTakenError(), new SuppressionsChangedError()];
  const committed = await judgeAndCommit(suppressions, async (current) => {
    judge(current);
    const error = errors.shift();
    if (error) throw error;
    return "committed";
  });
  expect([committed, judgedBy]).toEqual(["committed", [1, 1, 2]]);
});

it("what changes again and again is not compared at the tenth attempt, which is the last", async () => {
  const { suppressions, judge, judgedBy } = versioned();
  const judging = judgeAndCommit(suppressions, async (current) => {
    judge(current);
    throw new SuppressionsChangedError();
  });
  await expect(judging).rejects.toThrow(SuppressionsChangedError);
  expect(judgedBy).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, null]);
});

it("another error is not a reason to judge again", async () => {
  const { suppressions, judge, judgedBy } = versioned();
  const judging = judgeAndCommit(suppressions, async (current) => {
    judge(current);
    throw new Error("the disk is full");
  });
  await expect(judging).rejects.toThrow("the disk is full");
  expect(judgedBy).toEqual([1]);
});
