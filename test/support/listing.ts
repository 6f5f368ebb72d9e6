import type { ListedSandbox } from "../../src/core/model.ts";

/** What one answer said, reduced to what sandwatch keeps: nothing in it is secret. */
export interface Listing {
  /** Ids are unique within the listing. */
  readonly sandboxes: readonly ListedSandbox[];
  /** False when something may be missing: what such a listing lacks proves nothing. */
  readonly complete: boolean;
}
