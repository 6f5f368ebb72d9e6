import { ageText } from "../web/browser/age.ts";

/** Shows times as ages, or as they are where exact ones are wanted. */
export function timeColumn(isExact: boolean | undefined, nowMs: number) {
  return (isoTime: string | null): string =>
    isoTime === null || isExact === true ? (isoTime ?? "") : ageText(nowMs - Date.parse(isoTime));
}
