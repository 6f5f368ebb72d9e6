import { existsSync } from "node:fs";
import { createSecureContext } from "node:tls";
import type { z } from "zod";
import { ApiUnavailableError, createApiClient, requestReload } from "../api/client.ts";
import type { ApiClientOptions } from "../api/client.ts";
import type { ForgetContext, HistoryContext, StoreContext } from "../api/context.ts";
import { createApi } from "../api/operation.ts";
import type { CallApi, Operation } from "../api/operation.ts";
import { listTargets } from "../api/operations/targets.ts";
import { parseBaseUrl } from "../config/address.ts";
import type { Config } from "../config/config.ts";
import type { LoadOptions } from "../config/load-config.ts";
import { readText } from "../config/yaml-file.ts";
import { configuredTargets } from "../config/configured-targets.ts";
import { targetName } from "../fleet/model.ts";
import type { Clock } from "../lib/clock.ts";
import { localAddress } from "../lib/listen-address.ts";
import { RefusedError } from "../lib/refused-error.ts";
import { Secret } from "../lib/secret.ts";
import { unreadableText, type UnreadableRow } from "../store/row-reading.ts";
import { storeName } from "../store/store-settings.ts";
import { CommandError, wrongUse } from "./exit-codes.ts";
import { readConfig, usualConfig } from "./options.ts";
import { showNotes } from "./output.ts";
import type { LabelledKey } from "../api/labelled-keys.ts";
import type { Terminal } from "./terminal.ts";

export interface ApiOptions {
  readonly config?: string;
  readonly url?: string;
  readonly json?: boolean;
  readonly tokenFile?: string;
}

/** The daemon that the options name. Without an api, its port is chosen when it starts. */
type NamedDaemon =
  | { readonly api: CallApi; readonly reload: Reload; readonly config: null }
  | { readonly api: CallApi | null; readonly reload: Reload | null; readonly config: Config };

type Reload = () => ReturnType<typeof requestReload>;

function namedDaemon(
  { config: givenFile, url: given, tokenFile }: ApiOptions,
  terminal: Terminal,
  signal?: AbortSignal,
  reading?: LoadOptions,
): NamedDaemon {
  const url = given ?? (givenFile === undefined ? process.env["SANDWATCH_URL"] : undefined);
  const clientCertificate = readClientCertificate();
  const client = { signal, token: readToken(tokenFile), clientCertificate };
  if (url !== undefined) {
    const address = parseBaseUrl(url);
    if (address !== undefined) {
      const reload = () => requestReload(address, client);
      return { api: createApiClient(address, client), reload, config: null };
    }
    throw wrongUse(
      `${given === undefined ? "SANDWATCH_URL" : "--url"} must be an address such as http://127.0.0.1:9740, without user, password and query.`,
    );
  }
  const file = givenFile ?? usualConfig();
  if (file === undefined) {
    throw wrongUse(
      "Give either --config FILE or --url ADDRESS, or set SANDWATCH_CONFIG or SANDWATCH_URL.",
    );
  }
  const config = readConfig(file, terminal, reading);
  if (config.http.port === 0) return { api: null, reload: null, config };
  return { ...configuredDaemon(config, client), config };
}

/** Undefined: the daemon may need none. */
function readToken(file: string | undefined): Secret | undefined {
  const token =
    file === undefined ? process.env["SANDWATCH_TOKEN"] : readFile(file, "token file").trim();
  if (token === undefined || token === "") return undefined;
  if (/^[\x21-\x7e]+$/.test(token)) return new Secret(token);
  throw wrongUse("The token must be visible ASCII characters without blanks.");
}

/** Undefined: the daemon may want none. */
function readClientCertificate(): Secret | undefined {
  const file = process.env["SANDWATCH_CLIENT_CERTIFICATE"];
  if (file === undefined || file === "") return undefined;
  const pem = readFile(file, "file of the client certificate");
  try {
    createSecureContext({ cert: pem, key: pem });
  } catch {
    throw wrongUse(`The client certificate ${file} must have a certificate and its key, in PEM.`);
  }
  return new Secret(pem);
}

const longestFile = 2 ** 20;

/** A fault does not name the file: what was given as its name may be the token itself. */
function readFile(file: string, what: string): string {
  const read = readText(file, longestFile, { pipes: true });
  if (read.kind === "failed") throw wrongUse(`The ${what} cannot be used: ${read.why}.`);
  return read.text;
}

/**
 * Calls the daemon at the configured address, once it is known to be the configured one: two configurations with
 * the default address name the same one. After a failed call another daemon may answer there, so it is checked again.
 */
function configuredDaemon(config: Config, client: ApiClientOptions) {
  const address = localAddress(config.http);
  const options = { ...client, certificateFile: config.http.tls?.certificateFile };
  const api = createApiClient(address, options);
  let isChecked = false;
  const callChecked: CallApi = async (operation, request) => {
    try {
      if (!isChecked) await checkWatches(config, address, api);
      isChecked = true;
      return await api(operation, request);
    } catch (error) {
      isChecked = false;
      throw error;
    }
  };
  const reload: Reload = async () => {
    try {
      await checkWatches(config, address, api);
      return await requestReload(address, options);
    } catch (error) {
      if (!(error instanceof ApiUnavailableError && error.kind === "nothing_listens")) throw error;
      const advice = "If http.listen was changed, give the address before with --url, or restart.";
      throw new CommandError(`${error.message} ${advice}`);
    }
  };
  return { api: callChecked, reload };
}

const targetsAtOnce = 1_000;

