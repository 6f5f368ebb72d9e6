import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { noOpenBuckets } from "../../src/fleet/accounting.ts";
import { resolutions } from "../../src/fleet/buckets.ts";
import type { Bucket } from "../../src/fleet/buckets.ts";
import { countDwells } from "../../src/fleet/dwell.ts";
import { statuses } from "../../src/fleet/status.ts";
import { serverMsOf } from "../../src/fleet/buckets.ts";
import { createPaper } from "../support/history/paper.ts";
import type { Paper } from "../support/history/paper.ts";
import { play } from "../support/history/play.ts";
import type { Keeper } from "../support/history/play.ts";
import { recordsOf } from "../support/history/poll-record.ts";
import { anySteps, forwardSteps, scripts } from "../support/history/script.ts";
import type { Script } from "../support/history/script.ts";
import { trueBuckets } from "../sim/oracle/buckets.ts";
import { truthOf } from "../sim/oracle/truth.ts";
import type { Truth } from "../sim/oracle/truth.ts";
import { changesOf } from "../support/listing.ts";
import { research } from "../support/fleet.ts";

const runs = { numRuns: 50 };

function truthIn(script: Script): Truth {
  return truthOf(recordsOf(script), script.goneAfter);
}

/** A fault between the daemon and its store. */
type Fault = (paper: Paper) => Keeper;
const none: Fault = (paper) => paper;

function bucketsAreTrue(fault: Fault) {
  return fc.asyncProperty(scripts(forwardSteps), async (script) => {
    const paper = createPaper();
    await play(script, research, fault(paper));
    const truth = truthIn(script);
    for (const resolution of resolutions) {
      const held = paper.buckets
        .whole(resolution)
        .filter(({ recordedMs, names }) => recordedMs > 0 || names.size > 0);
      expect(held).toEqual(trueBuckets(truth, resolution));
    }
  });
}

describe("the history of a world", () => {
  it("is in the buckets of every resolution what the world's script says", async () => {
    await expect(fc.assert(bucketsAreTrue(none), runs)).resolves.toBeUndefined();
  });

  it("has the changes that the script says, each with the dwell time that it ended", async () => {
    await fc.assert(
      fc.asyncProperty(scripts(anySteps), async (script) => {
        const verdicts = await play(script, research, createPaper());
        const found = verdicts.flatMap(({ at, diff }) =>
          changesOf(diff).map((change) =>
            JSON.stringify([
              at.utcMs,
              `${change.sandboxId} ${change.serverId}`,
              change.from,
              change.to,
              change.dwellMs,
            ]),
          ),
        );
        const changes = truthIn(script).changes.filter(({ observation }) => observation === null);
        const expected = changes.map(({ atMs, server, from, to, dwellMs }) =>
          JSON.stringify([atMs, server, from, to, dwellMs]),
        );
        expect(found.toSorted()).toEqual(expected.toSorted());
      }),
      runs,
    );
  });

  it("adds up however the wall clock is stepped: all time is recorded once", async () => {
    await fc.assert(
      fc.asyncProperty(scripts(anySteps), async (script) => {
        const paper = createPaper();
        await play(script, research, paper);
        const truth = truthIn(script);
        for (const resolution of resolutions) {
          expect(totalOf(paper.buckets.whole(resolution))).toEqual(trueTotal(truth));
        }
      }),
      runs,
    );
  });
});

/** Over all buckets: how long, and the time of the servers by what they were in. */
function totalOf(buckets: readonly Bucket[]): unknown {
  const accounts = buckets.flatMap(({ names }) => [...names.values()]);
  return {
    recordedMs: sum(buckets.map(({ recordedMs }) => recordedMs)),
    unobservedMs: sum(buckets.map(({ unobservedMs }) => unobservedMs)),
    serverMs: sum(accounts.map(serverMsOf)),
    byStatus: statuses.map((status) => sum(accounts.map(({ ms }) => ms[status]))),
    dwells: sum(accounts.map(({ dwells }) => countDwells(dwells))),
  };
}

function trueTotal({ stretches, changes }: Truth): unknown {
  const lengths = stretches.map(({ fromMs, toMs }) => toMs - fromMs);
  const inStatus = (wanted: string | null): number =>
    sum(
      stretches.map(
        ({ servers }, at) =>
          servers.filter(({ status }) => status === wanted).length * (lengths[at] ?? 0),
      ),
    );
  const byStatus = statuses.map(inStatus);
  return {
    recordedMs: sum(lengths),
    unobservedMs: sum(lengths.filter((_, at) => stretches[at]?.observed === false)),
    serverMs: sum([...byStatus, inStatus(null)]),
    byStatus,
    dwells: changes.filter(({ from, dwellMs }) => from === "occupied" && dwellMs !== null).length,
  };
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0);
}

describe("the comparison with the script", () => {
  const faults: readonly [string, Fault][] = [
    [
      "forgets at a restart what was open",
      (paper) => ({
        ...paper,
        async restore(target) {
          const { known, snapshot } = await paper.restore(target);
          return { known: { ...known, buckets: noOpenBuckets }, snapshot };
        },
      }),
    ],
  ];

  it.each(faults)("notices a daemon that %s", async (_, fault) => {
    const { failed } = await fc.check(bucketsAreTrue(fault), { ...runs, endOnFailure: true });
    expect(failed).toBe(true);
  });
});
