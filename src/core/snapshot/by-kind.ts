import type { Legend, Page } from "./page.ts";
import { plainKind } from "./server-kind.ts";
import type { ServerKind } from "./server-kind.ts";

/** Past this many kinds they are forgotten: there may be as many as servers. */
const mostKnown = 1_024;

/**
 * What is the same of all servers of a kind, looked up once: servers are many, and mostly those of a page are
 * asked for one after another. Where there is nothing, it is looked up each time.
 */
export class ByKind<Value> {
  private readonly lookUp: (kind: ServerKind) => Value;
  private readonly known = new Map<ServerKind, Value>();
  /** By the number of the page's kind: the kinds that had it last, and what is theirs. */
  private readonly kinds: ServerKind[] = [];
  private readonly values: Value[] = [];

  constructor(lookUp: (kind: ServerKind) => Value) {
    this.lookUp = lookUp;
  }

  of(page: Page, server: number): Value {
    return this.ofNumber(page.legend, page.kindNumber(server));
  }

  ofNumber({ kinds }: Legend, number: number): Value {
    // A broken store may hold any number.
    const place = Math.min(number, kinds.length);
    const kind = kinds[place] ?? plainKind;
    const value = this.values[place];
    return this.kinds[place] === kind && value !== undefined ? value : this.put(place, kind);
  }

  /** All is looked up anew. */
  forget(): void {
    this.known.clear();
    this.kinds.length = this.values.length = 0;
  }

  private put(place: number, kind: ServerKind): Value {
    let value = this.known.get(kind);
    if (value === undefined) {
      if (this.known.size >= mostKnown) this.known.clear();
      this.known.set(kind, (value = this.lookUp(kind)));
    }
    this.kinds[place] = kind;
    return (this.values[place] = value);
  }
}
