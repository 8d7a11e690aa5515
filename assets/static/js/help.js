// What keys do, in place: ? opens a dialog with the part of /keys that says so, and closes it again. When that part cannot be
// had, the page itself opens.
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
        made.close(); // beside it
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
