import type { Legend, Page } from "./page.ts";
import { plainKind } from "./server-kind.ts";
import type { ServerKind } from "./server-kind.ts";

/**
 * What is the same of all servers of a kind, looked up once for each kind of a page: its servers are many, and
 * mostly asked for one after another. Where there is nothing, it is looked up each time.
 */
export class ByKind<Value> {
  private readonly lookUp: (kind: ServerKind) => Value;
  private kinds: Legend["kinds"] = [];
  /** By the number of the page's kind. */
  private readonly values: (Value | undefined)[] = [];

  constructor(lookUp: (kind: ServerKind) => Value) {
    this.lookUp = lookUp;
  }

  of(page: Page, server: number): Value {
    return this.ofNumber(page.legend, page.kindNumber(server));
  }

  ofNumber({ kinds }: Legend, number: number): Value {
    if (kinds !== this.kinds) {
      this.forget();
      this.kinds = kinds;
    }
    // A broken store may hold any number.
    const place = Math.min(number, kinds.length);
    return this.values[place] ?? (this.values[place] = this.lookUp(kinds[place] ?? plainKind));
  }

  /** All is looked up anew. */
  forget(): void {
    this.values.length = 0;
  }
}
