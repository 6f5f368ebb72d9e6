/** The store cannot be used. The message says which file, what is wrong and what to do. */
export class StoreError extends Error {
  override readonly name = "StoreError";
}
