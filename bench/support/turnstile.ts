/** Lets one through each time that it is opened, and whoever comes in between waits. */
export interface Turnstile {
  open(): void;
  enter(): Promise<void>;
  /** Once somebody waits. */
  visitor(): Promise<void>;
}

export function createTurnstile(): Turnstile {
  const waiting: (() => void)[] = [];
  const watching: (() => void)[] = [];
  let isOpen = false;
  return {
    open() {
      const next = waiting.shift();
      if (next) next();
      else isOpen = true;
    },
    async enter() {
      if (isOpen) {
        isOpen = false;
        return;
      }
      const entered = new Promise<void>((resolve) => void waiting.push(resolve));
      for (const tell of watching.splice(0)) tell();
      await entered;
    },
    async visitor() {
      if (waiting.length > 0) return;
      await new Promise<void>((resolve) => void watching.push(resolve));
    },
  };
}
