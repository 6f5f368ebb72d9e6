/**
 * Up to where a listing is read. Within these limits the outcome is that of a parse of the whole body;
 * beyond them the body is refused, before it could cost what no listing is worth.
 */
export const limits = {
  /** Of one sandbox, or of another value of the root object. */
  valueBytes: 8 * 1024 * 1024,
  /** Arrays and objects open within one another, in one such value: deeper is an invalid body. */
  nesting: 512,
  /** In one such value. */
  objects: 100_000,
  /** Sandboxes, or whatever else stands in their place: twice what a million servers can be in. */
  items: 2_000_000,
  /** Of sandboxes, none of them empty: the last one counts, and each gives up what the one before came to. */
  lists: 100,
  /** Of a sandbox that comes more than once, all its times together: it is known and written as one. */
  twinServers: 10_000,
  /** Fields of the root object with distinct names. */
  rootFields: 10_000,
};
