/** 0 success, 1 failure, 2 usage or configuration error. */
export const exitCodes = { ok: 0, failed: 1, wrongUse: 2 } as const;
export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

/** Ends a command with a message for a person and a code for a script. It is no fault of the program. */
export class CommandError extends Error {
  override readonly name = "CommandError";
  readonly exitCode: ExitCode;

  constructor(message: string, exitCode: ExitCode) {
    super(message);
    this.exitCode = exitCode;
  }
}
