import type { Config } from "../config/config.ts";
import { RefusedError } from "../core/refusal.ts";
import type { Desk } from "../interventions/desk.ts";
import type { Offline, StoredOperations, StoredQueries } from "../offline.ts";
import { StoreError, StoreInUseError } from "../store/store-error.ts";
import { isStoreInUse } from "../store/sqlite/store-in-use.ts";
import { localAddress } from "../platform/listen-address.ts";
import { NobodyListensError } from "./api-call.ts";
import { checkWatches } from "./check-watches.ts";
import { createDeskClient } from "./desk-client.ts";
import { CommandError, exitCodes } from "./exit-codes.ts";
import { jsonText } from "./json-text.ts";
import { readConfig } from "./read-config.ts";
import { printable } from "./table.ts";
import type { Terminal } from "./terminal.ts";

/** How a command finds the data: by one of the two. */
export interface DeskOptions {
  readonly config?: string;
  /** The address of a daemon that runs. */
  readonly url?: string;
  readonly json?: boolean;
}

/** How operations are answered where nothing listens at the configured address. */
type Open<Operations> = (config: Config) => Promise<Offline<Operations>>;

/**
 * Asks something: over the API of the daemon that runs, or, where nothing listens at the configured
 * address, of the store, which it does not change.
 *
 * @throws {CommandError} when it cannot be answered
 */
export function runQuery<Result>(
  options: DeskOptions,
  terminal: Terminal,
  ask: (operations: StoredQueries) => Promise<Result>,
): Promise<Result> {
  // Only here a command needs these parts, which take longer to load than most answers to come.
  return reach(options, terminal, ask, async (config) =>
    (await import("../offline.ts")).openForQueries(config),
  );
}

/**
 * The same for what changes something: in the store it changes what it says and nothing else.
 *
 * @throws {CommandError} when it cannot be done
 */
export function runChange<Result>(
  options: DeskOptions,
  terminal: Terminal,
  act: (operations: StoredOperations) => Promise<Result>,
): Promise<Result> {
  return reach(options, terminal, act, async (config) =>
    (await import("../offline.ts")).openForChanges(config),
  );
}

/** @throws {CommandError} when it cannot be done */
export async function reach<Operations, Result>(
  { config: file, url }: DeskOptions,
  terminal: Terminal,
  act: (operations: Operations | Desk) => Promise<Result>,
  open: Open<Operations>,
): Promise<Result> {
  try {
    if (url !== undefined) return await act(createDeskClient(checkAddress(url)));
    return await actByConfig(readGivenConfig(file, terminal), act, open);
  } catch (error) {
    throw asCommandError(error);
  }
}

async function actByConfig<Operations, Result>(
  config: Config,
  act: (operations: Operations | Desk) => Promise<Result>,
  open: Open<Operations>,
): Promise<Result> {
  // A port that is chosen at the start is not known to anybody else.
  if (config.http.port !== 0) {
    try {
      const address = localAddress(config.http);
      await checkWatches(config, address);
      return await act(createDeskClient(address));
    } catch (error) {
      if (!(error instanceof NobodyListensError)) throw error;
    }
  }
  const offline = await open(config);
  try {
    return await act(offline.operations);
  } finally {
    await offline.close();
  }
}

/** Does something at the desk of a daemon. */
export type AtRunning = <Result>(act: (desk: Desk) => Promise<Result>) => Promise<Result>;

/**
 * The way to the desk of the daemon that runs, now or later: it alone has news.
 *
 * @throws {CommandError} when nobody can know its address
 */
export function reachRunning(
  { config: file, url }: DeskOptions,
  terminal: Terminal,
  signal: AbortSignal,
): AtRunning {
  if (url !== undefined) {
    const desk = createDeskClient(checkAddress(url), signal);
    return (act) => act(desk);
  }
  const config = readGivenConfig(file, terminal);
  if (config.http.port !== 0) return atConfigured(config, signal);
  throw new CommandError(
    "The configuration leaves the port to be chosen: give the address of the sandwatch that runs with --url.",
    exitCodes.wrongUse,
  );
}

/** After each time that nothing answered it may be another one that answers. */
function atConfigured(config: Config, signal: AbortSignal): AtRunning {
  const address = localAddress(config.http);
  const desk = createDeskClient(address, signal);
  let isChecked = false;
  return async (act) => {
    try {
      if (!isChecked) await checkWatches(config, address, desk);
      isChecked = true;
      return await act(desk);
    } catch (error) {
      isChecked = false;
      throw error;
    }
  };
}

/** @throws {CommandError} when neither it nor an address was given, or with every fault of it */
export function readGivenConfig(file: string | undefined, terminal: Terminal): Config {
  if (file !== undefined) return readConfig(file, terminal);
  throw new CommandError("Give either --config FILE or --url ADDRESS.", exitCodes.wrongUse);
}

/** @throws {CommandError} when a daemon runs whose limits would not count a call that is made from here */
export function checkNobodyRuns({ store }: Config): void {
  if (!isStoreInUse(store.path)) return;
  throw new CommandError(
    `A sandwatch runs on the store ${store.path}, but not at the address that the configuration has: give its address with --url, so that the call is one of those that its limits count.`,
    exitCodes.failed,
  );
}

/** Rather than to make one, in which there is nothing. */
export function noStore({ store }: Config): CommandError {
  return new CommandError(
    `There is no store ${store.path}: no sandwatch has run with this configuration here.`,
    exitCodes.failed,
  );
}

export function checkAddress(url: string): string {
  if (URL.canParse(url) && /^https?:$/.test(new URL(url).protocol)) return url;
  throw new CommandError(
    "--url must be an address such as http://127.0.0.1:9740.",
    exitCodes.wrongUse,
  );
}

export function asCommandError(error: unknown): unknown {
  if (error instanceof NobodyListensError) return new CommandError(error.message, exitCodes.failed);
  if (error instanceof StoreInUseError) {
    const hint = "If it is a daemon that serves at another address, give that with --url.";
    return new CommandError(`${error.message}\n${hint}`, exitCodes.failed);
  }
  if (error instanceof StoreError) return new CommandError(error.message, exitCodes.failed);
  if (!(error instanceof RefusedError)) return error;
  const exitCode = error.kind === "invalid" ? exitCodes.wrongUse : exitCodes.failed;
  return new CommandError(error.message, exitCode);
}

/**
 * Prints what the desk answered: for programs as it came, for a person as the command says, with
 * notes beside it where they are in no program's way.
 */
export function show<View extends object>(
  view: View & { readonly notes?: readonly string[] },
  { json = false }: DeskOptions,
  terminal: Terminal,
  inWords: (view: View) => string,
): void {
  terminal.out(json ? jsonText(view) : inWords(view));
  if (!json) tellNotes(view.notes ?? [], terminal);
}

export function tellNotes(notes: readonly string[], terminal: Terminal): void {
  for (const note of notes) terminal.err(`note: ${printable(note)}\n`);
}
