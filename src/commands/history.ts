import type { StoredQueries } from "../offline.ts";
import { follow } from "./follow.ts";
import type { FollowOptions, FollowTimes } from "./follow.ts";
import { jsonLine } from "./json-text.ts";
import { nextLine } from "./pages.ts";
import type { PageOptions } from "./pages.ts";
import { runQuery, show, tellNotes } from "./reach-desk.ts";
import { createGrowingTable, renderTable } from "./table.ts";
import type { Terminal } from "./terminal.ts";

/** Of a list of what happened. */
export interface HistoryOptions extends FollowOptions, PageOptions {
  readonly region?: string;
  readonly key?: string;
  readonly server?: string;
  readonly sandbox?: string;
  readonly name?: readonly string[];
  readonly from?: string;
  readonly to?: string;
  readonly tz?: string;
}

/** What a list is to be about, as the desk is asked for it. */
export function historyFields({ region, key, server, sandbox, tz, name }: HistoryOptions) {
  return { region, key, server, sandbox, tz, ...(name && { name: [...name] }) };
}

/** What of a list is asked for. */
interface ListRange {
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

interface HistoryList<View extends ListView, Item> {
  readonly ask: (desk: StoredQueries, range: ListRange) => Promise<View>;
  readonly itemsOf: (view: View) => readonly Item[];
  readonly header: readonly string[];
  readonly rowOf: (item: Item) => readonly string[];
  /** What is said when there is none. */
  readonly nothing: string;
  readonly times: FollowTimes | undefined;
}

/** So many are shown first of a list that is followed. */
const followedFirst = 10;
const followedAtOnce = 1_000;

/** Prints a list, latest first; followed, oldest first, and then what comes. */
export async function showHistory<View extends ListView, Item>(
  options: HistoryOptions,
  terminal: Terminal,
  list: HistoryList<View, Item>,
): Promise<void> {
  const { from, to, limit, before } = options;
  if (options.follow) return followHistory(options, terminal, list);
  const range = { from, to, limit, before };
  const view = await runQuery(options, terminal, (desk) => list.ask(desk, range));
  show(view, options, terminal, () => {
    const items = list.itemsOf(view);
    if (items.length === 0) return list.nothing;
    return renderTable(list.header, items.map(list.rowOf)) + nextLine(view.next);
  });
}

async function followHistory<View extends ListView, Item>(
  options: HistoryOptions,
  terminal: Terminal,
  { ask, itemsOf, header, rowOf, times }: HistoryList<View, Item>,
): Promise<void> {
  const table = createGrowingTable(header);
  const { from, limit = followedFirst } = options;
  let isFirst = true;
  await follow(
    options,
    terminal,
    {
      ask: (desk, after) =>
        ask(desk, after === undefined ? { from, limit } : { after, limit: followedAtOnce }),
      print(view) {
        const items = isFirst ? itemsOf(view).toReversed() : itemsOf(view);
        if (isFirst && !options.json) tellNotes(view.notes, terminal);
        if (options.json) for (const item of items) terminal.out(jsonLine(item));
        else if (isFirst || items.length > 0) terminal.out(table(items.map(rowOf)));
        isFirst = false;
      },
      isFull: (view) => itemsOf(view).length >= followedAtOnce,
    },
    times,
  );
}
