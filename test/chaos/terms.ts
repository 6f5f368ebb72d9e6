import { setTimeout } from "node:timers/promises";
import type { Victim } from "./victim.ts";
import type { Call } from "./world.ts";

/** A time in which a process was active by its own metrics, from the first answer to the last question. */
export interface Term {
  readonly incarnation: string;
  readonly fromMs: number;
  readonly untilMs: number;
}

const everyMs = 200;
const answerMs = 2_000;
const query = "collect[]=sandwatch_active&collect[]=sandwatch_take_overs_total";

/** Asks each process again and again whether it is active. */
export function watchTerms(victims: readonly Victim[]) {
  const terms = new Map<string, Term>();
  const active = new Set<Victim>();
  const stopping = new AbortController();
  const ask = async (victim: Victim): Promise<void> => {
    const incarnation = victim.incarnation();
    const askedMs = Date.now();
    const text = await getText(`${victim.origin}/metrics?${query}`);
    const isActive = incarnation !== null && /^sandwatch_active 1$/m.test(text);
    if (isActive) active.add(victim);
    else active.delete(victim);
    if (!isActive) return;
    // A process that was active, was not, and is again has taken over once more.
    const takeOvers = /^sandwatch_take_overs_total (\d+)$/m.exec(text)?.[1];
    const name = `${incarnation} ${takeOvers}`;
    const fromMs = terms.get(name)?.fromMs ?? Date.now();
    terms.set(name, { incarnation, fromMs, untilMs: askedMs });
  };
  const watch = async (victim: Victim): Promise<void> => {
    for (; !stopping.signal.aborted; await setTimeout(everyMs)) await ask(victim);
  };
  const watching = Promise.all(victims.map(watch));
  return {
    /** The one that was active when it was asked last. */
    active: (): Victim | undefined => [...active][0],
    async stop(): Promise<readonly Term[]> {
      stopping.abort();
      await watching;
      return [...terms.values()];
    },
  };
}

/** Empty where nothing answers. */
async function getText(url: string): Promise<string> {
  try {
    return await (await fetch(url, { signal: AbortSignal.timeout(answerMs) })).text();
  } catch {
    return "";
  }
}

/** A call may reach the service so late, or be noticed so late by its process. */
const lateMs = 500;
const timeOf = (ms: number): string => new Date(ms).toISOString();

/**
 * Finds processes that were active or polled while another one was active.
 *
 * @returns what is wrong, in words
 */
export function checkTerms(terms: readonly Term[], calls: readonly Call[]): readonly string[] {
  const sorted = terms
    .filter(({ fromMs, untilMs }) => fromMs < untilMs)
    .toSorted((one, other) => one.fromMs - other.fromMs);
  const problems: string[] = [];
  for (const [index, term] of sorted.entries()) {
    const both = sorted.slice(index + 1).filter(({ fromMs }) => fromMs < term.untilMs);
    for (const { incarnation, fromMs } of both) {
      problems.push(`${term.incarnation} and ${incarnation} are active at ${timeOf(fromMs)}`);
    }
    const strays = calls.filter(
      ({ incarnation, startMs }) =>
        incarnation !== term.incarnation &&
        startMs > term.fromMs + lateMs &&
        startMs < term.untilMs,
    );
    for (const [incarnation, [stray]] of Map.groupBy(strays, (call) => call.incarnation)) {
      problems.push(
        `${incarnation} polls while ${term.incarnation} is active: ${timeOf(stray?.startMs ?? 0)}`,
      );
    }
  }
  return problems;
}
