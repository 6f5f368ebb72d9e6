import { setTimeout } from "node:timers/promises";
import { Option } from "commander";
import type { Command, OptionValues } from "commander";
import type { z } from "zod";
import { ApiUnavailableError } from "../api/client.ts";
import type { Operation } from "../api/operation.ts";
import { callsOperation, listCommand } from "./api-command.ts";
import { callOperation, runningApi } from "./call-api.ts";
import type { ApiOptions } from "./call-api.ts";
import { printableJson } from "../lib/printable.ts";
import { lookOf } from "./look.ts";
import { collected, placeOptions } from "./options.ts";
import { listText, showNotes } from "./output.ts";
import { untilStopped } from "./signals.ts";
import { createGrowingTable } from "./table.ts";
import type { Columns } from "./table.ts";
import type { Terminal } from "./terminal.ts";

/** A command that lists what happened. */
export function historyCommand(command: Command, description: string): Command {
  return placeOptions(listCommand(command, description))
    .option("--server <server>", "the id of a server, a prefix of it, or a name")
    .option("--sandbox <sandbox>", "the id of a sandbox, or a prefix of it")
    .option("--name <name>", "only servers of this name; can be repeated", collected)
    .option("--from <time>", "the start: a time, a duration ago, or a word such as yesterday")
    .option("--to <time>", "the end, in the same form (default: now)")
    .option("--tz <zone>", "the time zone of --from and --to, such as Europe/Berlin (default: UTC)")
    .addOption(
      new Option("--follow", "print new entries until Ctrl-C").conflicts(["to", "before"]),
    );
}

interface List<Request extends z.ZodType, View extends object, Item> {
  readonly operation: Operation<Request, z.ZodType<View>>;
  readonly request: (fields: OptionValues) => z.input<Request>;
  readonly items: (view: View) => readonly Item[];
  /** What is printed for an empty list. */
  readonly nothing: string;
  readonly columns: Columns<Item>;
  /** The option that continues it. Default: `--before`. */
  readonly more?: "--cursor";
}

interface FollowedView {
  readonly next: string | null;
  readonly after: string;
  readonly notes: readonly string[];
}

/** The action of a command that lists. */
export function lists<Request extends z.ZodType, View extends object, Item>(
  terminal: Terminal,
  { operation, request, items, nothing, columns, more }: List<Request, View, Item>,
) {
  return callsOperation(terminal, {
    operation,
    request,
    text(view, look) {
      const next = "next" in view && typeof view.next === "string" ? view.next : null;
      return listText(items(view), nothing, next, columns, look, more);
    },
  });
}

/** Until when a list is followed, and the pause between two calls. Replaced in tests. */
export interface FollowTimes {
  readonly stopped: Promise<unknown>;
  readonly pause: (signal: AbortSignal) => Promise<unknown>;
}

const usualTimes = (): FollowTimes => ({
  stopped: untilStopped(),
  pause: (signal) => setTimeout(1_000, null, { signal }).catch(() => null),
});

/** The same, latest first; with `--follow` oldest first, and then what comes. */
export function listsHistory<Request extends z.ZodType, View extends FollowedView, Item>(
  terminal: Terminal,
  times: FollowTimes | undefined,
  list: List<Request, View, Item>,
) {
  const listOnce = lists(terminal, list);
  return async function call(this: Command): Promise<void> {
    const {
      config,
      url,
      json,
      tokenFile,
      timestamps: _timestamps,
      follow,
      ...fields
    } = this.opts();
    if (!follow) return listOnce.call(this);
    return followHistory({ config, url, json, tokenFile }, fields, terminal, list, times);
  };
}

/** Entries that are shown first when a list is followed, and at most at once later. */
const followedFirst = 10;
const followedAtOnce = 1_000;

/**
 * Prints the latest entries, and then new ones until the process is stopped. While the daemon does not answer, as
 * during a restart, it is called again: no entry is missed.
 */
async function followHistory<Request extends z.ZodType, View extends FollowedView, Item>(
  options: ApiOptions,
  { from, ...fields }: OptionValues,
  terminal: Terminal,
  list: List<Request, View, Item>,
  { stopped, pause } = usualTimes(),
): Promise<void> {
  const stopping = new AbortController();
  const { signal } = stopping;
  void stopped.then(() => stopping.abort());
  // An age would not grow once it is printed.
  const table = createGrowingTable(list.columns, lookOf(terminal, true));
  const print = (items: readonly Item[]): void => {
    if (!options.json) return terminal.out(table(items));
    for (const item of items) terminal.out(`${printableJson(JSON.stringify(item))}\n`);
  };

  const api = runningApi(options, terminal, signal);
  const request = list.request({ limit: followedFirst, from, ...fields });
  const first = await callOperation(options, terminal, list.operation, request);
  if (!options.json) showNotes(first.notes, terminal);
  print(list.items(first).toReversed());
  let { after } = first;
  let mayHaveMore = false;
  let isAnswered = true;
  while (!signal.aborted) {
    if (!mayHaveMore) await pause(signal);
    const later = list.request({ ...fields, after, limit: followedAtOnce });
    const view = await api(list.operation, later).catch((error: unknown) => {
      if (error instanceof ApiUnavailableError) return null;
      throw error;
    });
    if (signal.aborted) return;
    if (isAnswered !== (view !== null)) {
      isAnswered = view !== null;
      terminal.err(
        isAnswered ? "sandwatch responds again.\n" : "sandwatch does not respond; waiting.\n",
      );
    }
    const items = view ? list.items(view) : [];
    mayHaveMore = items.length >= followedAtOnce;
    print(items);
    if (view) ({ after } = view);
  }
}
