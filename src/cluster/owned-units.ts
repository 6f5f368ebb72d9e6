import type { OwnedWork } from "./ownership.ts";

type Phase = "gaining" | "gained" | "draining" | "drained";

export type OwnedUnits = ReturnType<typeof createOwnedUnits>;

/**
 * The units that a replica works for, and how far their work has begun or ended.
 *
 * @param onChange called after work for units has begun, ended or failed
 * @param onFailed is waited for before work that failed is taken for not begun, or for ended
 */
export function createOwnedUnits(
  work: OwnedWork,
  onChange: () => void,
  onFailed: (error: unknown) => Promise<void>,
) {
  const phases = new Map<string, Phase>();
  const running = new Set<Promise<void>>();

  const track = (act: Promise<void>): void => {
    const ended = act.finally(() => {
      running.delete(ended);
      onChange();
    });
    running.add(ended);
  };

  const run = (units: readonly string[], act: () => Promise<void>, next: Phase): void => {
    const before = new Map(units.map((unit) => [unit, phases.get(unit)] as const));
    const isSame = (unit: string): boolean => phases.get(unit) === before.get(unit);
    const ended = act().then(
      () => units.filter(isSame).forEach((unit) => phases.set(unit, next)),
      async (error: unknown) => {
        // It was dropped, and what it waited for was interrupted.
        if (!units.some(isSame)) return;
        await onFailed(error);
        for (const unit of units.filter(isSame)) {
          if (next === "gained") phases.delete(unit);
          else phases.set(unit, next);
        }
      },
    );
    track(ended);
  };

  const inPhase = (phase: Phase): readonly string[] =>
    [...phases].flatMap(([unit, each]) => (each === phase ? [unit] : []));

  return {
    has: (unit: string): boolean => phases.has(unit),
    all: (): ReadonlySet<string> => new Set(phases.keys()),
    gained: (): readonly string[] => inPhase("gained"),
    /** Those whose work has ended and which are to be released. */
    drained: (): readonly string[] => inPhase("drained"),
    gain(units: readonly string[]): void {
      if (units.length === 0) return;
      for (const unit of units) phases.set(unit, "gaining");
      run(units, () => work.gain(units), "gained");
    },
    /** Each for itself, so that none waits for the slowest one. Those that are being gained stay. */
    giveUp(units: readonly string[]): void {
      for (const unit of units) {
        if (phases.get(unit) !== "gained") continue;
        phases.set(unit, "draining");
        run([unit], () => work.giveUp([unit]), "drained");
      }
    },
    released(units: readonly string[]): void {
      for (const unit of units) phases.delete(unit);
    },
    dropAll(): void {
      phases.clear();
      track(work.dropAll().catch(onFailed));
    },
    isWorking: (): boolean => running.size > 0,
    /** Resolves when no work begins or ends. */
    async settled(): Promise<void> {
      while (running.size > 0) await Promise.all(running);
    },
  };
}
