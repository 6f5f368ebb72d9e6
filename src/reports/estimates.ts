import { targetName } from "../fleet/model.ts";
import { serverMsOf } from "../fleet/buckets.ts";
import type { Groups, Leaf } from "./groups.ts";
import type { Stretch } from "./plan.ts";
import type { TargetBucket } from "./sources.ts";
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
    readonly read: (stretch: Stretch) => AsyncIterable<readonly TargetBucket[]>;
  },
): Promise<AverageServers> {
  const numbers = numberTargets(targets);
  const recordedMs = new Map<number, number>();
  const serverMs = new Map<Leaf, number>();
  const add = ({ target, bucket }: TargetBucket): void => {
    const number = numbers.get(targetName(target));
    if (number === undefined) return;
    recordedMs.set(number, (recordedMs.get(number) ?? 0) + bucket.recordedMs);
    for (const [name, account] of bucket.names) {
      const leaf = groups.leafOf(number, name);
      serverMs.set(leaf, (serverMs.get(leaf) ?? 0) + serverMsOf(account));
    }
  };
  for (const stretch of wholeRange) {
    for await (const some of read(stretch)) some.forEach(add);
  }
  return (number, leaf) => {
    const booked = recordedMs.get(number) ?? 0;
    return booked === 0 ? 0 : (serverMs.get(leaf) ?? 0) / booked;
  };
}
