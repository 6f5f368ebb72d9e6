import { showsBeforeItCommits } from "./mutations.ts";
import {
  beatsWithoutItsStore,
  discardsUnreadableItems,
  ignoresReadOnlyDisks,
  letsOthersIn,
  losesWhatIsBesideUnreadableRows,
  neverRecovers,
  overlooksReplacedFiles,
  queriesChangeTheStore,
  stopsAtUnreadableRows,
  storesGapsAlways,
  storesNoGap,
  writesNoGapOfObservation,
} from "./store-mutations.ts";

/** Daemons that break a promise about what they store, or about the store itself. */
export const storeControls = [
  {
    name: "writes no gap of observation",
    mutation: writesNoGapOfObservation,
    from: 28,
    caughtAs: /changes lack .*"missing"/,
  },
  {
    name: "stores no gap",
    mutation: storesNoGap,
    from: 28,
    caughtAs: /gaps lack the time/,
  },
  {
    name: "takes all time for a gap",
    mutation: storesGapsAlways,
    from: 28,
    caughtAs: /gaps invent the time/,
  },
  {
    name: "sends heartbeats though its store does not answer",
    mutation: beatsWithoutItsStore,
    from: 1,
    caughtAs: /a heartbeat at .* though the store refuses everything/,
  },
  {
    name: "sends heartbeats though its polls are not stored",
    mutation: showsBeforeItCommits,
    from: 1,
    caughtAs: /a heartbeat at .* though the last poll of/,
  },
  {
    name: "takes a read-only disk for a good one",
    mutation: ignoresReadOnlyDisks,
    from: 2,
    caughtAs: /shown as up, though its last poll was not stored/,
  },
  {
    name: "does not store again after a failure",
    mutation: neverRecovers,
    from: 2,
    caughtAs: /was not stored, though nothing kept it/,
  },
  {
    name: "overlooks that its store was replaced",
    mutation: overlooksReplacedFiles,
    from: 9,
    caughtAs: /(was ready|notified|went on storing).* though its store was replaced/,
  },
  {
    name: "changes its store when it is queried",
    mutation: queriesChangeTheStore,
    from: 1,
    caughtAs: /^queries at \d+ ms: changed the store/,
  },
  {
    name: "lets another process in",
    mutation: letsOthersIn,
    from: 1,
    caughtAs: /^another process at \d+ ms: let in/,
  },
  {
    name: "does not start with a row that it cannot read",
    mutation: stopsAtUnreadableRows,
    from: 1,
    caughtAs: /could not start: Error: a row cannot be read/,
  },
  {
    name: "loses what is beside a row that it cannot read",
    mutation: losesWhatIsBesideUnreadableRows,
    from: 1,
    caughtAs: /changes (lack|invent)/,
  },
  {
    name: "takes messages that it cannot read for delivered",
    mutation: discardsUnreadableItems,
    from: 16,
    caughtAs: /left at the end: .* 0 dead notifications, where [1-9]\d* cannot be read/,
  },
] as const;
