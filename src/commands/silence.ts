import { matchText, readMatch } from "../core/written-match.ts";
import type { WrittenMatch } from "../core/written-match.ts";
import type { SilenceView } from "../interventions/views.ts";
import { CommandError, exitCodes } from "./exit-codes.ts";
import { runChange, runQuery, show } from "./reach-desk.ts";
import type { DeskOptions } from "./reach-desk.ts";
import { nextLine } from "./pages.ts";
import type { PageOptions } from "./pages.ts";
import { renderTable } from "./table.ts";
import type { Terminal } from "./terminal.ts";

export interface ListSilencesOptions extends DeskOptions, PageOptions {
  readonly ended?: boolean;
}

export async function listSilences(
  options: ListSilencesOptions,
  terminal: Terminal,
): Promise<void> {
  const { ended = false, limit, before } = options;
  const query = { ended, ...(limit && { limit }), ...(before && { before }) };
  const view = await runQuery(options, terminal, (desk) => desk.silences(query));
  show(view, options, terminal, ({ silences, next }) =>
    silences.length === 0 ? "There are no silences.\n" : toTable(silences) + nextLine(next),
  );
}

export interface AddSilenceOptions extends DeskOptions {
  readonly match: WrittenMatch;
  readonly author: string;
  readonly reason: string;
  readonly from?: string;
  readonly until?: string;
  readonly for?: string;
}

/** @throws {CommandError} also when it has no end, or two */
export async function addSilence(options: AddSilenceOptions, terminal: Terminal): Promise<void> {
  const { match, author, reason, from, until, for: duration } = options;
  if ((until === undefined) === (duration === undefined)) {
    const message = "A silence must end: give either --for (such as 2h) or --until (a time).";
    throw new CommandError(message, exitCodes.wrongUse);
  }
  if (Object.keys(match).length === 0) {
    const message =
      "Say what is to be silent: at least one of --rule, --region, --server and so on.";
    throw new CommandError(message, exitCodes.wrongUse);
  }
  const request = {
    match: writable(match),
    author,
    reason,
    ...(from !== undefined && { starts_at: from }),
    ...(until !== undefined && { ends_at: until }),
    ...(duration !== undefined && { duration }),
  };
  const view = await runChange(options, terminal, (desk) => desk.addSilence(request));
  show(view, options, terminal, ({ id, state, ends_at: end }) => {
    const start = state === "to_come" ? ` from ${view.starts_at}` : "";
    return `silence ${id}${start} until ${end}\n`;
  });
}

export async function expireSilence(
  id: string,
  options: DeskOptions,
  terminal: Terminal,
): Promise<void> {
  const view = await runChange(options, terminal, (desk) => desk.expireSilence(id));
  show(view, options, terminal, (ended) => `silence ${ended.id} has ended\n`);
}

function writable(match: WrittenMatch): Record<string, string[]> {
  return Object.fromEntries(Object.entries(match).map(([field, values]) => [field, [...values]]));
}

function toTable(silences: readonly SilenceView[]): string {
  return renderTable(
    ["id", "state", "from", "until", "match", "author", "reason"],
    silences.map((silence) => [
      silence.id,
      silence.state,
      silence.starts_at,
      silence.ends_at,
      matchText(readMatch(silence.match)),
      silence.author ?? "",
      silence.reason ?? "",
    ]),
  );
}
