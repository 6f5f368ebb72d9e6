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

function holdsIdOrText(text: string): RawBuilder<unknown> {
  const bytes = beginningOfUuid(text);
  const isShort = bytes === null && /^[\da-f]?$/.test(text);
  if (isShort) return sql`true`;
  const beginning = JSON.stringify(text).slice(0, -1);
  const holdsBeginning = sql`instr(changes.texts, ${beginning})`;
  return bytes === null
    ? holdsBeginning
    : sql`(instr(changes.words, ${bytes}) or ${holdsBeginning})`;
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
