// Create: the form of a bucket becomes a JSON request that replaces itself in place. Without this file, or without scripts,
// the same form is sent as it stands and the browser follows the answer.
(() => {
  "use strict";

  // csrfToken is the cookie as it is now: the page may be older than the last sign-in in another tab.
  function csrfToken() {
    const found = document.cookie.match(/(?:^|;\s*)csrftoken=([^;]*)/);
    return found ? found[1] : "";
  }

  // createBug turns the request that htmx is about to send for a Create form into the one of the API, and says on the
  // button that it is under way.
  function createBug(form, request) {
    const button = form.querySelector("button");
    button.dataset.label = button.textContent;
    button.textContent = "Creating";
    form.querySelector(".bug-problem").textContent = "";
    reviewable(form, false);
    request.headers["Content-Type"] = "application/json";
    request.headers["X-CSRFToken"] = csrfToken() || request.headers["X-CSRFToken"];
    request.body = JSON.stringify({ signature: form.elements.signature.value });
  }

  // reviewable shows the way to the review, or hides it while it is too late for one.
  function reviewable(form, now) {
    const link = form.closest(".bug-now")?.querySelector(".review-link");
    if (link) {
      link.hidden = !now;
    }
  }

  function isCreate(element) {
    return element instanceof HTMLFormElement && element.classList.contains("create-bug");
  }

  // A page may show the bug cell of one problem in several lists. When one of them has changed, the others ask for theirs.
  const known = new WeakSet(document.querySelectorAll(".bug-now"));

  function refreshCopies() {
    const cells = [...document.querySelectorAll(".bug-now")];
    for (const fresh of cells.filter((cell) => !known.has(cell))) {
      for (const copy of cells) {
        if (known.has(copy) && copy.dataset.bug === fresh.dataset.bug && copy.dataset.state !== fresh.dataset.state) {
          htmx.trigger(copy, "refresh");
        }
      }
    }
    cells.forEach((cell) => known.add(cell));
  }

  htmx.registerExtension("create-bug", {
    // The button loses the focus when htmx disables it, so who had it is noted before that.
    htmx_config_request(element, { ctx }) {
      if (isCreate(element) && element.contains(document.activeElement)) {
        ctx.createBugCell = element.closest(".bug");
      }
    },

    // The body is replaced here: what is put into it earlier would be form-encoded once more.
    htmx_before_request(element, { ctx }) {
      if (isCreate(element)) {
        createBug(element, ctx.request);
      }
    },

    // The keyboard stays where it was: on what replaced the button.
    htmx_after_swap(element, { ctx }) {
      refreshCopies();
      const cell = ctx.createBugCell && document.getElementById(ctx.createBugCell.id);
      if (!cell) {
        return;
      }
      (cell.querySelector(":is(a, button):not(noscript *)") ?? cell).focus();
    },

    // No answer at all: the form is still there, and may be pressed again.
    htmx_error(element) {
      if (!isCreate(element)) {
        return;
      }
      const button = element.querySelector("button");
      button.textContent = button.dataset.label || button.textContent;
      reviewable(element, true);
      element.querySelector(".bug-problem").textContent =
        "The server did not answer. Press again: no bug is created twice.";
    },
  });

  window.createBug = createBug;
})();
