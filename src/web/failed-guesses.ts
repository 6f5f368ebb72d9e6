import type { Clock } from "../lib/clock.ts";
import { hostNetwork } from "../lib/networks.ts";

/** Who sent credentials, and as whom. */
export interface Guess {
  /** The name of a user; `noName` for a token and for a name that no user has. */
  readonly name: string;
  /** The address of the sender. */
  readonly sender: string;
}

/** No user has it. */
export const noName = "";

/** More of one name from one address are limited. */
const mostFailures = 10;
const withinMs = 60_000;
/** How often another one is checked then. */
export const retryGuessMs = withinMs / mostFailures;
/** Names and networks whose failures are kept. When there are more, the oldest is forgotten. */
const mostKept = 10_000;

export interface Failures {
  add(guess: Guess): void;
  /** How long until another guess of that name from that address is checked; 0: it is now. */
  waitMs(guess: Guess): number;
  /** Failures of that name, from any address, within the last minute. */
  ofName(name: string): number;
  /** Failures from that address's network, of any name, within the last minute. */
  ofSender(sender: string): number;
}

/** Counts wrong credentials within the last minute. Addresses that one host can choose from count as one. */
export function createFailures(clock: Clock): Failures {
  const timesOf = new Map<string, readonly number[]>();
  const recent = (key: string): readonly number[] => {
    const sinceMs = clock.now().monotonicMs - withinMs;
    return (timesOf.get(key) ?? []).filter((atMs) => atMs > sinceMs);
  };
  const addTo = (key: string): void => {
    // The last ones decide, and nobody is to make this long.
    const times = [...recent(key).slice(-mostFailures), clock.now().monotonicMs];
    timesOf.delete(key);
    timesOf.set(key, times);
    const [oldest] = timesOf.keys();
    if (timesOf.size > mostKept && oldest !== undefined) timesOf.delete(oldest);
  };
  const pairKey = ({ name, sender }: Guess): string => `both ${hostNetwork(sender)} ${name}`;
  const nameKey = (name: string): string => `name ${name}`;
  const senderKey = (sender: string): string => `sender ${hostNetwork(sender)}`;
  return {
    add(guess) {
      for (const key of [pairKey(guess), nameKey(guess.name), senderKey(guess.sender)]) addTo(key);
    },
    waitMs(guess) {
      const times = recent(pairKey(guess));
      const last = times.at(-1);
      if (times.length <= mostFailures || last === undefined) return 0;
      return Math.max(0, last + retryGuessMs - clock.now().monotonicMs);
    },
    ofName: (name) => recent(nameKey(name)).length,
    ofSender: (sender) => recent(senderKey(sender)).length,
  };
}
