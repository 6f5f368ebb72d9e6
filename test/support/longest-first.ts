import { BaseSequencer, type TestSpecification } from "vitest/node";

/**
 * A clean checkout has no times of an earlier run, and Vitest begins with the largest files then. These take longest though they
 * are small: begun last, each would run alone at the end.
 */
export function longestFirst(...paths: readonly string[]): typeof BaseSequencer {
  return class extends BaseSequencer {
    override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
      const isLong = ({ moduleId }: TestSpecification): boolean =>
        paths.some((path) => moduleId.endsWith(path));
      // oxlint-disable-next-line unicorn/no-array-sort -- no method of an array
      const sorted = await super.sort(files);
      return [...sorted.filter(isLong), ...sorted.filter((each) => !isLong(each))];
    }
  };
}
