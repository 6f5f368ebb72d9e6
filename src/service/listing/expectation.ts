const mostFormsToPass = 1_024;
/** For each item that is another than was expected no more is copied in vain, in the long run. Bytes. */
const mostInVain = 64 * 1024;

/** How likely it is that items come as they are expected: what is looked for decides what a look costs. */
export class Expectation {
  /** Whether the item before came as it was expected: then those that follow are likely to. */
  isInOrder = true;
  /** How many steady forms were made in vain since an item was known. */
  private formsInVain = 0;
  /** Of so many more items that are looked at no form is made. */
  private formsToPass = 0;
  /** So many more items are not held against the one expected. */
  private looksToPass = 0;
  /** Whether the item before was that of another place. */
  private isShuffled = false;

  /** Whether a look at the next item is worth it. To be asked once. */
  mayCome(): boolean {
    if (this.looksToPass === 0) return true;
    this.looksToPass--;
    return false;
  }

  /** Whether it is worth looking for its steady form, too: of one that follows a moved one it is mostly not. */
  get withForms(): boolean {
    return this.formsToPass === 0 && !this.isShuffled;
  }

  /** One came, or more. */
  came(): void {
    this.formsToPass = this.formsInVain = 0;
    this.isInOrder = true;
    this.isShuffled = false;
  }

  /**
   * Another one came. The more often, the more seldom a form is made, and the longer the one that is
   * expected, the more seldom it is looked for.
   *
   * @param length of the text that is expected, in bytes
   */
  missed(length: number): void {
    if (!this.withForms) this.formsToPass = Math.max(0, this.formsToPass - 1);
    else this.formsToPass = Math.min(2 ** this.formsInVain++, mostFormsToPass) - 1;
    this.looksToPass = Math.trunc(length / mostInVain);
    this.isInOrder = false;
  }

  /** @param isElsewhere whether the item that was another one is known as that of another place */
  sought(isElsewhere: boolean): void {
    this.isShuffled = isElsewhere;
  }
}
