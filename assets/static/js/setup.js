// Lets htmx set up only the elements that use it. By itself, it would look at all attributes of all elements for hx-on, which
// pages do not use: slow processors would wait for that.
(() => {
  "use strict";

  const users = "[hx-get], [hx-post], [hx-boost]";

  htmx.registerExtension("setup", {
    htmx_before_process(element) {
      if (element.matches(users)) {
        return true;
      }
      for (const user of element.querySelectorAll(users)) {
        htmx.process(user);
      }
      return false;
    },
  });
})();
