/**
 * How long a test waits for what must happen before it fails. Tests wait for events, so this says only when to give up:
 * long enough for a machine that is twenty times slower than an idle one. No test has a limit of its own.
 */
export const patienceMs = 300_000;
