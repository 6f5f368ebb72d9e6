import { existsSync } from "node:fs";
import type { z } from "zod";
import { ApiUnavailableError, createApiClient } from "../api/client.ts";
import type { HistoryContext } from "../api/context.ts";
import { createApi } from "../api/operation.ts";
import type { CallApi, Operation } from "../api/operation.ts";
import { listTargets } from "../api/operations/targets.ts";
import type { Config } from "../config/config.ts";
import { configuredTargets } from "../config/configured-targets.ts";
import { targetName } from "../fleet/model.ts";
import { RefusedError } from "../lib/refusal.ts";
import type { Clock } from "../lib/clock.ts";
import { localAddress } from "../lib/listen-address.ts";
import { StoreError, StoreInUseError } from "../store/store-error.ts";
import { isStoreInUse } from "../store/sqlite/store-in-use.ts";
import { unreadableNotes } from "../store/row-reading.ts";
import { CommandError, exitCodes } from "./exit-codes.ts";
import { showNotes } from "./output.ts";
import { readConfig } from "./read-config.ts";
import type { Terminal } from "./terminal.ts";

/** Where a command finds what it asks for: one of the two. */
export interface ApiOptions {
  readonly config?: string;
  /** The address of a running daemon. */
  readonly url?: string;
  readonly json?: boolean;
}

/**
 * Calls an operation of the running daemon. Where nothing listens at the configured address, the operation
 * is answered from the store, or calls the service, without a daemon.
 *
 * @throws {CommandError} when the operation cannot be answered
 */
export async function callOperation<Request extends z.ZodType, Response extends z.ZodType<object>>(
  { config: file, url }: ApiOptions,
  terminal: Terminal,
  operation: Operation<Request, Response>,
  request: z.input<Request>,
): Promise<z.output<Response>> {
  try {
    if (url !== undefined) return await createApiClient(checkUrl(url))(operation, request);
    const config = readGivenConfig(file, terminal);
    const address = configuredAddress(config);
    if (address !== null) {
      const api = createApiClient(address);
      try {
        await checkWatches(config, address, api);
        return await api(operation, request);
      } catch (error) {
        if (!(error instanceof ApiUnavailableError && error.nothingListens)) throw error;
      }
    }
    return await callOffline(config, operation, request);
  } catch (error) {
    throw asCommandError(error);
  }
}

async function callOffline<Request extends z.ZodType, Response extends z.ZodType<object>>(
  config: Config,
  operation: Operation<Request, Response>,
  request: z.input<Request>,
): Promise<z.output<Response>> {
  // Loaded only here: it takes longer to load than most daemons take to answer.
  const { openForChanges, openForQueries, openService } = await import("../app/offline.ts");
  if (operation.callsService) {
    checkNoDaemon(config);
    await using service = openService(config);
    return await createApi(service.context)(operation, request);
  }
  const open = operation.method === "GET" ? openForQueries : openForChanges;
  await using offline = await open(config);
  return await createApi(offline.context)(operation, request);
}

/** @throws {CommandError} when a daemon runs whose rate limits would not count the call */
function checkNoDaemon({ store }: Config): void {
  if (!isStoreInUse(store.path)) return;
  throw new CommandError(
    `A sandwatch runs on the store ${store.path}, but not at the configured address. Give its address with --url, so that its rate limits count the call.`,
    exitCodes.failed,
  );
}

/** Where reports are read. */
export interface History {
  readonly api: CallApi<HistoryContext>;
  /** Null: the daemon answers. */
  readonly context: HistoryContext | null;
}

export interface AtHistoryOptions extends ApiOptions {
  /** Whether a daemon cannot answer. */
  readonly storeOnly?: boolean;
  readonly clock?: Clock | undefined;
}

/**
 * Reads reports from the store where it exists on this machine, so that a running daemon need not compute
 * them. Otherwise the daemon answers.
 *
 * @throws {CommandError} when the history cannot be read
 */
