import { afterAll, beforeAll, onTestFinished } from "vitest";

type End = () => void | Promise<void>;

/** Collects what ends with the tests of a file, while what they share is made. */
let shared: End[] | null = null;

/** Ends something with the test that made it, or, if the tests of a file share it, with the last of them. */
export function cleanUp(end: End): void {
  if (shared) shared.push(end);
  else onTestFinished(end);
}

/** Makes once what the tests of a file share, none of which may change it for the others. */
export function share<T>(make: () => T | Promise<T>): () => T {
  const ends: End[] = [];
  let made: { readonly value: T } | undefined;
  beforeAll(async () => {
    shared = ends;
    try {
      made = { value: await make() };
    } finally {
      shared = null;
    }
  });
  afterAll(async () => {
    for (const end of ends.toReversed()) await end();
  });
  return () => {
    if (!made) throw new Error("not made yet");
    return made.value;
  };
}
