import { once } from "node:events";
import { createInterface } from "node:readline";
import { Writable } from "node:stream";

/**
 * Asks a person for one line, on standard error: the results may go to a file.
 *
 * @returns null when the input has ended
 */
export async function askPerson(question: string, isHidden = false): Promise<string | null> {
  const { stdin, stderr } = process;
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({
    input: stdin,
    output: isHidden ? silent : stderr,
    terminal: stdin.isTTY,
  });
  try {
    if (isHidden) stderr.write(question);
    else lines.setPrompt(question);
    if (!isHidden) lines.prompt();
    // Ctrl-C and Ctrl-D close it.
    const line = once(lines, "line").then(([text]) => String(text));
    return await Promise.race([line, once(lines, "close").then(() => null)]);
  } finally {
    lines.close();
    if (isHidden) stderr.write("\n");
  }
}
