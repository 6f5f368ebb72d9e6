import { eachInSteps } from "../in-steps.ts";
import type { InSteps } from "../in-steps.ts";
import type { SoughtId } from "./id-table.ts";
import { hashUuid } from "./packed-id.ts";
import { hasTextId, sandboxWords } from "./page-records.ts";
import type { Page } from "./page.ts";

const pagesAtOnce = 16;

/**
 * Finds sandboxes of pages by their ids: about 8 bytes each. The ids themselves are in the pages, which may
 * be others by then, as long as each sandbox has the place that it had, counted over all of them.
 */
export class SandboxTable {
  /** Ordinals counted from 1, 0 where there is none, from where an id's hash points to on. */
  private readonly slots: Int32Array<ArrayBuffer>;
  private readonly others = new Map<string, number>();
  private count = 0;

  private constructor(sandboxes: number) {
    this.slots = new Int32Array(2 ** Math.ceil(Math.log2(sandboxes * 2 + 1)));
  }

  /** In short steps. */
  static *of(pages: readonly Page[]): InSteps<SandboxTable> {
    const sandboxes = pages.reduce((sum, { sandboxCount }) => sum + sandboxCount, 0);
    const table = new SandboxTable(sandboxes);
    yield* eachInSteps(pages, pagesAtOnce, (page) => table.add(page));
    return table;
  }

  /**
   * The place of a sandbox, or -1.
   *
   * @param isAt whether the sandbox of a place is the sought one, which is no text
   */
  find(id: SoughtId, isAt: (ordinal: number) => boolean): number {
    if (!id.isUuid) return this.others.get(id.text) ?? -1;
    const mask = this.slots.length - 1;
    for (let slot = hashUuid(id.words, 0) & mask; ; slot = (slot + 1) & mask) {
      const ordinal = (this.slots[slot] ?? 0) - 1;
      if (ordinal < 0 || isAt(ordinal)) return ordinal;
    }
  }

  private add(page: Page): void {
    const { idWords } = page;
    const mask = this.slots.length - 1;
    for (let sandbox = 0; sandbox < page.sandboxCount; sandbox++) {
      const ordinal = this.count++;
      if (hasTextId(page.sandboxFlags(sandbox))) {
        this.others.set(page.sandboxId(sandbox), ordinal);
        continue;
      }
      let slot = hashUuid(idWords, sandbox * sandboxWords) & mask;
      while (this.slots[slot] !== 0) slot = (slot + 1) & mask;
      this.slots[slot] = ordinal + 1;
    }
  }
}
