import { ageText } from "./age.ts";

const absolute = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });

/** How far the server's clock is ahead of this one. A browser's clock may be wrong. */
let aheadMs = 0;

export function setServerTime(nowMs: number): void {
  aheadMs = nowMs - Date.now();
}

/** By the server's clock, in UTC milliseconds. */
export function serverNow(): number {
  return Date.now() + aheadMs;
}

/** The reader's zone, as "Europe/Berlin". */
export const zone = absolute.resolvedOptions().timeZone;

export function localTime(utcMs: number): string {
  return absolute.format(utcMs);
}

/** Shows ages as of now, and times and numbers as the reader writes them. Times in UTC are in the title. */
export function showTimes(within: ParentNode = document): void {
  const nowMs = serverNow();
  for (const time of within.querySelectorAll("time")) {
    const utcMs = Date.parse(time.dateTime);
    const utc = `${time.dateTime.slice(0, 19).replace("T", " ")} UTC`;
    const isAge = time.dataset["age"] !== undefined;
    setText(time, isAge ? ageText(Math.abs(nowMs - utcMs)) : localTime(utcMs));
    const title = isAge ? `${localTime(utcMs)} (${utc})` : utc;
    if (time.title !== title) time.title = title;
  }
  for (const number of within.querySelectorAll("data")) {
    setText(number, Number(number.value).toLocaleString());
  }
}

function setText(element: Element, text: string): void {
  if (element.textContent !== text) element.textContent = text;
}
