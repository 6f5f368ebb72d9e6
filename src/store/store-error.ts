/** The store cannot be used. The message says which one, what is wrong and what to do. */
export class StoreError extends Error {
  override readonly name: string = "StoreError";
}

/** The store cannot be used now, mostly as the database cannot be reached; it can be later. */
export class StoreUnavailableError extends StoreError {
  override readonly name: string = "StoreUnavailableError";
}

/** What is stored may differ from what this process has read and written. It must open the store again, and read it. */
export class StoreLostError extends StoreError {
  override readonly name = "StoreLostError";
}
