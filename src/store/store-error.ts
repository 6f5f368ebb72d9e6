/** The store cannot be used. The message says which one, what is wrong and what to do. */
export class StoreError extends Error {
  override readonly name: string = "StoreError";
}

/** The database cannot be reached now; it can be later. */
export class StoreUnavailableError extends StoreError {
  override readonly name = "StoreUnavailableError";
}

/** Nothing was written: other replicas may own what this one owned. It must join again, and read what is stored. */
export class FencedError extends StoreError {
  override readonly name = "FencedError";
}

/** What is stored may differ from what this process has read and written. It must open the store again, and read it. */
export class StoreLostError extends StoreError {
  override readonly name = "StoreLostError";
}
