import { hash } from "node:crypto";

/**
 * Stands for a receiver and what it is told of: what has one digest keeps its order. It is short, as it
 * is in an index, and changes a random part of that. Should two of one receiver ever have the same,
 * what is told of one would wait for the other too.
 */
export function subjectDigest(receiver: string, subject: string): string {
  return hash("sha256", JSON.stringify([receiver, subject]), "base64url").slice(0, 12);
}
