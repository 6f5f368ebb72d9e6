/** The store cannot be used. The message says which one, what is wrong and what to do. */
export class StoreError extends Error {
  override readonly name: string = "StoreError";
}

/** Why the store of either engine is refused. Each is given what the engine calls the store, which begins the sentence. */
export const refusals = {
  inUse: (store: string, setting: string) =>
    new StoreError(
      `${store} is in use by another sandwatch process. Stop that process, or set another ${setting}.`,
    ),
  newer: (store: string, setting: string, version: number, supported: number) =>
    new StoreError(
      `${store} was written by a newer version of sandwatch (its schema version is ${version}; this version supports ${supported}). Use the newer version, restore a backup that was made before the upgrade, or set another ${setting}.`,
    ),
  older: (store: string) =>
    new StoreError(
      `${store} was written by an older version of sandwatch. Start the daemon of this version once: it brings the store to the present version.`,
    ),
  wrongSchema: (store: string, what: string, advice: string) =>
    new StoreError(
      `${store} does not have the schema that its version says: ${what}. Something else has changed it, or it was restored in part. Undo that change, ${advice}.`,
    ),
};

/** The store cannot be used now, mostly as the database cannot be reached; it can be later. */
export class StoreUnavailableError extends StoreError {
  override readonly name: string = "StoreUnavailableError";
}

/** What is stored may differ from what this process has read and written. It must open the store again, and read it. */
export class StoreLostError extends StoreError {
  override readonly name = "StoreLostError";
}
