import { eachInSlices } from "../fleet/slices.ts";
import type { Slices } from "../fleet/slices.ts";
import type { OutboxItem, StoredOutboxItem } from "./notification.ts";

/** As many items take about a millisecond. */
const draftedAtOnce = 512;

/** A rule's condition on one subject: what is said of it to a receiver must keep its order. */
export function subjectKey({ rule, incident }: OutboxItem): string {
  const { region, key, sandboxId, serverId, serverName, receiver, probe } = incident;
  switch (incident.subject) {
    case "server":
    case "target":
      return JSON.stringify([rule, region, key, sandboxId, serverId]);
    case "pool":
      return JSON.stringify([rule, "pool", region, key, serverName]);
    case "probe":
      return JSON.stringify([rule, "probe", probe, region, key]);
    case "receiver":
      return JSON.stringify([rule, "receiver", receiver]);
  }
}

/**
 * One message for each type of a group, where the order of what happened to each subject allows it;
 * a subject that fires again after it was resolved needs a message after that of the resolve.
 */
export function* draftMessages(
  groups: readonly (readonly StoredOutboxItem[])[],
): Slices<readonly (readonly StoredOutboxItem[])[]> {
  const drafts: StoredOutboxItem[][] = [];
  const latestOfKind = new Map<string, number>();
  const latestOfSubject = new Map<string, number>();
  const items = groups
    .flatMap((group, index) => group.map((item) => ({ item, index })))
    .toSorted((a, b) => a.item.seq - b.item.seq);
  yield* eachInSlices(items, draftedAtOnce, ({ item, index }) => {
    const kind = `${index} ${item.type}`;
    const subject = subjectKey(item);
    const notBefore = latestOfSubject.get(subject) ?? 0;
    const latest = latestOfKind.get(kind);
    const position = latest !== undefined && latest >= notBefore ? latest : drafts.length;
    (drafts[position] ??= []).push(item);
    latestOfKind.set(kind, position);
    latestOfSubject.set(subject, position);
  });
  return drafts;
}
