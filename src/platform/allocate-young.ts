import { setFlagsFromString } from "node:v8";

/**
 * Keeps V8 from making objects old that are of a kind that often outlives a collection of young ones. What
 * polls under way hold does, where there are many, and is garbage right after; once old it stays until all
 * memory is looked through.
 */
export function allocateYoung(): void {
  setFlagsFromString("--no-allocation-site-pretenuring");
}
