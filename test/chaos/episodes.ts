import { setTimeout } from "node:timers/promises";
import { z } from "zod";
import type { Helper } from "../../bench/support/helper.ts";
import type { Random } from "../../src/lib/random.ts";
import type { Heard, Receiver } from "./receiver.ts";
import { isPooled, keys, receivers, regions, serversOf, type ServerPlace } from "./world.ts";

/** A time in which a server is in error, or in which the pool is full. */
export interface Episode {
  /** The server, or "pool". */
  readonly subject: string;
  readonly startMs: number;
  readonly endMs: number;
  /** It lasted until it was notified, or for very long: it must have been. Others may be too short to be observed. */
  readonly isLong: boolean;
}

/** Nothing of what the faults do takes as long, on a busy machine either. */
const longestMs = 300_000;
/** Without a fence errors are lost, for which nobody needs to wait as long. */
const plainMs = 15_000;
const apartMs = 4_000;
const atOnce = 6;
const silencedSeconds = 10;

export interface EpisodesOptions {
  readonly random: Random;
  readonly service: Helper;
  readonly receiver: Receiver;
  /** Of the processes: any of them takes a silence, or passes it on. */
  readonly origins: readonly string[];
  readonly onProblem: (problem: string) => void;
  /** All servers stay in error until that is notified, and none is silenced. */
  readonly isPlain: boolean;
}

/** Lets servers go into error and back, and the pool become full and not, until it is stopped. */
export function startEpisodes(options: EpisodesOptions) {
  const { random, service, receiver, origins, onProblem, isPlain } = options;
  const episodes: Episode[] = [];
  const all = regions.flatMap((region) => keys.flatMap((key) => serversOf(region, key)));
  const free = all.filter((each) => !isPooled(each));
  const pool = all.filter(isPooled);
  const lateHearing: Promise<void>[] = [];
  const stopping = new AbortController();
  const { signal } = stopping;

  /** @returns when the first and the last of them began to show it */
  const show = async (places: readonly ServerPlace[], status: string) => {
    const times = await Promise.all(
      places.map((place) => service.ask("show", { ...place, status }, z.number())),
    );
    return { firstMs: Math.min(...times), lastMs: Math.max(...times) };
  };
  const hears = (subject: string, state: Heard["state"], startMs: number) =>
    receivers.map(async (name) => {
      const isHeard = await receiver.hears(
        (each) =>
          each.receiver === name &&
          each.subject === subject &&
          each.state === state &&
          each.startedMs >= startMs,
        isPlain ? plainMs : longestMs,
      );
      if (isHeard) return;
      onProblem(
        `${name} was not notified that ${subject} is ${state}: ${new Date(startMs).toISOString()}`,
      );
    });
  const allHear = (...of: Parameters<typeof hears>) => Promise.all(hears(...of));

  /** Ends when one receiver was notified of its end: the next one may begin before another receiver was. */
  const long = async (subject: string, places: readonly ServerPlace[], status: string) => {
    const { firstMs: startMs } = await show(places, status);
    await allHear(subject, "firing", startMs);
    await setTimeout(random() * 6_000);
    const { lastMs: endMs } = await show(places, "idle");
    episodes.push({ subject, startMs, endMs, isLong: true });
    const hearing = hears(subject, "resolved", startMs);
    lateHearing.push(...hearing);
    await Promise.race(hearing);
  };
  const short = async (place: ServerPlace) => {
    const { firstMs: startMs } = await show([place], "error");
    await setTimeout(200 + random() * 2_500);
    const { lastMs: endMs } = await show([place], "idle");
    const subject = place.server;
    episodes.push({ subject, startMs, endMs, isLong: false });
    await setTimeout(2 * apartMs);
    const isOf = (each: Heard): boolean => each.subject === subject && each.startedMs >= startMs;
    if (receiver.heard.some(isOf)) await allHear(subject, "resolved", startMs);
  };

  /** A server that is silenced, by way of any process, before it goes into error. */
  const silenced = async (place: ServerPlace) => {
    const untilMs = await silence(origins, place, random);
    if (untilMs === null) return onProblem(`no process silenced ${place.server}`);
    const fromMs = Date.now();
    await long(place.server, [place], "error");
    // The end of the episode before may be notified late.
    const early = receiver.heard.filter(
      ({ subject, startedMs, atMs }) =>
        subject === place.server && startedMs >= fromMs && atMs < untilMs,
    );
    for (const { receiver: name, incident, atMs } of early) {
      onProblem(
        `${name} was notified of ${place.server} although it was silenced: ${incident} at ${new Date(atMs).toISOString()}`,
      );
    }
  };

  const worker = async (): Promise<void> => {
    while (!signal.aborted) {
      const [place] = free.splice(Math.floor(random() * free.length), 1);
      if (!place) throw new Error("there are too few servers");
      const drawn = isPlain ? 0 : random();
      if (drawn >= 0.6) await (drawn < 0.8 ? short(place) : silenced(place));
      else {
        do await long(place.server, [place], "error");
        while (random() < 0.4);
      }
      await setTimeout(apartMs);
      free.push(place);
    }
  };
  const poolWorker = async (): Promise<void> => {
    while (!signal.aborted) {
      await long("pool", pool, "occupied");
      await setTimeout(2 * apartMs);
    }
  };
  const working = Promise.all([...Array.from({ length: atOnce }, worker), poolWorker()]);
  working.catch(() => {});
  return {
    /** Lets those that have begun end. */
    async stop(): Promise<readonly Episode[]> {
      stopping.abort();
      await working;
      await Promise.all(lateHearing);
      return episodes;
    },
  };
}

/** @returns until when; null: no process did */
async function silence(
  origins: readonly string[],
  { server }: ServerPlace,
  random: Random,
): Promise<number | null> {
  const body = JSON.stringify({
    match: { server_id: [server] },
    author: "chaos",
    reason: "to see that it is kept",
    duration: `${silencedSeconds}s`,
  });
  for (const endMs = Date.now() + longestMs; Date.now() < endMs; await setTimeout(500)) {
    const origin = origins[Math.floor(random() * origins.length)];
    try {
      const response = await fetch(`${origin}/api/v1/silences`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body,
        signal: AbortSignal.timeout(5_000),
      });
      if (response.status !== 201) continue;
      return Date.parse(z.object({ ends_at: z.string() }).parse(await response.json()).ends_at);
    } catch {
      // It is not there, or does not answer.
    }
  }
  return null;
}
