package handlertest_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/chromedp/chromedp"

	"mishap/handlers/handlertest"
)

// TestPress checks that a key that a script handles types nothing, even into a field that has the focus at
// once, and that other keys do.
func TestPress(t *testing.T) {
	t.Parallel()
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = fmt.Fprint(w, `<form><input id="field"></form><script>
			document.addEventListener("keydown", (event) => {
				if (event.target === document.body) {
					field.focus();
					event.preventDefault();
				}
			});
			document.forms[0].addEventListener("submit", (event) => {
				field.value += " sent";
				event.preventDefault();
			});</script>`)
	}))
	t.Cleanup(site.Close)
	ctx := handlertest.StartBrowser(t)
	handlertest.Do(ctx, t, chromedp.Navigate(site.URL), handlertest.WaitVisible("#field"), handlertest.Press("a"),
		handlertest.Press("Ab-c\r"))
	if got := handlertest.Eval[string](ctx, t, "field.value"); got != "Ab-c sent" {
		t.Errorf("got %q, want the keys after the first one", got)
	}
}
