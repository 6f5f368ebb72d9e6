/** Of a list that is given a page at a time. */
export interface PageOptions {
  readonly limit?: number;
  readonly before?: string;
}

/** What a person does to see what follows. */
export function nextLine(next: string | null): string {
  return next === null ? "" : `There is more: add --before ${next}\n`;
}
