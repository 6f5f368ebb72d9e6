import { setTimeout } from "node:timers/promises";
import type { StoredQueries } from "../offline.ts";
import { NobodyListensError } from "./api-call.ts";
import { CommandError } from "./exit-codes.ts";
import { asCommandError, reachRunning, runQuery } from "./reach-desk.ts";
import type { DeskOptions } from "./reach-desk.ts";
import type { Terminal } from "./terminal.ts";
import { untilStopped } from "./signals.ts";

export interface FollowOptions extends DeskOptions {
  readonly follow?: boolean;
}

/** A list that goes on. */
export interface Followed<View> {
  /** What there is already; without a place, and what came after one. */
  readonly ask: (desk: StoredQueries, after?: string) => Promise<View>;
  readonly print: (view: View) => void;
  /** Whether there may be more that came after the same place. */
  readonly isFull: (view: View) => boolean;
}

export interface FollowTimes {
  /** Resolves when nobody wants to follow any more. */
  readonly stopped: Promise<unknown>;
  readonly pause: (signal: AbortSignal) => Promise<unknown>;
}

const pauseMs = 1_000;

/**
 * Prints what there is, and then what comes, until the process is told to stop. A daemon that does not
 * answer, as while it is started again, is waited for: nothing that came meanwhile is left out.
 *
 * @throws {CommandError} when it cannot begin, or what is asked for is refused
 */
export async function follow<View extends { readonly after: string }>(
  options: FollowOptions,
  terminal: Terminal,
  { ask, print, isFull }: Followed<View>,
  { stopped, pause }: FollowTimes = usualTimes(),
): Promise<void> {
  const stopping = new AbortController();
  const { signal } = stopping;
  void stopped.then(() => stopping.abort());
  const atRunning = reachRunning(options, terminal, signal);
  const first = await runQuery(options, terminal, (desk) => ask(desk));
  print(first);
  let { after } = first;
  let mayHaveMore = false;
  let isAnswered = true;
  while (!signal.aborted) {
    if (!mayHaveMore) await pause(signal);
    const view = await unlessUnanswered(atRunning((desk) => ask(desk, after)));
    if (signal.aborted) return;
    if (isAnswered !== (view !== null)) {
      isAnswered = view !== null;
      terminal.err(isAnswered ? "It answers again.\n" : "sandwatch does not answer; waiting.\n");
    }
    mayHaveMore = view !== null && isFull(view);
    if (!view) continue;
    ({ after } = view);
    print(view);
  }
}

async function unlessUnanswered<View>(asked: Promise<View>): Promise<View | null> {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof NobodyListensError || error instanceof CommandError) return null;
    throw asCommandError(error);
  }
}

function usualTimes(): FollowTimes {
  return {
    stopped: untilStopped(),
    pause: (signal) => setTimeout(pauseMs, null, { signal }).catch(() => null),
  };
}
