// Turns Create into a JSON request, whose answer replaces the bug cell in place. On the page of a problem, Create is a form.
// In lists, Create is a button in each row, and all belong to one form. Without scripts, the browser sends the form and
// follows the answer.
(() => {
  "use strict";

  // csrfToken returns the current cookie, because a later sign-in in another tab may have changed it.
  function csrfToken() {
    const found = document.cookie.match(/(?:^|;\s*)csrftoken=([^;]*)/);
    return found ? found[1] : "";
  }

  // createBug replaces the request that htmx is about to send for Create by one to the API, and shows "Creating" on the
  // button. element is the form, or the button of a row.
  function createBug(element, request) {
    const button = buttonOf(element);
    button.dataset.label = button.textContent;
    button.textContent = "Creating";
    reviewable(element, false);
    request.headers["Content-Type"] = "application/json";
    request.headers["X-CSRFToken"] = csrfToken() || request.headers["X-CSRFToken"] || formToken(element);
    request.body = JSON.stringify({ signature: element.value || element.elements.signature.value });
  }

  const buttonOf = (element) => (isRow(element) ? element : element.querySelector("button"));
  const formToken = (element) => (element.form ?? element).elements.csrf_token.value;
  const isRow = (element) => element instanceof HTMLButtonElement && element.getAttribute("form") === "create-bug";
  const isCreate = (element) =>
    isRow(element) || (element instanceof HTMLFormElement && element.classList.contains("create-bug"));

  // reviewable shows the link to the review, or hides it while the bug is being created.
  function reviewable(element, now) {
    const link = element.closest("td, .bug-now")?.querySelector(".review-link, .row-menu");
    if (link) {
      link.hidden = !now;
    }
  }

  document.addEventListener("click", (event) => {
    const button = event.target.closest?.("button");
    if (!isRow(button) || event.defaultPrevented) {
      return;
    }
    event.preventDefault();
    if (button.disabled) {
      return;
    }
    const cell = button.closest(".bug");
    // Screen readers announce changes of the cell, and it can have the focus.
    cell.setAttribute("role", "status");
    cell.tabIndex = -1;
    const focused = button === document.activeElement;
    button.disabled = true;
    htmx.ajax("POST", button.form.action, {
      source: button, target: button.closest(".bug-now"), swap: "outerHTML", event, createBugCell: focused ? cell : null,
    });
  });

  // A page may show the bug cell of one problem in several lists. When one copy changes, the others reload.
  const known = new WeakSet(document.querySelectorAll(".bug-now"));
  const problemOf = (cell) => cell.id.slice(4, 44); // "bug-", then the id

  function refreshCopies() {
    const cells = [...document.querySelectorAll(".bug-now[id]")];
    for (const fresh of cells.filter((cell) => !known.has(cell))) {
      for (const copy of cells) {
        if (known.has(copy) && problemOf(copy) === problemOf(fresh) && copy.dataset.state !== fresh.dataset.state) {
          if (copy.hasAttribute("hx-get")) {
            htmx.trigger(copy, "refresh");
          } else {
            htmx.ajax("GET", `/problem/${problemOf(copy)}/bug`, { source: copy, target: copy, swap: "outerHTML" });
          }
        }
      }
    }
    cells.forEach((cell) => known.add(cell));
  }

  htmx.registerExtension("create-bug", {
    // The button loses the focus when htmx disables it, so record before that whether it had the focus.
    htmx_config_request(element, { ctx }) {
      if (isCreate(element) && element.contains(document.activeElement) && !isRow(element)) {
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

    // No answer: the button is still there and can be pressed again.
    htmx_error(element) {
      if (!isCreate(element)) {
        return;
      }
      const button = buttonOf(element);
      button.disabled = false;
      button.textContent = button.dataset.label || button.textContent;
      reviewable(element, true);
    },
  });

  window.createBug = createBug;
})();
