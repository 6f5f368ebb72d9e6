import type { Config } from "../config/config.ts";
import { formatFaults } from "../config/faults.ts";
import type { LoadedConfig } from "../config/load-config.ts";
import type { Clock } from "../lib/clock.ts";
import type { LastReload, ReloadAnswer } from "../web/server.ts";

/** Reloads the configuration on request. */
export interface Reloads {
  /** Reads the configuration. One with faults changes nothing. */
  readonly request: () => ReloadAnswer;
  /** Resolves with the next configuration to run: the latest of several. */
  next(): Promise<Config>;
  /** The last configuration of `next` could not be run. Ignored when another was read since. */
  failed(): void;
  readonly last: LastReload;
}

/** @param file shown in faults */
export function createReloads(file: string, load: () => LoadedConfig, clock: Clock): Reloads {
  let last: LastReload = { successful: true, successAtMs: clock.now().utcMs };
  let reads = 0;
  /** The latest read whose configuration is to run. Earlier reads are out of date. */
  let lastBegun = 0;
  let wanted: { readonly config: Config; readonly read: number } | null = null;
  /** The read of the last configuration of `next`. */
  let lastTaken = 0;
  let waiting = Promise.withResolvers<void>();
  const fail = (): void => {
    last = { ...last, successful: false };
  };
  return {
    request() {
      const loaded = load();
      const read = ++reads;
      if (loaded.kind === "faulty") {
        fail();
        return { kind: "refused", reason: formatFaults(file, loaded.faults) };
      }
      last = { successful: true, successAtMs: clock.now().utcMs };
      const begin = (): void => {
        if (read < lastBegun) return;
        lastBegun = read;
        wanted = { config: loaded.config, read };
        waiting.resolve();
      };
      return { kind: "accepted", begin };
    },
    async next() {
      for (;;) {
        if (wanted) {
          const { config, read } = wanted;
          [wanted, lastTaken] = [null, read];
          return config;
        }
        await waiting.promise;
        waiting = Promise.withResolvers();
      }
    },
    failed() {
      if (lastTaken === reads) fail();
    },
    get last() {
      return last;
    },
  };
}
