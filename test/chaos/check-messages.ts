import type { Episode } from "./episodes.ts";
import type { Heard } from "./receiver.ts";
import { receivers } from "./world.ts";

/** A poll may have begun before the end of an episode, and its process have been stopped for a moment since. */
const latestMs = 5_000;

/**
 * Compares the notifications with what the service showed.
 *
 * @returns what is wrong, in words
 */
export function checkMessages(
  episodes: readonly Episode[],
  heard: readonly Heard[],
): readonly string[] {
  const problems: string[] = [];
  const bySubject = Map.groupBy(episodes, ({ subject }) => subject);
  /** By episode, the incidents of each receiver. */
  const notified = new Map<Episode, Map<string, Set<string>>>();
  for (const [incident, all] of Map.groupBy(heard, (each) => each.incident)) {
    const [first] = all;
    if (!first) continue;
    const { subject, startedMs } = first;
    const time = new Date(startedMs).toISOString();
    const episode = (bySubject.get(subject) ?? [])
      .filter(({ startMs }) => startMs <= startedMs)
      .toSorted((one, other) => other.startMs - one.startMs)[0];
    if (!episode || startedMs > episode.endMs + latestMs) {
      problems.push(`notified of what was not: ${subject} at ${time} (${incident})`);
      continue;
    }
    for (const [receiver, own] of Map.groupBy(all, (each) => each.receiver)) {
      const ofEpisode = notified.get(episode) ?? new Map<string, Set<string>>();
      notified.set(episode, ofEpisode);
      ofEpisode.set(receiver, (ofEpisode.get(receiver) ?? new Set()).add(incident));
      const where = `${subject} at ${time} (${incident}) to ${receiver}`;
      for (const [state, some] of Map.groupBy(own, (each) => each.state)) {
        const ids = new Set(some.map(({ id }) => id));
        if (ids.size > 1) problems.push(`${state} under ${ids.size} ids: ${where}`);
      }
      // A repetition under the same id may come late.
      const states = [...new Set(own.map(({ state }) => state))].join(" and then ");
      if (states === "firing") problems.push(`never resolved: ${where}`);
      else if (states !== "firing and then resolved") problems.push(`${states}: ${where}`);
    }
  }
  problems.push(...findDisorder(heard));
  for (const episode of episodes) {
    const { subject, startMs, isLong } = episode;
    for (const receiver of receivers) {
      const count = notified.get(episode)?.get(receiver)?.size ?? 0;
      const where = `${subject} at ${new Date(startMs).toISOString()} to ${receiver}`;
      if (count > 1) problems.push(`${count} incidents for one error: ${where}`);
      if (count === 0 && isLong) problems.push(`lost: ${where}`);
    }
  }
  return problems;
}

/** A receiver is notified of the end of an incident before it is notified of the next one with the same subject. */
function findDisorder(heard: readonly Heard[]): readonly string[] {
  const problems: string[] = [];
  const bySubject = Map.groupBy(heard, ({ receiver, subject }) => `${subject} to ${receiver}`);
  for (const [where, own] of bySubject) {
    const resolved = new Set<string>();
    let last: Heard | null = null;
    for (const each of own) {
      if (each.state === "resolved") resolved.add(each.incident);
      else if (last === null || each.startedMs > last.startedMs) {
        if (last !== null && !resolved.has(last.incident)) {
          const time = new Date(each.startedMs).toISOString();
          problems.push(`fires at ${time} before ${last.incident} is resolved: ${where}`);
        }
        last = each;
      }
    }
  }
  return problems;
}
