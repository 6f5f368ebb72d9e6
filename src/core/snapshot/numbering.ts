/** Past this many the items of earlier lists are forgotten. */
const maxKnown = 8_192;

/** Numbers items in the order in which they first come. Used again for the next list of them. */
export class Numbering<Item> {
  private readonly first: readonly Item[];
  private list: readonly Item[];
  /** The list, once something was added to it. */
  private added: Item[] | null = null;
  private continued: readonly Item[] | null = null;
  private isIndexed = false;
  /**
   * Kept over many lists, as most have the same items: a number counts while it is of this list and
   * of no earlier one. To fill a map for each list would leave much garbage.
   */
  private readonly numbers = new Map<Item, { list: number; number: number }>();
  private listNumber = 1;
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
    this.indexContinued();
    const known = this.numbers.get(item);
    if (known?.list === this.listNumber) return known.number;
    this.added ??= [...this.list];
    this.list = this.added;
    const number = this.added.push(item) - 1;
    this.note(item, number);
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
      this.copied.fill(0, 0, list.length);
    }
    const known = this.copied[number] ?? 0;
    if (known !== 0) return known - 1;
    const item = list[number];
    if (item === undefined) throw new RangeError("a number must be of an item");
    const copy = this.numberOf(item);
    this.copied[number] = copy + 1;
    return copy;
  }

  /** What was numbered so far: the very list that it goes on from, where nothing was added. */
  items(): readonly Item[] {
    return this.added ? this.added.slice() : this.list;
  }

  /** Begins the next list. */
  reset(): void {
    this.list = this.first;
    this.added = null;
    this.continued = null;
    this.isIndexed = false;
    this.source = null;
    this.listNumber++;
    if (this.numbers.size > maxKnown) this.numbers.clear();
  }

  /** Only when it is needed: most lists go on from one to which nothing is added. */
  private indexContinued(): void {
    if (this.isIndexed) return;
    this.isIndexed = true;
    for (let number = this.first.length; number < this.list.length; number++) {
      const item = this.list[number];
      if (item !== undefined) this.note(item, number);
    }
  }

  private note(item: Item, number: number): void {
    const known = this.numbers.get(item);
    if (known) {
      known.list = this.listNumber;
      known.number = number;
    } else this.numbers.set(item, { list: this.listNumber, number });
  }
}
