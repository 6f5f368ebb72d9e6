/** Of what is told of an incident, and around it: unknown to the first versions. */
const lateFields = new Set([
  "summaryTemplate",
  "runbookUrlTemplate",
  "runbookUrl",
  "receiver",
  "probe",
  "flapping",
  "acknowledgedBy",
]);

/** The body of a notification or an item as a first version would have stored it. */
export function earlierBody({ receiver, ...told }: { readonly receiver: string }): string {
  const rest: unknown = JSON.parse(
    JSON.stringify(told, (name, value: unknown) => (lateFields.has(name) ? undefined : value)),
  );
  return JSON.stringify(Object.assign({ receiver }, rest));
}
