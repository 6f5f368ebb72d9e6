import { refresh } from "./live.ts";
import { localTime, showTimes } from "./times.ts";

/** Posts a form as JSON, which a form alone cannot. Null: it was refused, which the form says. */
async function post(form: HTMLFormElement): Promise<object | null> {
  const { post: address = "", fields = "{}" } = form.dataset;
  const inputs = [...new FormData(form)].filter(
    ([, value]) => typeof value === "string" && value.trim() !== "",
  );
  const body = JSON.stringify({ ...JSON.parse(fields), ...Object.fromEntries(inputs) });
  const headers = { "content-type": "application/json" };
  const button = form.querySelector("button");
  const status = form.querySelector("[role=status]");
  if (button) button.disabled = true;
  try {
    const response = await fetch(address, { method: "POST", headers, body });
    const answer: unknown = await response.json();
    if (response.ok) return Object(answer);
    if (status) status.textContent = String(Object(answer).detail);
  } catch {
    if (status) status.textContent = "sandwatch did not answer. Try again.";
  } finally {
    if (button) button.disabled = false;
  }
  return null;
}

/** Shows a form, which a page without scripts hides, and posts it. */
function enable(form: HTMLFormElement, onDone: (answer: object) => void): void {
  form.hidden = false;
  const author = form.querySelector<HTMLInputElement>("[name=author]");
  if (author) author.value = localStorage.getItem("author") ?? "";
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (author) localStorage.setItem("author", author.value);
    void post(form).then((answer) => answer && onDone(answer));
  });
}

/** What an action did, by the answer of the API. */
function doneText(answer: object): string {
  if ("withdrawn" in answer || ("ended_by" in answer && answer.ended_by !== null))
    return "Acknowledgement withdrawn. Reminders go on.";
  if ("state" in answer && answer.state === "ended") return "The silence has ended.";
  if ("state" in answer && "ends_at" in answer)
    return `Silenced until ${localTime(Date.parse(String(answer.ends_at)))}.`;
  if ("acknowledged" in answer && Array.isArray(answer.acknowledged)) {
    const count = answer.acknowledged.length;
    return `Acknowledged ${count} ${count === 1 ? "incident" : "incidents"}. Reminders stop.`;
  }
  if ("already" in answer && answer.already === true && "author" in answer) {
    return `It was acknowledged before, by ${String(answer.author)}.`;
  }
  const end = "ends_at" in answer && typeof answer.ends_at === "string" ? answer.ends_at : null;
  const until = end === null ? "" : ` until ${localTime(Date.parse(end))}`;
  return `Acknowledged. Reminders stop${until}.`;
}

/** Opens the page that a link leads to in a dialog. It follows the link if that fails. */
async function openDialog(link: HTMLAnchorElement): Promise<void> {
  const response = await fetch(link.href).catch(() => null);
  const text = response?.ok === true ? await response.text() : "";
  const found = new DOMParser().parseFromString(text, "text/html");
  const content = found.querySelector("main .card");
  const title = content?.querySelector("h1");
  if (!content || !title) return location.assign(link.href);
  for (const each of content.querySelectorAll("a")) {
    each.href = new URL(each.getAttribute("href") ?? "", link.href).href;
  }
  title.id = "dialog-title";
  const dialog = document.createElement("dialog");
  dialog.setAttribute("aria-labelledby", title.id);
  dialog.append(document.importNode(content, true));
  const cancel = document.createElement("button");
  cancel.type = "button";
  cancel.textContent = "Cancel";
  cancel.addEventListener("click", () => dialog.close());
  dialog.addEventListener("close", () => dialog.remove());
  const form = dialog.querySelector<HTMLFormElement>("form[data-post]");
  if (form) {
    form.dataset["post"] = new URL(form.dataset["post"] ?? "", link.href).href;
    enable(form, (answer) => {
      dialog.close();
      say(doneText(answer));
      void refresh();
    });
    form.querySelector("button")?.after(cancel);
  } else dialog.append(cancel);
  showTimes(dialog);
  document.body.append(dialog);
  dialog.showModal();
  form?.querySelector<HTMLElement>("input, select")?.focus();
}

function say(text: string): void {
  const place = document.querySelector("#said");
  if (place) place.textContent = text;
}

export function offerActions(): void {
  for (const form of document.querySelectorAll<HTMLFormElement>("form[data-post]")) {
    enable(form, () => location.assign(form.dataset["next"] ?? ""));
  }
  document.addEventListener("click", (event) => {
    const link = event.target instanceof Element ? event.target.closest("a[data-act]") : null;
    if (!(link instanceof HTMLAnchorElement) || event.ctrlKey || event.metaKey || event.shiftKey)
      return;
    event.preventDefault();
    void openDialog(link);
  });
}
