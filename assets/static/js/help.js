// Opens and closes, with ?, a dialog with the list of keys from /keys. If the list cannot be loaded, it opens that page.
(() => {
  "use strict";

  let dialog = null;

  async function make() {
    const answer = await fetch("/keys", { headers: { "HX-Request-Type": "partial", Accept: "text/html" } });
    if (!answer.ok) {
      throw new Error(String(answer.status));
    }
    const made = document.createElement("dialog");
    made.className = "help";
    made.setAttribute("aria-labelledby", "keys-title");
    made.innerHTML = await answer.text();
    made.addEventListener("click", (event) => {
      if (event.target === made) {
        made.close(); // a click outside
      }
    });
    document.body.append(made);
    return made;
  }

  document.addEventListener("mishap:help", async () => {
    if (dialog?.isConnected && dialog.open) {
      dialog.close();
      return;
    }
    try {
      if (!dialog?.isConnected) {
        dialog = await make();
      }
      dialog.showModal();
    } catch {
      location.assign("/keys");
    }
  });
})();
