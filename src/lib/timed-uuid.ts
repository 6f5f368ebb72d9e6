import { randomUUID } from "node:crypto";

/**
 * A UUID that begins with the time (version 7, RFC 9562): in an index, what came about together is side by
 * side, where random ids are strewn over all of it.
 *
 * @param utcMs whole milliseconds since 1970
 */
export function timedUuid(utcMs: number): string {
  const time = utcMs.toString(16).padStart(12, "0");
  return `${time.slice(0, 8)}-${time.slice(8)}-7${randomUUID().slice(15)}`;
}
