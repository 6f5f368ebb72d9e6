import type { OwnedWork } from "./ownership.ts";

type Phase = "gaining" | "gained" | "draining" | "drained";

export type OwnedUnits = ReturnType<typeof createOwnedUnits>;

interface OwnedUnitsDeps {
  /** Work for units has begun, ended or failed. */
  readonly onChange: () => void;
  /**
   * Is waited for before work that failed is taken for not begun, or for ended.
   *
   * @param isRepeated whether the same error has kept work from beginning that has not begun since
   */
  readonly onFailed: (error: unknown, isRepeated: boolean) => Promise<void>;
  /** All work has begun that had failed to. */
  readonly onRecovered: () => void;
}

/** The units that a replica works for, and how far their work has begun or ended. */
export function createOwnedUnits(work: OwnedWork, deps: OwnedUnitsDeps) {
  const { onChange, onFailed, onRecovered } = deps;
  const phases = new Map<string, Phase>();
  /** Why the work for a unit could not begin, until it has. */
  const failures = new Map<string, unknown>();
  const running = new Set<Promise<void>>();

  const track = (act: Promise<void>): void => {
    const ended = act.finally(() => {
      running.delete(ended);
      onChange();
    });
    running.add(ended);
  };

  const inPhase = (phase: Phase): readonly string[] =>
    [...phases].flatMap(([unit, each]) => (each === phase ? [unit] : []));

  const begin = async (units: readonly string[]): Promise<void> => {
    // Without those that were dropped, where what they waited for was interrupted.
    const gaining = () => units.filter((unit) => phases.get(unit) === "gaining");
    try {
      await work.gain(units);
    } catch (error) {
      const isAlone = units.length === 1;
      // Then each alone, so that one that cannot begin does not keep back the others.
      const next = (unit: string) => (isAlone ? fail(unit, error) : begin([unit]));
      return void (await Promise.all(gaining().map(next)));
    }
    for (const unit of gaining()) phases.set(unit, "gained");
    const recovered = units.filter((unit) => failures.delete(unit));
    if (recovered.length > 0 && failures.size === 0) onRecovered();
  };

  const fail = async (unit: string, error: unknown): Promise<void> => {
    const isRepeated = failures.values().some((known) => String(known) === String(error));
    failures.set(unit, error);
    await onFailed(error, isRepeated);
    if (phases.get(unit) === "gaining") phases.delete(unit);
  };

  const end = async (unit: string): Promise<void> => {
    const isDraining = (): boolean => phases.get(unit) === "draining";
    try {
      await work.giveUp([unit]);
    } catch (error) {
      if (isDraining()) await onFailed(error, false);
    }
    if (isDraining()) phases.set(unit, "drained");
  };

  return {
    has: (unit: string): boolean => phases.has(unit),
    all: (): ReadonlySet<string> => new Set(phases.keys()),
    gained: (): readonly string[] => inPhase("gained"),
    /** Those whose work has ended and which are to be released. */
    drained: (): readonly string[] => inPhase("drained"),
    /** Those whose work could not begin, and one of the causes. Null: there are none. */
    unbegun: () =>
      failures.size === 0 ? null : { units: failures.size, error: [...failures.values()][0] },
    gain(units: readonly string[]): void {
      if (units.length === 0) return;
      for (const unit of units) phases.set(unit, "gaining");
      track(begin(units));
    },
    /** Each for itself, so that none waits for the slowest one. Those that are being gained stay. */
    giveUp(units: readonly string[]): void {
      for (const unit of units) {
        if (phases.get(unit) !== "gained") continue;
        phases.set(unit, "draining");
        track(end(unit));
      }
    },
    released(units: readonly string[]): void {
      for (const unit of units) phases.delete(unit);
    },
    dropAll(): void {
      phases.clear();
      failures.clear();
      track(work.dropAll().catch((error: unknown) => onFailed(error, false)));
    },
    isWorking: (): boolean => running.size > 0,
    /** Resolves when no work begins or ends. */
    async settled(): Promise<void> {
      while (running.size > 0) await Promise.all(running);
    },
  };
}
