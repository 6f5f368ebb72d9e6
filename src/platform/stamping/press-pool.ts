import { StampPress } from "./stamp-press.ts";
import type { PressSizes } from "./stamp-press.ts";

/** Where presses come from. One that is idle is kept for the next who needs one. */
export class PressPool {
  private readonly sizes: PressSizes;
  private idle: StampPress | null = null;

  constructor(sizes: PressSizes) {
    this.sizes = sizes;
  }

  take(): StampPress {
    const press = this.idle ?? new StampPress(this.sizes);
    this.idle = null;
    return press;
  }

  /** Of a press that is not given back, nothing is used again. */
  giveBack(press: StampPress): void {
    if (!press.isOutgrown) this.idle = press;
  }
}
