import type { LookupWord } from "../core/lookup-words.ts";
import type { AnsweredView, LookupView } from "../lookups/views.ts";
import { isObject } from "../service/json.ts";
import { CommandError, exitCodes } from "./exit-codes.ts";
import { jsonText } from "./json-text.ts";
import { explainFailure } from "./lookup-failure.ts";
import { answerText } from "./lookup-text.ts";
import { askLookup } from "./reach-lookups.ts";
import type { ReachOptions } from "./reach-lookups.ts";
import { printable } from "./table.ts";
import type { Terminal } from "./terminal.ts";

export interface LookupOptions extends ReachOptions {
  readonly region?: string;
  readonly key?: string;
}

/**
 * Asks the service for one thing and prints it.
 *
 * @throws {CommandError} when there was no answer, or one that says no
 */
export async function lookup(
  word: LookupWord,
  id: string | undefined,
  options: LookupOptions,
  terminal: Terminal,
): Promise<void> {
  const { region, key, json = false } = options;
  const query = {
    ...(id !== undefined && { id }),
    ...(region !== undefined && { region }),
    ...(key !== undefined && { key }),
  };
  const view = await askLookup(word, query, options, terminal);
  const no = refusalOf(view);
  if (json) terminal.out(jsonText(view));
  else if (view.outcome === "answered" && no === null) {
    terminal.out(answerText(view, terminal.columns));
  }
  if (no !== null) throw new CommandError(no, exitCodes.failed);
}

/** Null: the service gave what it was asked for. */
function refusalOf(view: LookupView): string | null {
  if (view.outcome === "failed") return explainFailure(view);
  return view.operation === "white-label" ? unsuccessful(view) : null;
}

function unsuccessful({ id, answer }: AnsweredView): string | null {
  const { success, message } = isObject(answer) ? answer : {};
  if (success === true) return null;
  const client = `white-labeling for ${JSON.stringify(id)}`;
  if (success !== false)
    return printable(`The answer does not say whether there is ${client}; --json shows it.`);
  const why = typeof message === "string" && message !== "" ? message : "it does not say why";
  return printable(`The service has no ${client}: ${why}`);
}
