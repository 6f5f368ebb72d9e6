import { createHash } from "node:crypto";

/** All that happened, as one hash, and of it what a person wants to read. */
export interface Trace {
  /** Counts towards the hash alone. */
  mark(what: string): void;
  /** Counts, and is kept for the account. */
  tell(what: string): void;
  readonly story: readonly StoryLine[];
  hash(): string;
}

export interface StoryLine {
  readonly atMs: number;
  readonly text: string;
}

/** @param folder whose name is another one in each run, and is not part of what happened */
export function createTrace(now: () => number, folder: string): Trace {
  const hash = createHash("sha256");
  const story: StoryLine[] = [];
  const mark = (what: string): void => void hash.update(`${now()} ${what}\n`);
  return {
    mark,
    tell(what) {
      const text = what.replaceAll(folder, "");
      mark(text);
      story.push({ atMs: now(), text });
    },
    story,
    hash: () => hash.copy().digest("hex"),
  };
}

/** Time since the world began, for a person: "1d 04:05:06.007". */
export function timeText(ms: number): string {
  const days = Math.floor(ms / 86_400_000);
  return `${days}d ${new Date(ms % 86_400_000).toISOString().slice(11, 23)}`;
}
