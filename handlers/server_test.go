package handlers_test

import (
	"testing"
	"time"

	"mishap/handlers"
	"mishap/handlers/web"
)

func TestNewNamesMissingDeps(t *testing.T) {
	t.Parallel()
	_, err := handlers.New(handlers.Deps{Deps: web.Deps{Config: web.Config{BaseURL: "nonsense"}, Now: time.Now}})
	want := "handlers: base address \"nonsense\" is not an http or https address\n" +
		"handlers: missing: Store, People, Bugs, Problems, Events, Symbols, Filer, Tracker, Credentials, Log, Registerer\n" +
		"handlers: missing: Decisions, Mailer, Sender, WriteTokens"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
