import type { DatabaseSync } from "node:sqlite";
import type { Config } from "../../../src/config/config.ts";
import type { Store } from "../../../src/store/store.ts";
import type { StoreLogLine } from "../history.ts";
import type { ScenarioRule } from "../scenario.ts";
import type { Stage } from "../stages.ts";
import type { Dice } from "./dice.ts";
import type { Trace } from "./trace.ts";
import type { Peer } from "./virtual-network.ts";
import type { WorldTime } from "./world-time.ts";

/** Puts something between the daemon and its store. */
export type StoreMutation = (store: Store, databases: Iterable<DatabaseSync>) => Store;

export interface Configured {
  readonly config: Config;
  readonly rules: readonly ScenarioRule[];
  readonly stage: Stage;
}

export interface HostDeps {
  /** What a process is configured with that starts now. */
  readonly configure: () => Configured;
  /** What a reload takes on. */
  readonly reloads: () => Stage;
  readonly folder: string;
  readonly time: WorldTime;
  readonly dice: Dice;
  readonly trace: Trace;
  readonly peers: ReadonlyMap<string, Peer>;
  readonly mutate: StoreMutation;
  /** SQL that runs on the store before another process starts. */
  readonly between: string | null;
  /** SQL that runs on the store within a reload, once it is known what is configured now. */
  readonly reloading: ((stage: Stage) => string) | null;
  /** How much longer a process takes to stop than it does. */
  readonly stopsLateMs: number;
  /** True: the process dies here. */
  readonly onPassing: () => boolean;
  /** The store took something. */
  readonly onCommit: (database: DatabaseSync, life: number) => void;
  /** Before a statement is run; may throw what SQLite throws. */
  readonly onStatement: (database: DatabaseSync, sql: string) => void;
  /** Before a process starts that is not the first. */
  readonly beforeStart: (storePath: string, life: number) => void;
  readonly onStart: () => void;
  /** A process ends, and its files are still where it left them. */
  readonly onEnding: () => void;
  readonly onStoreLog: (line: StoreLogLine) => void;
  /** How long it takes until a process that ended is started again. */
  readonly restartMs: () => number;
}
