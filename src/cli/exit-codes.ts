export const exitCodes = { ok: 0, failed: 1, wrongUse: 2 } as const;

/** Ends a command with a message for a person and a code for a script. It is no fault of the program. */
export class CommandError extends Error {
  override readonly name = "CommandError";
  readonly exitCode: number;

  constructor(message: string, exitCode: number = exitCodes.failed) {
    super(message);
    this.exitCode = exitCode;
  }
}

export function wrongUse(message: string): CommandError {
  return new CommandError(message, exitCodes.wrongUse);
}
