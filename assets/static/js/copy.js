// Shows buttons that copy a text of the page. Without scripts, or where copying is forbidden, they stay hidden.
(() => {
  "use strict";

  function show(root) {
    if (!navigator.clipboard) {
      return;
    }
    for (const button of root.querySelectorAll("button[data-copy][hidden]")) {
      button.hidden = false;
    }
  }

  document.addEventListener("click", async (event) => {
    const button = event.target instanceof Element ? event.target.closest("button[data-copy]") : null;
    const text = button && document.getElementById(button.dataset.copy);
    if (!text) {
      return;
    }
    const before = button.textContent;
    try {
      await navigator.clipboard.writeText(text.textContent.replace(/^\n/, ""));
      button.textContent = "Copied";
    } catch {
      button.textContent = "Could not copy";
    }
    setTimeout(() => { button.textContent = before; }, 2000);
  });

  show(document);
  document.addEventListener("htmx:after:swap", () => show(document));
})();
