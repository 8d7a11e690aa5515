// Handles answers that replace no part. If there is none, it says so beside the button or link that was pressed: what was
// typed stays, and it can be pressed again. Other scripts ask for that by the event mishap:no-answer, perhaps with the
// reason. Answers to plain forms replace the page. Without scripts, the browser does all that, with pages of its own.
(() => {
  "use strict";

  const note = document.createElement("p");
  note.className = "flash flash-error no-answer";
  note.popover = "auto";
  note.setAttribute("role", "alert");

  const shown = (element) => element instanceof Element && element.getClientRects().length > 0;

  // announce shows a message of the page.
  function announce(text) {
    const message = document.createElement("div");
    message.className = "flash flash-error";
    message.textContent = text;
    const dismiss = document.createElement("button");
    dismiss.className = "dialog-close";
    dismiss.dataset.dismiss = "";
    dismiss.ariaLabel = "Dismiss";
    dismiss.textContent = "×";
    message.append(dismiss);
    document.getElementById("flash").replaceChildren(message);
  }

  // tell shows the note below a control, or as a message if the control is hidden by now, as in a menu.
  function tell(control, reason) {
    const files = control?.closest(".create-bug, .create, .review") ? ": no bug is created twice." : ".";
    note.textContent = reason ?? `The server did not answer. Try again${files}`;
    if (!shown(control)) {
      announce(note.textContent);
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

  document.addEventListener("mishap:no-answer", (event) => tell(event.target, event.detail));

  // A proxy answers for a server that it cannot reach. Answers of the server have a request id.
  const away = ({ status, headers }) => status >= 502 && status <= 504 && !headers.has("X-Request-ID");

  // A link, or a form that only reads, opens its page only if the server answers a small request. That begins when the link
  // is pressed, so that a click rarely waits for it. Whatever opens elsewhere or stays on the page is left to the browser.
  let asked = null;

  function ask() {
    if (!asked || performance.now() - asked.at > 2000) {
      const now = asked = { at: performance.now(), answered: false };
      now.answer = fetch("/healthz", { method: "HEAD", cache: "no-store", signal: AbortSignal.timeout(20000) })
        .then((response) => { now.answered = !away(response); }, () => {});
    }
    return asked;
  }

  async function leave(event, control, again) {
    const question = ask();
    if (question.answered) {
      return;
    }
    event.preventDefault();
    await question.answer;
    if (question.answered) {
      again();
    } else {
      asked = null;
      tell(control);
    }
  }

  function linkIn(event) {
    const link = event.target.closest?.("a[href]");
    if (!link || event.defaultPrevented || event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey ||
      event.altKey || link.hasAttribute("target") || link.hasAttribute("download")) {
      return null;
    }
    const to = new URL(link.getAttribute("href"), location);
    const stays = to.hash !== "" && to.pathname + to.search === location.pathname + location.search;
    return to.origin === location.origin && !stays ? link : null;
  }

  addEventListener("pointerdown", (event) => linkIn(event) && ask());

  addEventListener("click", (event) => {
    const link = linkIn(event);
    if (link) {
      leave(event, link, () => link.dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true })));
    }
  });

  addEventListener("submit", (event) => {
    const form = event.target;
    if (!event.defaultPrevented && form.method === "get") {
      leave(event, event.submitter ?? document.activeElement, () => form.requestSubmit(event.submitter));
    }
  });

  // Parts that load or ask again by themselves have no control: the page says once that one is missing.
  let missing = false;

  function miss() {
    if (!missing) {
      missing = true;
      announce("A part of this page could not be loaded. Reload the page to try again.");
    }
  }

  const pressed = (ctx) => /click|submit|change|input/.test(ctx.sourceEvent?.type);

  htmx.registerExtension("answers", {
    htmx_before_response(element, { ctx: { response } }) {
      if (away(response)) {
        throw new Error(`status ${response.status}`);
      }
    },

    htmx_after_request(element, { ctx }) {
      if (ctx.response.status >= 400) {
        ctx.push = ctx.replace = "false"; // the page stays, and so does its address
        if (!pressed(ctx)) {
          miss();
        }
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

    htmx_error(element, { ctx }) {
      if (!ctx || ctx.text !== undefined) {
        return;
      }
      if (!pressed(ctx)) {
        miss();
      } else if (ctx.sourceEvent.type !== "input") { // what completes typed text is no part of the page
        const form = ctx.request.form ?? element;
        tell([ctx.request.submitter, ctx.sourceEvent.target, element].find((e) => shown(e) && e !== form) ??
          [...form.querySelectorAll("button")].find(shown));
      }
    },
  });

  // Back loads the page again: scripts know its elements.
  htmx.config.history = "reload";
})();
