/**
 * Where a change is among all that are kept. As text it is for others to hand back, and for nothing
 * else.
 */
export interface ChangePlace {
  readonly atMs: number;
  readonly targetId: number;
  /** Of its row: it tells the order in which changes were kept, whatever the clock said. */
  readonly row: number;
  /** Within the row. */
  readonly index: number;
}

const pattern = /^(-?\d{1,15})_(\d{1,15})_(\d{1,15})_(\d{1,9})$/;

export function changePlaceText({ atMs, targetId, row, index }: ChangePlace): string {
  return `${atMs}_${targetId}_${row}_${index}`;
}

/** Undefined when it is no place. */
export function readChangePlace(text: string): ChangePlace | undefined {
  const [atMs, targetId, row, index] = pattern.exec(text)?.slice(1).map(Number) ?? [];
  return atMs === undefined || targetId === undefined || row === undefined || index === undefined
    ? undefined
    : { atMs, targetId, row, index };
}
