/**
 * How long a test waits for what must happen before it fails. Tests wait for events, so this only ends tests that would never end:
 * long enough for a machine that is twenty times slower than an idle one. No test has a limit of its own.
 */
export const testTimeoutMs = 300_000;
