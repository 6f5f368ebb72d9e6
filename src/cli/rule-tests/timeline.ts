/**
 * Reads a timeline such as `idle*3 error*2 gone`: what each poll in turn shows, a star and a number
 * standing for so many polls. The last one goes on.
 *
 * @returns undefined when a word is not among those known, or a number is not from 1 to 100,000
 */
export function parseTimeline<Word extends string>(
  text: string,
  words: readonly Word[],
): readonly Word[] | undefined {
  const tokens = text.split(/\s+/).filter((token) => token !== "");
  const runs = tokens.map((token): readonly Word[] | undefined => {
    const [name = "", times = "1", ...others] = token.split("*");
    const word = words.find((each) => each === name);
    const count = /^[1-9]\d{0,5}$/.test(times) ? Number(times) : 0;
    return word !== undefined && others.length === 0 && count >= 1 && count <= mostPolls
      ? Array.from({ length: count }, () => word)
      : undefined;
  });
  const polls = runs.flatMap((run) => run ?? []);
  return runs.length > 0 && !runs.includes(undefined) && polls.length <= mostPolls
    ? polls
    : undefined;
}

const mostPolls = 100_000;

/** What a poll shows, counted from 0. */
export function atPoll<Word>(timeline: readonly Word[], poll: number): Word | undefined {
  return timeline[Math.min(poll, timeline.length - 1)];
}
