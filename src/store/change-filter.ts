import { sql } from "kysely";
import type { RawBuilder } from "kysely";
import type { Presence } from "../core/model.ts";
import type { PackedChanges } from "../core/snapshot/packed-changes.ts";
import { beginningOfUuid } from "../core/snapshot/packed-id.ts";

/** Which changes are meant, by what they themselves tell. Left out or empty: whatever it is. */
export interface ChangeFilter {
  /** The server's id, what it begins like, or the server's name. */
  readonly server?: string | undefined;
  /** The sandbox's id, or what it begins like. */
  readonly sandbox?: string | undefined;
  readonly name?: readonly string[] | undefined;
  /** From one of these, or to one. */
  readonly status?: readonly Presence[] | undefined;
  readonly from?: readonly Presence[] | undefined;
  readonly to?: readonly Presence[] | undefined;
  /** Whether lapses are meant too: they are from the status that they are to. */
  readonly lapses?: boolean | undefined;
}

/** Whether a row may hold a change that is meant: most are told apart without being unpacked. */
export function mayHold({ server, sandbox, name }: ChangeFilter): RawBuilder<unknown> {
  const conditions = [
    ...(server === undefined ? [] : [holdsIdOrText(server)]),
    ...(sandbox === undefined ? [] : [holdsIdOrText(sandbox)]),
    ...(name === undefined || name.length === 0
      ? []
      : [sql`(${sql.join(name.map(holdsText), sql` or `)})`]),
  ];
  return conditions.length === 0 ? sql`true` : sql.join(conditions, sql` and `);
}

/** The same of words and texts that are at hand. */
export function mayHoldIn({
  server,
  sandbox,
  name = [],
}: ChangeFilter): (words: Uint8Array, texts: readonly string[]) => boolean {
  const ids = [server, sandbox].flatMap((id) => (id === undefined ? [] : [idOrText(id)]));
  const names = name.map((one) => JSON.stringify(one));
  if (ids.length + names.length === 0) return () => true;
  return (words, texts) =>
    ids.every(
      (id) =>
        id === null || holdsBytes(words, id.bytes) || texts.some((text) => text.includes(id.text)),
    ) &&
    (names.length === 0 || names.some((one) => texts.some((text) => text.includes(one))));
}

function holdsBytes(words: Uint8Array, bytes: Uint8Array | null): boolean {
  const { buffer, byteOffset, byteLength } = words;
  return bytes !== null && Buffer.from(buffer, byteOffset, byteLength).includes(Buffer.from(bytes));
}

/** What begins an id, as it is in words and in texts. Null: it may be in any. */
function idOrText(
  beginning: string,
): { readonly bytes: Uint8Array | null; readonly text: string } | null {
  const bytes = beginningOfUuid(beginning);
  const isShort = bytes === null && /^[\da-f]?$/.test(beginning);
  return isShort ? null : { bytes, text: JSON.stringify(beginning).slice(0, -1) };
}

function holdsIdOrText(beginning: string): RawBuilder<unknown> {
  const id = idOrText(beginning);
  if (id === null) return sql`true`;
  const holdsBeginning = sql`instr(changes.texts, ${id.text})`;
  return id.bytes === null
    ? holdsBeginning
    : sql`(instr(changes.words, ${id.bytes}) or ${holdsBeginning})`;
}

function holdsText(text: string): RawBuilder<unknown> {
  return sql`instr(changes.texts, ${JSON.stringify(text)})`;
}

/** Tells of the changes of a row, by number, which are meant. */
export function isMeant(filter: ChangeFilter): (changes: PackedChanges, index: number) => boolean {
  const { server, sandbox, lapses = false } = filter;
  const names = setOf(filter.name);
  const either = setOf(filter.status);
  const from = setOf(filter.from);
  const to = setOf(filter.to);
  return (changes, index) =>
    (lapses || changes.lapse(index) === null) &&
    (either === null || either.has(changes.from(index)) || either.has(changes.to(index))) &&
    (from === null || from.has(changes.from(index))) &&
    (to === null || to.has(changes.to(index))) &&
    (names === null || names.has(changes.serverName(index))) &&
    (sandbox === undefined || changes.sandboxId(index).startsWith(sandbox)) &&
    (server === undefined ||
      changes.serverName(index) === server ||
      changes.serverId(index).startsWith(server));
}

function setOf<Item>(items: readonly Item[] | undefined): ReadonlySet<Item | null> | null {
  return items === undefined || items.length === 0 ? null : new Set(items);
}
