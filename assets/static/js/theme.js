// Switches the theme without loading the page again, so that entered text stays. Without scripts, the server stores the
// theme in the same cookie.
(() => {
  "use strict";

  document.addEventListener("submit", (event) => {
    const form = event.target;
    const theme = event.submitter?.value;
    if (!form.matches("form.theme") || !theme) {
      return;
    }
    event.preventDefault();
    const system = theme === "system";
    const secure = location.protocol === "https:" ? "; Secure" : "";
    document.cookie = `theme=${system ? "" : theme}; Path=/; SameSite=Lax; Max-Age=${system ? 0 : 365 * 24 * 3600}${secure}`;
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
})();