/** The daemon at the configured address monitors none of the configured targets. */
export class OtherDaemonError extends RefusedError {
  constructor(address: string) {
    super(
      "conflict",
      `The daemon at ${address} monitors none of the configured targets: it is another daemon, or its configuration has other names.\nTo use it anyway, give --url ${address}. To use another one, give its address with --url or set http.listen.`,
    );
  }
}

/** @throws {OtherDaemonError} when the daemon watches none of the configured targets */
async function checkWatches(config: Config, address: string, api: CallApi): Promise<void> {
  const configured = new Set(configuredTargets(config).map(targetName));
  for (let cursor: string | null | undefined; cursor !== null;) {
    // Usually the first target is one of them.
    const page = cursor === undefined ? { limit: 1 } : { limit: targetsAtOnce, cursor };
    const { targets, next } = await api(listTargets, page);
    if (targets.some((target) => configured.has(targetName(target)))) return;
    cursor = next;
  }
  throw new OtherDaemonError(address);
}

/**
 * Calls an operation of the daemon. If nothing listens at the configured address, runs it in this process, unless it acts
 * on alerts.
 */
export async function callOperation<Request extends z.ZodType, Response extends z.ZodType<object>>(
  options: ApiOptions,
  terminal: Terminal,
  operation: Operation<Request, Response>,
  request: z.input<Request>,
): Promise<z.output<Response>> {
  return openApi(options, terminal)(operation, request);
}

/** The same for several calls. The signal ends calls of the daemon. */
export function openApi(options: ApiOptions, terminal: Terminal, signal?: AbortSignal): CallApi {
  const { api, config } = namedDaemon(options, terminal, signal);
  if (!config) return api;
  return async (operation, request) => {
    const isActing = operation.permission === "act";
    try {
      if (api) return await api(operation, request);
    } catch (error) {
      if (!(error instanceof ApiUnavailableError && error.kind === "nothing_listens")) throw error;
      if (isActing) throw new CommandError(`${error.message} ${needsDaemon}`);
    }
    if (isActing) throw wrongUse(portUnknown);
    return callOffline(config, terminal, operation, request);
  };
}

const needsDaemon =
  "This command needs a running daemon: start it with sandwatch run, or give the address of the one that runs with --url.";

async function callOffline<Request extends z.ZodType, Response extends z.ZodType<object>>(
  config: Config,
  terminal: Terminal,
  operation: Operation<Request, Response>,
  request: z.input<Request>,
): Promise<z.output<Response>> {
  // Loaded only here: it takes longer to load than most daemons take to answer.
  const { openForForgetting, openForQueries, openService } = await import("../app/offline.ts");
  const { isConfiguredInUse } = await import("../store/store.ts");
  if (operation.permission !== "read" && (await isConfiguredInUse(config.store))) {
    throw new CommandError(
      `A daemon runs on the store ${storeName(config.store)}, but not at the configured address. Give its address with --url.`,
    );
  }
  if (operation.permission === "call") {
    await using service = openService(config);
    return await createApi(service.context, config.keys)(operation, request);
  }
  await using offline =
    operation.permission === "read"
      ? await openForQueries(config, namesUnreadable(terminal))
      : await openForForgetting(config);
  return await createApi<StoreContext | ForgetContext>(offline.context, config.keys)(
    operation,
    request,
  );
}

function namesUnreadable(terminal: Terminal) {
  return {
    onUnreadableRow: (row: UnreadableRow): void => showNotes([unreadableText(row)], terminal),
  };
}

/** The source of reports: a context of this process, or else the daemon. */
interface History {
  readonly api: CallApi<HistoryContext>;
  readonly context?: HistoryContext;
  /** Those that requests can select by their labels. */
  readonly keys?: readonly LabelledKey[];
}

/** Reads reports from the store if it is on this machine or on PostgreSQL, which costs the daemon nothing, and otherwise from the daemon. */
export async function readHistory(
  options: ApiOptions & { readonly clock?: Clock | undefined },
  terminal: Terminal,
  read: (history: History) => Promise<void>,
): Promise<void> {
  const { api, config } = namedDaemon(options, terminal);
  if (config && (config.store.postgres !== null || existsSync(config.store.path))) {
    const { openForReports } = await import("../app/offline.ts");
    const { clock } = options;
    await using store = await openForReports(config, { clock, ...namesUnreadable(terminal) });
    const { context } = store;
    await read({ api: createApi(context, config.keys), context, keys: config.keys });
  } else if (api) {
    await read({ api });
  } else {
    throw new CommandError(
      `There is no store ${config?.store.path}: the daemon has not run with this configuration on this machine.`,
    );
  }
}

/** Calls operations of the daemon only, which may be restarted in between. */
export function runningApi(options: ApiOptions, terminal: Terminal, signal: AbortSignal): CallApi {
  const { api } = namedDaemon(options, terminal, signal);
  if (api) return api;
  throw wrongUse(portUnknown);
}

const portUnknown =
  "http.listen has port 0, so the port is not known: give the address with --url.";

/** Lets the daemon read its configuration again. @returns what it says */
export async function reloadDaemon(options: ApiOptions, terminal: Terminal): Promise<string> {
  // Only the daemon may be able to read its secrets: systemd shows credentials to nobody else.
  const { reload } = namedDaemon(options, terminal, undefined, {
    withoutSecrets: true,
    keepsAddress: true,
  });
  if (!reload) throw wrongUse(portUnknown);
  const { isAccepted, text } = await reload();
  if (!isAccepted) throw wrongUse(`The daemon refuses its configuration:\n${text}`);
  return text;
}
