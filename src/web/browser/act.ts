/** Posts a form as JSON, which a form alone cannot, and then shows the page that says what became of it. */
async function post(form: HTMLFormElement): Promise<void> {
  const { post: address = "", fields = "{}", next = "" } = form.dataset;
  const inputs = [...new FormData(form)].filter(
    ([, value]) => typeof value === "string" && value.trim() !== "",
  );
  const body = JSON.stringify({ ...JSON.parse(fields), ...Object.fromEntries(inputs) });
  const headers = { "content-type": "application/json" };
  const button = form.querySelector("button");
  const status = form.querySelector("[role=status]");
  if (button) button.disabled = true;
  const problem = await fetch(address, { method: "POST", headers, body }).then(
    async (response): Promise<string | null> =>
      response.ok ? null : String(Object(await response.json()).detail),
    () => "sandwatch did not answer. Try again.",
  );
  if (problem === null) return location.assign(next);
  if (status) status.textContent = problem;
  if (button) button.disabled = false;
}

export function postForms(): void {
  for (const form of document.querySelectorAll<HTMLFormElement>("form[data-post]")) {
    form.hidden = false;
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      void post(form);
    });
  }
}
