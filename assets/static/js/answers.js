// Handles answers that replace no part. If there is none, it says so beside what was pressed: what was typed stays, and it
// can be pressed again. Other scripts ask for that by the event mishap:no-answer. Answers to plain forms replace the page.
// Without scripts, the browser does all that, with pages of its own.
(() => {
  "use strict";

  const note = document.createElement("p");
  note.className = "flash flash-error no-answer";
  note.popover = "auto";
  note.setAttribute("role", "alert");

  const shown = (element) => element instanceof Element && element.getClientRects().length > 0;

  // tell shows the note below a control, or as a message if the control is hidden by now, as in a menu.
  function tell(control) {
    const files = control?.closest(".create-bug, .create, .review") ? ": no bug is created twice." : ".";
    note.textContent = `The server did not answer. Try again${files}`;
    if (!shown(control)) {
      const message = document.createElement("div");
      message.className = "flash flash-error";
      message.textContent = note.textContent;
      document.getElementById("flash").replaceChildren(message);
      return;
    }
    control.after(note);
    note.showPopover();
    const at = control.getBoundingClientRect();
    const size = note.getBoundingClientRect();
    const left = Math.max(8, Math.min(at.left, document.documentElement.clientWidth - size.width - 8));
    const top = at.bottom + size.height + 8 < innerHeight ? at.bottom + 4 : Math.max(8, at.top - size.height - 4);
    note.style.left = `${left + scrollX}px`;
    note.style.top = `${top + scrollY}px`;
    setTimeout(() => document.activeElement === document.body && control.focus({ preventScroll: true })); // enabled again
  }

  document.addEventListener("mishap:no-answer", (event) => tell(event.target));

  htmx.registerExtension("answers", {
    // A proxy answers for a server that it cannot reach. Answers of the server have a request id.
    htmx_before_response(element, { ctx: { response } }) {
      if (response.status >= 502 && response.status <= 504 && !response.headers.has("X-Request-ID")) {
        throw new Error(`status ${response.status}`);
      }
    },

    htmx_after_request(element, { ctx }) {
      if (ctx.response.status >= 400) {
        ctx.push = ctx.replace = "false"; // the page stays, and so does its address
      }
      const next = ctx.hx.redirect && new URL(ctx.hx.redirect, location);
      if (next?.hash && next.pathname + next.search === location.pathname + location.search) {
        history.replaceState(history.state, "", next); // browsers would only scroll
        ctx.hx.refresh = "true";
      }
    },

    htmx_after_swap(element, { ctx }) {
      const main = ctx.select === "#main" && !ctx.refreshes && document.getElementById("main");
      if (main && !main.contains(document.activeElement)) {
        (main.querySelector("[aria-invalid=true]") ?? main).focus();
      }
    },

    // Only what a person did has a place for the note, not what loads or asks again by itself.
    htmx_error(element, { ctx }) {
      if (ctx && ctx.text === undefined && /click|submit|change/.test(ctx.sourceEvent?.type)) {
        const form = ctx.request.form ?? element;
        tell([ctx.request.submitter, ctx.sourceEvent.target, element].find((e) => shown(e) && e !== form) ??
          [...form.querySelectorAll("button")].find(shown));
      }
    },
  });

  // Back loads the page again: scripts know its elements.
  htmx.config.history = "reload";
})();
