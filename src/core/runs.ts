/** Takes numbers of which most often one comes many times in a row: each such run at once. */
export class Runs {
  private readonly take: (value: number, count: number) => void;
  private value = Number.NaN;
  private count = 0;

  constructor(take: (value: number, count: number) => void) {
    this.take = take;
  }

  add(value: number): void {
    if (value !== this.value) {
      this.end();
      this.value = value;
    }
    this.count++;
  }

  /** What came last is taken only now: it could go on. */
  end(): void {
    if (this.count > 0) this.take(this.value, this.count);
    this.count = 0;
  }
}
