/** A text as a shell takes it literally, whatever the service put into it. */
export function shellWord(text: string): string {
  return /^[\w.:/][\w.:/-]*$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
