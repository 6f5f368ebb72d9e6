import { z } from "zod";
import { lookupWords } from "../core/lookup-words.ts";
import { canStandInPath } from "../service/operation-path.ts";

/** What people ask the service for, as it comes from an address or a command line. */

/** Each may take nine bytes in an address, which has room for twice as many. */
const longestId = 1_000;
export const idAllowed = `text of at most ${longestId} characters, other than an empty one, . and .., which no path can hold`;

const name = (what: string) => z.string(`the name of a configured ${what}`);

export const lookupWord = z.enum(lookupWords, lookupWords.join(", "));

/** An id that can be asked for. @param allowed what is said of any other */
export function idText(allowed: string) {
  return z
    .string(allowed)
    .max(longestId, allowed)
    .refine((id) => canStandInPath(id), allowed);
}

export const lookupQuery = z.strictObject({
  id: idText(idAllowed).optional(),
  region: name("region").optional(),
  key: name("key").optional(),
});
export type LookupQuery = z.input<typeof lookupQuery>;

export const permitRequest = z.strictObject({
  region: name("region").optional(),
  key: name("key").optional(),
});
export type PermitRequest = z.input<typeof permitRequest>;

/** Whoever was asked for more patience says so again: a word from outside stops polls no longer. */
export const longestPatienceSeconds = 3_600;
const secondsAllowed = `a whole number from 1 to ${longestPatienceSeconds}`;

export const patienceRequest = permitRequest.extend({
  seconds: z.int(secondsAllowed).min(1, secondsAllowed).max(longestPatienceSeconds, secondsAllowed),
});
export type PatienceRequest = z.input<typeof patienceRequest>;
