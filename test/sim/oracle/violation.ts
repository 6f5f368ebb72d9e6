/** A promise that was broken. */
export interface Violation {
  readonly text: string;
  /** Names and ids that the account of it should hold. */
  readonly about: readonly string[];
}

export function violation(text: string, ...about: readonly string[]): Violation {
  return { text, about };
}
