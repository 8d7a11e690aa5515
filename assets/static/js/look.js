// Remembers how pages look, in the cookies that the server reads: the theme, and folds that a person opened. Closes menus and
// messages.
(() => {
  "use strict";

  const remember = (name, value) => {
    const secure = location.protocol === "https:" ? "; Secure" : "";
    document.cookie = `${name}=${value}; Path=/; SameSite=Lax; Max-Age=${value ? 365 * 24 * 3600 : 0}${secure}`;
  };

  // The theme changes without loading the page again, so that entered text stays.
  document.addEventListener("submit", (event) => {
    const form = event.target;
    const theme = event.submitter?.value;
    if (!form.matches("form.theme") || !theme) {
      return;
    }
    event.preventDefault();
    const system = theme === "system";
    remember("theme", system ? "" : theme);
    document.querySelector("meta[name=color-scheme]").content = system ? "light dark" : theme;
    if (system) {
      delete document.documentElement.dataset.theme;
    } else {
      document.documentElement.dataset.theme = theme;
    }
    for (const button of form.querySelectorAll("button[name=theme]")) {
      button.setAttribute("aria-pressed", String(button.value === theme));
    }
  });

  document.addEventListener("click", (event) => {
    const fold = event.target.closest?.("details[data-remember] > summary")?.parentElement;
    if (fold) {
      remember(fold.dataset.remember, fold.open ? "" : "open"); // it is about to change
    }
  });

  document.addEventListener("toggle", ({ target: fold }) => {
    if (fold.open && fold.matches("details[data-focus]")) {
      fold.querySelector("textarea, input:not([type=hidden], [type=checkbox])")?.focus();
    }
  }, true);

  document.addEventListener("click", (event) => event.target.closest?.("[data-dismiss]")?.parentElement.remove());

  // A menu closes like a popover: by a click elsewhere, and by Escape, which returns to its button.
  const closeMenus = (except) => {
    for (const menu of document.querySelectorAll("details.drop[open]")) {
      if (!menu.contains(except)) {
        menu.open = false;
      }
    }
  };
  document.addEventListener("click", (event) => closeMenus(event.target));
  document.addEventListener("keydown", (event) => {
    const menu = event.key === "Escape" && event.target.closest?.("details.drop[open]");
    if (menu) {
      menu.querySelector("summary").focus();
      closeMenus();
    }
  });
})();
