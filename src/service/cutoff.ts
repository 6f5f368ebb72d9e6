/** Ends one request from outside. An `AbortSignal` for each would cost more than the request's head. */
export class Cutoff {
  private ended = false;
  private onEnd: (() => void) | null = null;

  get isEnded(): boolean {
    return this.ended;
  }

  /** At most one listens at a time; null: nobody does any more. */
  listen(onEnd: (() => void) | null): void {
    this.onEnd = onEnd;
  }

  end(): void {
    if (this.ended) return;
    this.ended = true;
    this.onEnd?.();
  }
}

/** Ends requests when a signal aborts, with one listener on it however many they are. */
export class SignalCutoffs {
  private readonly waiting = new Map<AbortSignal, Waiting>();

  add(signal: AbortSignal, cutoff: Cutoff): void {
    if (signal.aborted) return cutoff.end();
    let waiting = this.waiting.get(signal);
    if (!waiting) {
      const cutoffs = new Set<Cutoff>();
      const end = (): void => cutoffs.forEach((each) => each.end());
      signal.addEventListener("abort", end, { once: true });
      this.waiting.set(signal, (waiting = { cutoffs, end }));
    }
    waiting.cutoffs.add(cutoff);
  }

  remove(signal: AbortSignal, cutoff: Cutoff): void {
    const waiting = this.waiting.get(signal);
    if (!waiting) return;
    waiting.cutoffs.delete(cutoff);
    if (waiting.cutoffs.size > 0) return;
    signal.removeEventListener("abort", waiting.end);
    this.waiting.delete(signal);
  }
}

interface Waiting {
  readonly cutoffs: Set<Cutoff>;
  readonly end: () => void;
}
