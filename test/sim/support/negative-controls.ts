import {
  acknowledgesBeforeSending,
  writesTheOutboxAfterThePoll,
  keepsNoOrder,
  commitsTheFirstOfAGroup,
  showsBeforeItCommits,
  forgetsSilencesAtRestart,
  forgetsAcknowledgementsAtRestart,
  cannotStartAgain,
  stopsTooLate,
  ignoresRetryAfter,
  showsAllAsUp,
  showsErrorsAsIdle,
  showsNoIncident,
  showsNoDeadLetter,
  isAlwaysReady,
  sendsFewHeartbeats,
  knowsNoMaintenance,
  decodesNothing,
  countsByItself,
  ignoresNewNames,
  takesUnknownForRecovery,
  tellsEachTimeOfWhatFlaps,
  endsInSilence,
  waitsForNoInterval,
  mergesTooSoon,
  pollsTwiceAsOften,
  sendsTooMany,
  keepsQuietAboutDeadLetters,
  replaysNothing,
  forgetsOpenBucketsAtRestart,
  recordsNothingUnobserved,
  writesNoClosedBucketAgain,
  shiftsDwellTimes,
  forgetsWhatIsMissingAtRestart,
  writesOnlyChangesOfStatus,
  writesNoGapOfObservation,
} from "./mutations.ts";
import type { Mutation } from "./mutations.ts";
import { beatsWithoutItsStore, storesGapsAlways, storesNoGap } from "./store-mutations.ts";

export interface NegativeControl {
  /** What the daemon does. */
  readonly name: string;
  readonly mutation: Mutation;
  /** What the oracle must say of it; anything where this is absent. */
  readonly caughtAs?: RegExp;
  /** The first of so many short worlds is one in which it shows. */
  readonly from: number;
}

/** All that the oracle must catch. */
export const negativeControls: readonly NegativeControl[] = [
  {
    name: "knows no maintenance windows",
    mutation: knowsNoMaintenance,
    from: 1,
    caughtAs:
      /not then for that|something else was not told|told to be over|told too early|told for nothing/,
  },
  { name: "decodes nothing", mutation: decodesNothing, from: 4, caughtAs: /was given up/ },
  {
    name: "takes a listing in part for a complete one",
    mutation: countsByItself,
    from: 1,
    caughtAs: /changes invent .*"absent"/,
  },
  { name: "ignores new names", mutation: ignoresNewNames, from: 1, caughtAs: /buckets of/ },
  { name: "shows every target as up", mutation: showsAllAsUp, from: 1, caughtAs: /shown as up/ },
  {
    name: "shows errors as idle",
    mutation: showsErrorsAsIdle,
    from: 27,
    caughtAs: /servers error/,
  },
  { name: "shows no incident", mutation: showsNoIncident, from: 27, caughtAs: /firing incidents/ },
  { name: "shows no dead letter", mutation: showsNoDeadLetter, from: 6, caughtAs: /dead notif/ },
  { name: "is always ready", mutation: isAlwaysReady, from: 1, caughtAs: /ready, though/ },
  { name: "sends few heartbeats", mutation: sendsFewHeartbeats, from: 1, caughtAs: /no heartbeat/ },
  { name: "acknowledges before it sends", mutation: acknowledgesBeforeSending, from: 27 },
  { name: "keeps no order", mutation: keepsNoOrder, from: 27 },
  { name: "commits only the first poll of a group", mutation: commitsTheFirstOfAGroup, from: 27 },
  { name: "forgets silences at a restart", mutation: forgetsSilencesAtRestart, from: 31 },
  { name: "tells each time of what flaps", mutation: tellsEachTimeOfWhatFlaps, from: 39 },
  {
    name: "writes the outbox apart from the poll",
    mutation: writesTheOutboxAfterThePoll,
    from: 10,
  },
  { name: "shows a poll before it commits it", mutation: showsBeforeItCommits, from: 1 },
  { name: "forgets who acknowledged", mutation: forgetsAcknowledgementsAtRestart, from: 1 },
  { name: "ends incidents of no rule in silence", mutation: endsInSilence, from: 39 },
  { name: "waits for no interval", mutation: waitsForNoInterval, from: 27 },
  { name: "merges groups too soon", mutation: mergesTooSoon, from: 27 },
  { name: "keeps quiet about what it gave up", mutation: keepsQuietAboutDeadLetters, from: 6 },
  {
    name: "polls twice as often",
    mutation: pollsTwiceAsOften,
    from: 27,
    caughtAs: /had \d+ turns from/,
  },
  {
    name: "sends more than the limit of its key",
    mutation: sendsTooMany,
    from: 35,
    caughtAs: /sent more than \d+ requests/,
  },
  {
    name: "ignores Retry-After",
    mutation: ignoresRetryAfter,
    from: 2,
    caughtAs: /asked for \d+.* of patience/,
  },
  {
    name: "takes an unknown status for a recovery",
    mutation: takesUnknownForRecovery,
    from: 28,
    caughtAs: /told to be over/,
  },
  { name: "cannot start again", mutation: cannotStartAgain, from: 27, caughtAs: /could not start/ },
  { name: "takes too long to stop", mutation: stopsTooLate, from: 1, caughtAs: /did not stop in/ },
  { name: "replays nothing", mutation: replaysNothing, from: 2 },
  { name: "forgets what was recorded last", mutation: forgetsOpenBucketsAtRestart, from: 27 },
  {
    name: "records nothing while it does not observe",
    mutation: recordsNothingUnobserved,
    from: 27,
  },
  {
    name: "writes no bucket that closes unchanged",
    mutation: writesNoClosedBucketAgain,
    from: 32,
    caughtAs: /are recorded in 5m/,
  },
  {
    name: "adds dwell times to the next bucket",
    mutation: shiftsDwellTimes,
    from: 39,
    caughtAs: /buckets of/,
  },
  {
    name: "forgets at a restart what is missing",
    mutation: forgetsWhatIsMissingAtRestart,
    from: 28,
    caughtAs: /changes (lack|invent)/,
  },
  {
    name: "writes only changes of status",
    mutation: writesOnlyChangesOfStatus,
    from: 28,
    caughtAs: /changes (lack|invent)/,
  },
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
];
