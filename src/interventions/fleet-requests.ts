import { z } from "zod";
import { statuses } from "../core/model.ts";
import { limitOf, listOf, serverText } from "./requests.ts";

/** What people ask for of the targets and servers as they are now. */

const name = z.string().min(1).max(1_000);
const regions = listOf(name).describe("Names of regions");
const keys = listOf(name).describe("Names of keys");

const placeAllowed = "what the page before gave as next";

/** A place in a list, as texts that say which entry was the last one; nobody needs to read it. */
function placeOf<Texts extends z.ZodType<readonly string[]>>(texts: Texts) {
  return z
    .string(placeAllowed)
    .max(8_000, placeAllowed)
    .transform((value, context): z.output<Texts> => {
      const read = texts.safeParse(parseJson(Buffer.from(value, "base64url").toString()));
      if (read.success) return read.data;
      context.addIssue({ code: "custom", message: placeAllowed });
      return z.NEVER;
    })
    .optional()
    .describe("`next` of the page before");
}

/** What `cursor` of the next request is to be. */
export function nextText(texts: readonly string[]): string {
  return Buffer.from(JSON.stringify(texts)).toString("base64url");
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const limit = limitOf(100);

export const targetsQuery = z.strictObject({
  region: regions,
  key: keys,
  limit,
  cursor: placeOf(z.tuple([z.string(), z.string()])),
});
export type TargetsQuery = z.input<typeof targetsQuery>;

export const serversQuery = z.strictObject({
  region: regions,
  key: keys,
  sandbox: name.optional().describe("A sandbox's id, or the beginning of one"),
  server: serverText.optional().describe("A server's id, the beginning of one, or a server's name"),
  server_name: listOf(name).describe("Names of servers"),
  status: listOf(z.enum(statuses, statuses.join(", "))),
  tag: listOf(name).describe("Tags, of which a server has at least one"),
  limit,
  cursor: placeOf(z.tuple([z.string(), z.string(), z.string(), z.string()])),
});
export type ServersQuery = z.input<typeof serversQuery>;
export type CheckedServersQuery = z.output<typeof serversQuery>;
