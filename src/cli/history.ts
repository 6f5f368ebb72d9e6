import { setTimeout } from "node:timers/promises";
import { Option } from "commander";
import type { Command } from "commander";
import type { z } from "zod";
import { ApiUnavailableError } from "../api/client.ts";
import type { Operation } from "../api/operation.ts";
import { asCommandError, callOperation, reachRunning } from "./call.ts";
import type { ApiOptions } from "./call.ts";
import { apiOptions, pageOptions } from "./options.ts";
import type { PageOptions } from "./options.ts";
import { jsonLine, nextLine, show, showNotes } from "./output.ts";
import { untilStopped } from "./signals.ts";
import { createGrowingTable, renderTable } from "./table.ts";
import type { Terminal } from "./terminal.ts";

/** Options of a list of what happened. */
export interface HistoryOptions extends ApiOptions, PageOptions {
  readonly region?: string;
  readonly key?: string;
  readonly server?: string;
  readonly sandbox?: string;
  readonly name?: readonly string[];
  readonly from?: string;
  readonly to?: string;
  readonly tz?: string;
  readonly follow?: boolean;
}

export function historyOptions(command: Command): Command {
  return pageOptions(apiOptions(command))
    .option("--region <names>", "only these regions, separated by commas")
    .option("--key <names>", "only these keys, separated by commas")
    .option("--server <server>", "the id of a server, a prefix of it, or a name")
    .option("--sandbox <sandbox>", "the id of a sandbox, or a prefix of it")
    .option("--name <name>", "only servers of this name; can be repeated", collect)
    .option(
      "--from <time>",
      "the start: a time such as 2026-11-21T18:00Z, a duration ago such as 7d, or a word such as yesterday",
    )
    .option("--to <time>", "the end, in the same form (default: now)")
    .option("--tz <zone>", "the time zone of --from and --to, such as Europe/Berlin (default: UTC)")
    .addOption(
      new Option("--follow", "print new entries as they are stored, until Ctrl-C").conflicts([
        "to",
        "before",
      ]),
    );
}

function collect(text: string, earlier: readonly string[] = []): readonly string[] {
  return [...earlier, text];
}

/** The fields of a request that `historyOptions` gives, but for the range and the page. */
export function historyFields({ region, key, server, sandbox, tz, name }: HistoryOptions) {
  return { region, key, server, sandbox, tz, ...(name && { name: [...name] }) };
}

interface Range {
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  readonly limit?: number | undefined;
  readonly before?: string | undefined;
  readonly after?: string | undefined;
}

interface ListView {
  readonly next: string | null;
  readonly after: string;
  readonly notes: readonly string[];
}

export interface HistoryList<Request extends z.ZodType, View extends ListView, Item> {
  readonly operation: Operation<Request, z.ZodType<View>>;
  readonly requestOf: (range: Range) => z.input<Request>;
  readonly itemsOf: (view: View) => readonly Item[];
  readonly header: readonly string[];
  readonly cellsOf: (item: Item) => readonly string[];
  /** What is printed for an empty list. */
  readonly nothing: string;
}

/** Prints a list, latest first; with `--follow` oldest first, and then what comes. */
export async function showHistory<Request extends z.ZodType, View extends ListView, Item>(
  options: HistoryOptions,
  terminal: Terminal,
  list: HistoryList<Request, View, Item>,
  times?: FollowTimes,
): Promise<void> {
  if (options.follow) return followHistory(options, terminal, list, times);
  const { from, to, limit, before } = options;
  const request = list.requestOf({ from, to, limit, before });
  const view = await callOperation(options, terminal, list.operation, request);
  show(view, options, terminal, () => {
    const items = list.itemsOf(view);
    if (items.length === 0) return list.nothing;
    return renderTable(list.header, items.map(list.cellsOf)) + nextLine(view.next);
  });
}

/** Replaced in tests. */
export interface FollowTimes {
  /** Resolves when following ends. */
  readonly stopped: Promise<unknown>;
  readonly pause: (signal: AbortSignal) => Promise<unknown>;
}

const pauseMs = 1_000;

function usualTimes(): FollowTimes {
  return {
    stopped: untilStopped(),
    pause: (signal) => setTimeout(pauseMs, null, { signal }).catch(() => null),
  };
}

/** Entries that are shown first when a list is followed, and at most at once later. */
const followedFirst = 10;
const followedAtOnce = 1_000;

/**
 * Prints the latest entries, and then new ones until the process is told to stop. While the daemon does
 * not answer, as during a restart, it is called again: no entry is missed.
 *
 * @throws {CommandError} when the first call fails, or a request is refused
 */
async function followHistory<Request extends z.ZodType, View extends ListView, Item>(
  options: HistoryOptions,
  terminal: Terminal,
  list: HistoryList<Request, View, Item>,
  { stopped, pause } = usualTimes(),
): Promise<void> {
  const stopping = new AbortController();
  const { signal } = stopping;
  void stopped.then(() => stopping.abort());
  const table = createGrowingTable(list.header);
  const print = (items: readonly Item[], isFirst: boolean): void => {
    if (options.json) for (const item of items) terminal.out(jsonLine(item));
    else if (isFirst || items.length > 0) terminal.out(table(items.map(list.cellsOf)));
  };

  const api = reachRunning(options, terminal, signal);
  const { from, limit = followedFirst } = options;
  const request = list.requestOf({ from, limit });
  const first = await callOperation(options, terminal, list.operation, request);
  if (!options.json) showNotes(first.notes, terminal);
  print(list.itemsOf(first).toReversed(), true);
  let { after } = first;
  let mayHaveMore = false;
  let isAnswered = true;
  while (!signal.aborted) {
    if (!mayHaveMore) await pause(signal);
    const later = list.requestOf({ after, limit: followedAtOnce });
    const view = await unlessUnavailable(api(list.operation, later));
    if (signal.aborted) return;
    if (isAnswered !== (view !== null)) {
      isAnswered = view !== null;
      terminal.err(isAnswered ? "It answers again.\n" : "sandwatch does not answer; waiting.\n");
    }
    const items = view ? list.itemsOf(view) : [];
    mayHaveMore = items.length >= followedAtOnce;
    print(items, false);
    if (view) ({ after } = view);
  }
}

async function unlessUnavailable<View>(called: Promise<View>): Promise<View | null> {
  try {
    return await called;
  } catch (error) {
    if (error instanceof ApiUnavailableError) return null;
    throw asCommandError(error);
  }
}
