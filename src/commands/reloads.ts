import type { Config } from "../config/config.ts";
import { formatFaults } from "../config/faults.ts";
import type { LoadedConfig } from "../config/load-config.ts";
import type { Clock } from "../platform/clock.ts";
import type { LastReload, ReloadAnswer } from "../web/reload-route.ts";

/** Reads the configuration again when it is asked to, for as long as the process runs. */
export interface Reloads {
  /** Reads it now. Nothing is changed when it has faults. */
  readonly request: () => ReloadAnswer;
  /** Resolves with the next configuration that is to be run: of those asked for meanwhile the latest. */
  next(): Promise<Config>;
  /** The one that `next` gave last could not be run: another is. Told as long as none was read after it. */
  failed(): void;
  readonly last: LastReload;
}

/** @param file shown in faults */
export function createReloads(file: string, load: () => LoadedConfig, clock: Clock): Reloads {
  let last: LastReload = { successful: true, successAtMs: clock.now().utcMs };
  let reads = 0;
  /** The read that was begun last: one that was read before it, and is begun only now, is out of date. */
  let lastBegun = 0;
  let wanted: { readonly config: Config; readonly read: number } | null = null;
  /** The read of the configuration that `next` gave last. */
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
