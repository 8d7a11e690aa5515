// Opens the review of a bug in a panel at the side of the page. Without scripts, the same links and forms lead to a page of
// its own.
(() => {
  "use strict";

  const panel = () => document.querySelector("#review > .review");
  let opener = null; // the link that opened the panel

  function csrfToken() {
    const found = document.cookie.match(/(?:^|;\s*)csrftoken=([^;]*)/);
    return found ? found[1] : "";
  }

  // edited reports whether closing the panel would lose entered text.
  function edited() {
    const form = panel()?.querySelector("form.review-form");
    return Boolean(form) && (form.dataset.edited === "yes");
  }

  function close() {
    document.getElementById("review").replaceChildren();
    opener?.isConnected && opener.focus();
    opener = null;
  }

  // count shows the length of a field, in characters as the tracker counts them.
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
    // Do not load an open panel again, and ask before entered text in another one is lost.
    htmx_before_request(element, { ctx }) {
      if (element.matches?.("a.review-link, a.row-menu")) {
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
      // Use the current token: a later sign-in in another tab may have changed it. Text that is being sent is not lost by
      // leaving the page.
      if (element.matches?.("form.review-form")) {
        ctx.request.headers["X-CSRFToken"] = csrfToken() || ctx.request.headers["X-CSRFToken"];
        ctx.review = { form: element, edited: element.dataset.edited || "" };
        element.dataset.edited = "";
      }
      if (element.matches?.("a.review-link, a.row-menu")) {
        ctx.review = {};
      }
      return true;
    },

    // Move the focus to what is new: the errors, the preview, or the heading of the panel.
    htmx_after_swap(element, { ctx }) {
      if (!ctx?.review) {
        return;
      }
      const now = document.getElementById("review-panel");
      const form = now?.querySelector("form.review-form");
      if (ctx.review.form && form) {
        form.dataset.edited = ctx.review.edited;
      }
      if (ctx.review.form && form === ctx.review.form) {
        return; // the refusal is shown beside the unchanged form
      }
      const next = now?.querySelector("[aria-invalid], #review-preview") || now?.querySelector("#review-heading");
      if (next) {
        if (!next.matches("input, textarea")) {
          next.tabIndex = -1;
        }
        next.focus();
      }
    },

    // No answer: the form is still there and can be sent again.
    htmx_error(element, { ctx }) {
      const form = ctx?.review?.form;
      if (form?.isConnected) {
        form.dataset.edited = ctx.review.edited;
        document.getElementById("review-trouble").textContent = "The server did not answer. Press again: no bug is filed twice.";
      }
    },
  });
})();