export async function atHistory(
  { config: file, url, storeOnly = false, clock }: AtHistoryOptions,
  terminal: Terminal,
  read: (history: History) => Promise<void>,
): Promise<void> {
  try {
    if (url !== undefined && !storeOnly) {
      return await read({ api: createApiClient(checkUrl(url)), context: null });
    }
    const config = readGivenConfig(file, terminal);
    if (existsSync(config.store.path)) {
      const { openForReports } = await import("../app/offline.ts");
      await using store = openForReports(config, clock);
      await read({ api: createApi(store.context), context: store.context });
      showNotes(unreadableNotes(store.unreadable), terminal);
      return;
    }
    const address = configuredAddress(config);
    if (address === null || storeOnly) throw noStore(config);
    const api = createApiClient(address);
    await checkWatches(config, address, api);
    await read({ api, context: null });
  } catch (error) {
    throw asCommandError(error);
  }
}

function noStore({ store }: Config): CommandError {
  return new CommandError(
    `There is no store ${store.path}: no sandwatch has run with this configuration here.`,
    exitCodes.failed,
  );
}

/**
 * Calls operations of the daemon only, which may be restarted in between.
 *
 * @throws {CommandError} when its address cannot be known
 */
export function reachRunning(
  { config: file, url }: ApiOptions,
  terminal: Terminal,
  signal: AbortSignal,
): CallApi {
  if (url !== undefined) return createApiClient(checkUrl(url), signal);
  const config = readGivenConfig(file, terminal);
  const address = configuredAddress(config);
  if (address !== null) return checkedApi(config, address, signal);
  throw new CommandError(
    "The configuration leaves the port to be chosen: give the address of the sandwatch that runs with --url.",
    exitCodes.wrongUse,
  );
}

/** After a failed call another daemon may answer at the address, so it is checked again. */
function checkedApi(config: Config, address: string, signal: AbortSignal): CallApi {
  const api = createApiClient(address, signal);
  let isChecked = false;
  return async (operation, request) => {
    try {
      if (!isChecked) await checkWatches(config, address, api);
      isChecked = true;
      return await api(operation, request);
    } catch (error) {
      isChecked = false;
      throw error;
    }
  };
}

const targetsAtOnce = 1_000;

/**
 * Checks that the daemon at the configured address is the configured one: two configurations with the
 * default address name the same one.
 *
 * @throws {RefusedError} when it watches none of the configured targets
 */
async function checkWatches(config: Config, address: string, api: CallApi): Promise<void> {
  const configured = new Set(configuredTargets(config).map(targetName));
  for (let cursor: string | null | undefined; cursor !== null;) {
    // Usually the first target is one of them.
    const page = cursor === undefined ? { limit: 1 } : { limit: targetsAtOnce, cursor };
    const { targets, next } = await api(listTargets, page);
    if (targets.some((target) => configured.has(targetName(target)))) return;
    cursor = next;
  }
  throw new RefusedError(
    "conflict",
    `The sandwatch at ${address} watches nothing that the configuration names: it is another one, or it was started or reloaded with other names.\nIf it is meant all the same, give --url ${address}. Otherwise give the address of the one that is meant, with --url or as http.listen.`,
  );
}

/** Null: the port is chosen when the daemon starts. */
function configuredAddress({ http }: Config): string | null {
  return http.port === 0 ? null : localAddress(http);
}

function readGivenConfig(file: string | undefined, terminal: Terminal): Config {
  if (file !== undefined) return readConfig(file, terminal);
  throw new CommandError("Give either --config FILE or --url ADDRESS.", exitCodes.wrongUse);
}

function checkUrl(url: string): string {
  if (URL.canParse(url) && /^https?:$/.test(new URL(url).protocol)) return url;
  throw new CommandError(
    "--url must be an address such as http://127.0.0.1:9740.",
    exitCodes.wrongUse,
  );
}

/** An expected failure as a `CommandError`, any other error as it is. */
export function asCommandError(error: unknown): unknown {
  if (error instanceof StoreInUseError) {
    const hint = "If it is a daemon that serves at another address, give that with --url.";
    return new CommandError(`${error.message}\n${hint}`, exitCodes.failed);
  }
  if (error instanceof ApiUnavailableError || error instanceof StoreError) {
    return new CommandError(error.message, exitCodes.failed);
  }
  if (!(error instanceof RefusedError)) return error;
  const exitCode = error.kind === "invalid" ? exitCodes.wrongUse : exitCodes.failed;
  return new CommandError(error.message, exitCode);
}
