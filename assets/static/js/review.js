// Handles the review of a bug in the dialog: the lengths of fields, entered text that would be lost, and the focus after
// each step. Without scripts, the same forms lead to a page of its own.
(() => {
  "use strict";

  const panel = () => document.getElementById("review-panel");

  function csrfToken() {
    const found = document.cookie.match(/(?:^|;\s*)csrftoken=([^;]*)/);
    return found ? found[1] : "";
  }

  // edited reports whether closing the dialog would lose entered text.
  function edited() {
    const form = panel()?.querySelector("form.review-form");
    return Boolean(form) && (form.dataset.edited === "yes");
  }

  // count shows the length of a field, in characters as the tracker counts them.
  function count(field) {
    for (const output of document.querySelectorAll(`output[for="${field.id}"]`)) {
      const length = [...field.value.replaceAll("\r\n", "\n")].length;
      output.textContent = length.toLocaleString("en-GB");
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

  document.addEventListener("mishap:closing", (event) => {
    if (edited() && !confirm(panel().dataset.discard)) {
      event.preventDefault();
    }
  });

  addEventListener("beforeunload", (event) => {
    if (edited() && !document.activeElement?.closest?.("form")) {
      event.preventDefault();
    }
  });

  htmx.registerExtension("review", {
    htmx_before_request(element, { ctx }) {
      // Use the current token: a later sign-in in another tab may have changed it. Text that is being sent is not lost by
      // leaving the page.
      if (element.matches?.("form.review-form")) {
        ctx.request.headers["X-CSRFToken"] = csrfToken() || ctx.request.headers["X-CSRFToken"];
        ctx.review = { form: element, edited: element.dataset.edited || "" };
        element.dataset.edited = "";
      }
      return true;
    },

    // Move the focus to what is new: the errors, the preview, or the heading.
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
      }
    },
  });
})();
