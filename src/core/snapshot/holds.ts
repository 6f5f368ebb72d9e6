/**
 * Who reads a target's snapshots while he waits for something. Pages are in many snapshots, and one whose
 * words are read may be of any later one: so there is one such set for all of a target.
 */
export class Holds {
  private readonly held = new Set<WeakRef<Disposable>>();

  /** It ends when it is disposed of, or when nobody has it any more: some who read never begin to. */
  begin(): Disposable {
    const hold = { [Symbol.dispose]: () => void this.held.delete(known) };
    const known = new WeakRef<Disposable>(hold);
    this.held.add(known);
    return hold;
  }

  get isEmpty(): boolean {
    for (const hold of this.held) if (!hold.deref()) this.held.delete(hold);
    return this.held.size === 0;
  }
}
