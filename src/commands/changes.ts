import { formatDuration } from "../core/duration.ts";
import type { ChangeView } from "../interventions/history-views.ts";
import type { FollowTimes } from "./follow.ts";
import { historyFields, showHistory } from "./history.ts";
import type { HistoryOptions } from "./history.ts";
import type { Terminal } from "./terminal.ts";

export interface ChangesOptions extends HistoryOptions {
  readonly status?: string;
  readonly fromStatus?: string;
  readonly toStatus?: string;
  readonly lapses?: boolean;
}

/** What changed, latest first; followed, in the order in which it was kept. */
export async function changes(
  options: ChangesOptions,
  terminal: Terminal,
  times?: FollowTimes,
): Promise<void> {
  const { status, fromStatus: from_status, toStatus: to_status, lapses } = options;
  const query = { ...historyFields(options), status, from_status, to_status, lapses };
  await showHistory(options, terminal, {
    ask: (desk, range) => desk.changes({ ...query, ...range }),
    itemsOf: (view) => view.changes,
    header: ["at", "region", "key", "sandbox", "server", "name", "from", "to", "stayed"],
    rowOf,
    nothing: "Nothing that was kept changed.\n",
    times,
  });
}

const lapseTexts = { missing: "(missing)", seen: "(seen again)" } as const;

function rowOf(change: ChangeView): readonly string[] {
  return [
    change.at,
    change.region,
    change.key,
    change.sandbox_id,
    change.server_id,
    change.server_name ?? "",
    change.from,
    change.lapse === null ? change.to : lapseTexts[change.lapse],
    change.stay_seconds === null ? "" : formatDuration(Math.round(change.stay_seconds) * 1_000),
  ];
}
