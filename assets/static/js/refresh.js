// Shows the present state of the page after a decision, and after Back: loads the page again and changes in place what
// differs. Folds, typed text and the scroll position stay. Without scripts, the server redirects to the page.
(() => {
  "use strict";

  let refreshing = false;

  async function refresh() {
    document.getElementById("bulk")?.reset(); // what was selected has been decided
    refreshing = true;
    try {
      await htmx.ajax("GET", location.pathname + location.search, {
        target: "#main", select: "#main", swap: "outerMorph", refreshes: true,
      });
    } finally {
      refreshing = false;
    }
  }

  htmx.registerExtension("refresh", {
    htmx_before_request(element, { ctx }) {
      ctx.decides = element.matches?.("form[data-decides]");
    },

    // The problem of the page was merged into another one, or the person has signed out.
    htmx_before_response(element, { ctx }) {
      const answer = ctx.response.raw;
      if (ctx.refreshes && (answer.redirected || !answer.ok)) {
        location.assign(answer.redirected ? answer.url : location.href);
        return false;
      }
      return true;
    },

    htmx_before_morph_attr(element, { attrName }) {
      return !(refreshing && attrName === "open" && element.matches("details"));
    },

    htmx_after_swap(element, { ctx }) {
      if (ctx?.decides && ctx.response?.status < 300) {
        element.reset(); // what was typed is saved
        const fold = element.closest("details[data-focus]");
        if (fold) {
          fold.open = false;
          fold.querySelector("summary").focus();
        }
        document.getElementById("dialog").close();
        refresh();
      }
    },
  });

  addEventListener("pageshow", (event) => {
    if (event.persisted) {
      refresh();
    }
  });
})();
