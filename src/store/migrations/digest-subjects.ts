import type { DatabaseSync } from "node:sqlite";
import { subjectDigest } from "../subject-digest.ts";

/** The index of what items are about held texts as long as the names and ids in them. */
export function digestSubjects(database: DatabaseSync): void {
  database.function("subject_digest", { deterministic: true }, (receiver, subject) =>
    subjectDigest(String(receiver), String(subject)),
  );
  database.exec(`
  drop index outbox_items_of_subject;
  update outbox_items set subject = subject_digest(receiver, subject);
  create index outbox_items_of_subject on outbox_items (subject);
  `);
}
