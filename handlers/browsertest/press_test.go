package browsertest_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/chromedp/chromedp"

	"mishap/handlers/browsertest"
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
	ctx := browsertest.Start(t)
	browsertest.Do(ctx, t, chromedp.Navigate(site.URL), browsertest.WaitVisible("#field"), browsertest.Press("a"),
		browsertest.Press("Ab-c\r"))
	if got := browsertest.Eval[string](ctx, t, "field.value"); got != "Ab-c sent" {
		t.Errorf("got %q, want the keys after the first one", got)
	}
}
