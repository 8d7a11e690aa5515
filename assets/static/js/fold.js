// Puts the cursor into the first field of a form that a person unfolds.
(() => {
  "use strict";

  document.addEventListener("click", (event) => {
    const fold = event.target.closest?.("summary")?.parentElement;
    if (!fold?.matches("details[data-focus]") || fold.open) {
      return;
    }
    fold.addEventListener("toggle", () => fold.querySelector("textarea, input:not([type=hidden])")?.focus(), { once: true });
  });
})();
