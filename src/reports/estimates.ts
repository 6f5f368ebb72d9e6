import { targetName } from "../core/model.ts";
import { serverMsOf } from "../fleet/totals.ts";
import type { Groups, Leaf } from "./groups.ts";
import type { Stretch } from "./plan.ts";
import type { RecordedBucket } from "./read-buckets.ts";
import { numberTargets } from "./targets.ts";
import type { ReportedTarget } from "./targets.ts";

/** How many servers there were on average while a target was watched, or at least known. */
export type AverageServers = (target: number, leaf: Leaf) => number;

/** Made of the whole range: time of which nothing is kept is told of as if it were of as many. */
export async function estimateServers(
  groups: Groups,
  {
    targets,
    wholeRange,
    read,
  }: {
    readonly targets: readonly ReportedTarget[];
    readonly wholeRange: readonly Stretch[];
    readonly read: (stretch: Stretch) => AsyncIterable<Iterable<RecordedBucket>>;
  },
): Promise<AverageServers> {
  const numbers = numberTargets(targets);
  const recordedMs = new Map<number, number>();
  const serverMs = new Map<Leaf, number>();
  const addBooked = ({ target, total, names }: RecordedBucket): void => {
    const number = numbers.get(targetName(target));
    if (number === undefined) return;
    recordedMs.set(number, (recordedMs.get(number) ?? 0) + total.recordedMs);
    const add = (name: string, ms: number): void => {
      const leaf = groups.leafOf(number, name);
      serverMs.set(leaf, (serverMs.get(leaf) ?? 0) + ms);
    };
    if (names) {
      for (const [name, account] of names) add(name, serverMsOf(account));
    } else {
      add("", serverMsOf(total.servers));
    }
  };
  for (const stretch of wholeRange) {
    for await (const some of read(stretch)) for (const found of some) addBooked(found);
  }
  return (number, leaf) => {
    const booked = recordedMs.get(number) ?? 0;
    return booked === 0 ? 0 : (serverMs.get(leaf) ?? 0) / booked;
  };
}
