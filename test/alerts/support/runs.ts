import * as fc from "fast-check";

/** Whether a condition holds at each of up to 600 polls: in runs, most of them short, some longer than an hour. */
export const runs: fc.Arbitrary<readonly boolean[]> = fc
  .array(
    fc.oneof(
      { weight: 3, arbitrary: fc.integer({ min: 1, max: 3 }) },
      fc.integer({ min: 100, max: 130 }),
    ),
    {
      maxLength: 16,
    },
  )
  .map((lengths) =>
    lengths.flatMap((length, index) => Array.from({ length }, () => index % 2 === 0)).slice(0, 600),
  );
