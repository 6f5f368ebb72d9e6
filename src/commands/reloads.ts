import type { Config } from "../config/config.ts";
import { formatFaults } from "../config/faults.ts";
import type { LoadedConfig } from "../config/load-config.ts";
import type { Clock } from "../platform/clock.ts";
import type { LastReload, ReloadAnswer } from "../web/reload-route.ts";

/** Reads the configuration again when it is asked to, for as long as the process runs. */
export interface Reloads {
  /** Reads it now. Nothing is changed when it has faults. */
  readonly request: () => ReloadAnswer;
  /** Resolves with the next configuration that is to be run; what was asked for meanwhile counts. */
  next(): Promise<Config>;
  /** The last one could not be run: another is. */
  failed(): void;
  readonly last: LastReload;
}

/** @param file shown in faults */
export function createReloads(file: string, load: () => LoadedConfig, clock: Clock): Reloads {
  let last: LastReload = { successful: true, successAtMs: clock.now().utcMs };
  let waiting = Promise.withResolvers<Config>();
  const fail = (): void => {
    last = { ...last, successful: false };
  };
  return {
    request() {
      const loaded = load();
      if (loaded.kind === "faulty") {
        fail();
        return { kind: "refused", reason: formatFaults(file, loaded.faults) };
      }
      last = { successful: true, successAtMs: clock.now().utcMs };
      const { resolve } = waiting;
      return { kind: "accepted", begin: () => resolve(loaded.config) };
    },
    async next() {
      const config = await waiting.promise;
      waiting = Promise.withResolvers<Config>();
      return config;
    },
    failed: fail,
    get last() {
      return last;
    },
  };
}
