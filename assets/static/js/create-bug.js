// Turns the Create form of a bucket into a JSON request, whose answer replaces the form in place. Without scripts, the
// browser sends the same form and follows the answer.
(() => {
  "use strict";

  // csrfToken returns the current cookie, because a later sign-in in another tab may have changed it.
  function csrfToken() {
    const found = document.cookie.match(/(?:^|;\s*)csrftoken=([^;]*)/);
    return found ? found[1] : "";
  }

  // createBug replaces the request that htmx is about to send for a Create form by one to the API, and shows "Creating" on
  // the button.
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

  // reviewable shows the link to the review, or hides it while the bug is being created.
  function reviewable(form, now) {
    const link = form.closest(".bug-now")?.querySelector(".review-link");
    if (link) {
      link.hidden = !now;
    }
  }

  function isCreate(element) {
    return element instanceof HTMLFormElement && element.classList.contains("create-bug");
  }

  // A page may show the bug cell of one problem in several lists. When one copy changes, the others reload.
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
    // The button loses the focus when htmx disables it, so record before that whether it had the focus.
    htmx_config_request(element, { ctx }) {
      if (isCreate(element) && element.contains(document.activeElement)) {
        ctx.createBugCell = element.closest(".bug");
      }
    },

    // Replace the body here: htmx would form-encode an earlier replacement.
    htmx_before_request(element, { ctx }) {
      if (isCreate(element)) {
        createBug(element, ctx.request);
      }
    },

    // Move the focus to the element that replaced the button.
    htmx_after_swap(element, { ctx }) {
      refreshCopies();
      const cell = ctx.createBugCell && document.getElementById(ctx.createBugCell.id);
      if (!cell) {
        return;
      }
      (cell.querySelector(":is(a, button):not(noscript *)") ?? cell).focus();
    },

    // No answer: the form is still there and can be sent again.
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
