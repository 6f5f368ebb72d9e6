import type { DamageEffect, History } from "../history.ts";

/** What cannot be read in one process that could be in an earlier one. */
export function damagesBetween(
  { damages }: History,
  earlier: number,
  later: number,
): readonly DamageEffect[] {
  return damages.filter(({ life }) => life > earlier && life <= later).map(({ effect }) => effect);
}

/** The servers of a target that a process does not know any more, though an earlier one did. */
export function forgottenBetween(
  history: History,
  target: string,
  earlier: number,
  later: number,
): ReadonlySet<string> {
  const effects = damagesBetween(history, earlier, later);
  return new Set(
    effects.flatMap((each) =>
      each.kind === "servers" && each.target === target ? each.servers : [],
    ),
  );
}

/** What a receiver was to be notified of, in rows that a process cannot read. */
export function lostMessages({ damages }: History, receiver: string, untilLife = Infinity) {
  return damages.flatMap(({ life, effect }) =>
    effect.kind === "message" && effect.receiver === receiver && life <= untilLife ? [effect] : [],
  );
}
