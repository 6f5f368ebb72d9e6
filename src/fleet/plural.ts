const english = new Intl.NumberFormat("en");

/** Such as `1,800`. */
export function countText(count: number): string {
  return english.format(count);
}

/** Such as `1 region` and `1,800 servers`. */
export function counted(count: number, noun: string, nouns = `${noun}s`): string {
  return `${countText(count)} ${count === 1 ? noun : nouns}`;
}

/** Such as `a, b, c and 2 more`. */
export function namesText(names: readonly string[], most: number): string {
  const more = names.length - most;
  return names.slice(0, most).join(", ") + (more > 0 ? ` and ${more} more` : "");
}
