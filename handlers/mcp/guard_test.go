package mcp

import (
	"context"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"mishap/handlers/web"
)

// TestGuard checks that a panic is logged, and answered without its text.
func TestGuard(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	s := &Server{web: &web.Kit{Log: slog.New(slog.NewTextHandler(&log, nil)), Auditor: &web.Auditor{}}}
	r := httptest.NewRequestWithContext(t.Context(), "POST", Path, nil)
	ctx := context.WithValue(t.Context(), requestKey{}, r)
	result, err := s.guard(func(context.Context, string, sdk.Request) (sdk.Result, error) {
		panic("a secret")
	})(ctx, "tools/call", &sdk.CallToolRequest{Params: &sdk.CallToolParamsRaw{}})
	if result != nil || err == nil || !strings.Contains(err.Error(), "(internal)") ||
		strings.Contains(err.Error(), "secret") {
		t.Errorf("got %v and %v", result, err)
	}
	if !strings.Contains(log.String(), "panic: a secret") {
		t.Errorf("got the log %s", &log)
	}
}
