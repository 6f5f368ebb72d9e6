/** The position of a change among all that are stored. As text it is for others to hand back, and for nothing else. */
export interface ChangeCursor {
  readonly atMs: number;
  /** The order in which changes were stored, whatever the clock said. */
  readonly seq: number;
}

export function cursorText({ atMs, seq }: ChangeCursor): string {
  return `${atMs}_${seq}`;
}

const cursorPattern = /^(-?\d{1,15})_(\d{1,15})$/;

export function isChangeCursor(text: string): boolean {
  return cursorPattern.test(text);
}

/** @throws {RangeError} when it is not a cursor */
export function readCursor(text: string): ChangeCursor {
  const [, atMs, seq] = cursorPattern.exec(text) ?? [];
  if (atMs === undefined || seq === undefined) {
    throw new RangeError("a cursor of changes must be one that they gave");
  }
  return { atMs: Number(atMs), seq: Number(seq) };
}
