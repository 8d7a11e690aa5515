// Review…: a bug is gone over in a panel at the side of the page it was opened from. Without this file, or without scripts,
// the same links and forms lead to a page of its own.
(() => {
  "use strict";

  const panel = () => document.querySelector("#review > .review");
  let opener = null; // the link that the panel was opened by

  function csrfToken() {
    const found = document.cookie.match(/(?:^|;\s*)csrftoken=([^;]*)/);
    return found ? found[1] : "";
  }

  // edited reports whether closing the panel would lose what somebody has typed.
  function edited() {
    const form = panel()?.querySelector("form.review-form");
    return Boolean(form) && (form.dataset.edited === "yes");
  }

  function close() {
    document.getElementById("review").replaceChildren();
    opener?.isConnected && opener.focus();
    opener = null;
  }

  // count says how long the text of a field is, in characters as the tracker counts them.
  function count(field) {
    for (const output of document.querySelectorAll(`output[for="${field.id}"]`)) {
      const length = [...field.value.replaceAll("\r\n", "\n")].length;
      output.textContent = String(length);
      output.parentElement.classList.toggle("error", length > Number(output.dataset.limit));
    }
  }

  document.addEventListener("input", (event) => {
    const form = event.target.closest?.("form.review-form");
    if (form) {
      form.dataset.edited = "yes";
      count(event.target);
    }
  });

  document.addEventListener("click", (event) => {
    if (event.target.closest?.(".review-close") && (!edited() || confirm("Close, and drop what you have written?"))) {
      close();
    }
  });

  addEventListener("beforeunload", (event) => {
    if (edited() && !document.activeElement?.closest?.("form")) {
      event.preventDefault();
    }
  });

  htmx.registerExtension("review", {
    // A panel that is open already is not fetched again, and what was typed into another one is not dropped unasked.
    htmx_before_request(element, { ctx }) {
      if (element.matches?.("a.review-link")) {
        const open = panel();
        if (open && element.getAttribute("href").includes(open.dataset.bucket)) {
          open.querySelector("#review-heading").focus();
          return false;
        }
        if (edited() && !confirm("Drop what you have written for the other problem?")) {
          return false;
        }
        opener = element;
      }
      // The page may be older than the last sign-in in another tab.
      if (element.matches?.("form.review-form")) {
        ctx.request.headers["X-CSRFToken"] = csrfToken() || ctx.request.headers["X-CSRFToken"];
        element.dataset.sent = element.dataset.edited || "";
      }
      return true;
    },

    // The keyboard goes where the news is: to what is wrong, to the preview, to the head of the panel.
    htmx_after_swap(element) {
      if (element.matches?.("a.review-link")) {
        panel()?.querySelector("#review-heading")?.focus();
      }
      if (element.matches?.("form.review-form")) {
        const now = document.getElementById("review-panel");
        const form = now?.querySelector("form.review-form");
        if (form && element !== form && element.dataset.sent) {
          form.dataset.edited = element.dataset.sent;
        }
        const next = now?.querySelector("[aria-invalid]") || now?.querySelector("#review-preview") || now?.querySelector("#review-heading");
        if (next && element !== form) {
          next.tabIndex = next.tabIndex < 0 ? -1 : next.tabIndex;
          next.focus();
        }
      }
    },
  });
})();
