const notCopied = 0xffff_ffff;

/** Numbers items in the order in which they first come. Used again for the next list of them. */
export class Numbering<Item> {
  private readonly first: readonly Item[];
  private list: readonly Item[];
  /** The list, once something was added to it. */
  private added: Item[] | null = null;
  private continued: readonly Item[] | null = null;
  /** Filled when it is first needed: most lists go on from one to which nothing is added. */
  private readonly numbers = new Map<Item, number>();
  private source: readonly Item[] | null = null;
  private copied = new Uint32Array(0);

  /** @param first what has its numbers from the beginning, and is never found */
  constructor(first: readonly Item[] = []) {
    this.first = first;
    this.list = first;
  }

  /** Whether nothing was numbered yet. */
  get isFresh(): boolean {
    return this.list === this.first;
  }

  /** Goes on from a list, whose items keep their numbers. Only as long as it is fresh. */
  continueFrom(list: readonly Item[]): void {
    this.list = list;
    this.continued = list;
  }

  numberOf(item: Item): number {
    if (this.numbers.size === 0) {
      for (let number = this.first.length; number < this.list.length; number++) {
        const known = this.list[number];
        if (known !== undefined) this.numbers.set(known, number);
      }
    }
    const known = this.numbers.get(item);
    if (known !== undefined) return known;
    this.added ??= [...this.list];
    this.list = this.added;
    const number = this.added.push(item) - 1;
    this.numbers.set(item, number);
    return number;
  }

  /** The number that an item of another list has in this one. */
  copy(list: readonly Item[], number: number): number {
    if (number < this.first.length || list === this.continued) return number;
    if (this.source !== list) {
      this.source = list;
      if (this.copied.length < list.length) {
        this.copied = new Uint32Array(Math.max(64, list.length * 2));
      }
      this.copied.fill(notCopied, 0, list.length);
    }
    const known = this.copied[number] ?? notCopied;
    if (known !== notCopied) return known;
    const item = list[number];
    if (item === undefined) throw new RangeError("a number must be of an item");
    const copy = this.numberOf(item);
    this.copied[number] = copy;
    return copy;
  }

  /** What was numbered so far: the very list that it goes on from, where nothing was added. */
  items(): readonly Item[] {
    return this.added ? this.added.slice() : this.list;
  }

  /** Forgets all of it. */
  reset(): void {
    this.list = this.first;
    this.added = null;
    this.continued = null;
    this.numbers.clear();
    this.source = null;
  }
}
