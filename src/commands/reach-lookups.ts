import type { Config } from "../config/config.ts";
import { configuredTargets } from "../config/configured-targets.ts";
import { readRequest } from "../interventions/requests.ts";
import { createLookups } from "../lookups/lookups.ts";
import type { Lookups } from "../lookups/lookups.ts";
import { longestPatienceSeconds, lookupQuery } from "../lookups/requests.ts";
import type { LookupQuery } from "../lookups/requests.ts";
import * as views from "../lookups/views.ts";
import { systemClock } from "../platform/clock.ts";
import { localAddress } from "../platform/listen-address.ts";
import { userAgent } from "../platform/version.ts";
import { createKeyLimits } from "../polling/key-limits.ts";
import { createServiceClient } from "../service/client.ts";
import { createApiCall, NobodyListensError } from "./api-call.ts";
import { checkWatches } from "./check-watches.ts";
import { CommandError, exitCodes } from "./exit-codes.ts";
import { readConfig } from "./read-config.ts";
import { asCommandError, checkAddress, checkNobodyRuns } from "./reach-desk.ts";
import type { DeskOptions } from "./reach-desk.ts";
import type { Terminal } from "./terminal.ts";

export interface ReachOptions extends DeskOptions {
  readonly showSecrets?: boolean;
}

/** As long as the service may take, and a daemon lets a look-up wait for its turn. */
const patienceMs = 5 * 60_000;

/**
 * Looks something up: through the daemon that runs, so that it is one of the calls that its limits
 * count, and by itself where none does. What may be secret is in no answer of a daemon: to show it
 * the call is made from here, once the daemon has made room for it.
 *
 * @throws {CommandError} when it cannot be asked for
 */
export async function askLookup(
  word: string,
  query: LookupQuery,
  options: ReachOptions,
  terminal: Terminal,
): Promise<views.LookupView> {
  const { config: file, url, showSecrets = false } = options;
  if (file === undefined && url === undefined) {
    throw wrongUse("Give --config FILE, or --url ADDRESS of the sandwatch that runs, or both.");
  }
  if (file === undefined && showSecrets) {
    throw wrongUse(
      "--show-secrets needs --config FILE: a sandwatch that runs gives no secret away, so the call is made from here.",
    );
  }
  const config = file === undefined ? null : readConfig(file, terminal);
  const daemon = reachDaemon(config, url);
  try {
    if (!config) return await daemon.lookUp(word, query);
    return await askByConfig(word, query, {
      config,
      daemon,
      showSecrets,
      isDaemonMeant: url !== undefined,
    });
  } catch (error) {
    throw asCommandError(error);
  }
}

interface Ways {
  readonly config: Config;
  readonly daemon: Lookups;
  readonly showSecrets: boolean;
  /** That there is a daemon was said: without it nothing is done. */
  readonly isDaemonMeant: boolean;
}

async function askByConfig(
  word: string,
  query: LookupQuery,
  { config, daemon, showSecrets, isDaemonMeant }: Ways,
): Promise<views.LookupView> {
  const askPermitted = async (): Promise<views.LookupView> => {
    const target = await daemon.permit(choiceOf(query));
    const view = await askDirectly(config, showSecrets, (lookups) =>
      lookups.lookUp(word, { ...query, ...target }),
    );
    await tellPatience(daemon, target, view);
    return view;
  };
  const address = configuredAddress(config);
  try {
    if (!isDaemonMeant && address !== null) await checkWatches(config, address);
    if (showSecrets) return await askPermitted();
    const view = await daemon.lookUp(word, query);
    // A daemon does not hold as much as a process of its own may.
    return isTooLarge(view) ? await askPermitted() : view;
  } catch (error) {
    if (isDaemonMeant || !(error instanceof NobodyListensError)) throw error;
  }
  checkNobodyRuns(config);
  return askDirectly(config, showSecrets, (lookups) => lookups.lookUp(word, query));
}

/** Without it the daemon's own next call would be refused, too. That it heard is not worth failing for. */
async function tellPatience(
  daemon: Lookups,
  target: views.PermitView,
  view: views.LookupView,
): Promise<void> {
  if (view.outcome === "answered" || !view.retry_after_seconds) return;
  const seconds = Math.min(view.retry_after_seconds, longestPatienceSeconds);
  await daemon.heed({ ...target, seconds }).catch(() => {});
}

function choiceOf({ region, key }: LookupQuery): LookupQuery {
  return { ...(region !== undefined && { region }), ...(key !== undefined && { key }) };
}

function isTooLarge(view: views.LookupView): boolean {
  return view.outcome === "failed" && view.reason === "too_large";
}

/** The look-ups of a daemon that runs, over its API. */
function reachDaemon(config: Config | null, url: string | undefined): Lookups {
  const address = url === undefined ? configuredAddress(config) : checkAddress(url);
  if (address === null) {
    const nobody = () => Promise.reject(new NobodyListensError("No address is configured."));
    return { lookUp: nobody, permit: nobody, heed: nobody };
  }
  const call = createApiCall(address);
  return {
    // Checked before it stands in an address, which would change text that is not well-formed.
    lookUp: async (word, query) =>
      call(views.lookupView, `lookups/${encodeURIComponent(word)}`, {
        query: readRequest(lookupQuery, query),
        patienceMs,
      }),
    permit: (body) => call(views.permitView, "lookups/permits", { body, patienceMs }),
    heed: (body) => call(views.permitView, "lookups/patience", { body }),
  };
}

/** Null where the port is chosen at the start, and not known to anybody else. */
function configuredAddress(config: Config | null): string | null {
  return config && config.http.port !== 0 ? localAddress(config.http) : null;
}

async function askDirectly(
  config: Config,
  showSecrets: boolean,
  ask: (lookups: Lookups) => Promise<views.LookupView>,
): Promise<views.LookupView> {
  const clock = systemClock;
  const { timeoutMs, maxBodyBytes, rateLimit } = config.poll;
  const service = createServiceClient({
    regions: config.regions,
    timeoutMs,
    maxBodyBytes,
    userAgent,
    clock,
  });
  try {
    return await ask(
      createLookups({
        service,
        // One call is what there is room for, also where a daemon has made it.
        limits: createKeyLimits(clock, { ...rateLimit, requests: 1 }),
        targets: configuredTargets(config),
        keys: config.keys,
        clock,
        signal: new AbortController().signal,
        showSecrets,
      }),
    );
  } finally {
    await service.close();
  }
}

function wrongUse(message: string): CommandError {
  return new CommandError(message, exitCodes.wrongUse);
}
