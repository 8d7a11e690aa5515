package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"

	"mishap/crash"
)

// tokenVariable is the environment variable with the API token of an assistant.
const tokenVariable = "MISHAP_TOKEN"

func mcpCommand(p *program) *cobra.Command {
	var site, tokenFile string
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "Serves an assistant on standard input and output",
		Long: `Serves the Model Context Protocol on standard input and output, for assistants that start such a program. It
passes each call on to /mcp of a running mishap, which decides what the caller may see and do. The file docs/api.md
describes the tools.

The API token comes from the variable ` + tokenVariable + ` or from a file. Without a token, the assistant sees
what visitors see. The site defaults to base_url of the configuration. The program ends with its input.`,
		Example: `  mishap mcp --url https://crashes.example.org --token-file ~/.mishap-token
  ` + tokenVariable + `=mshp_… mishap mcp --url https://crashes.example.org`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if site == "" {
				c, err := p.config(cmd)
				if err != nil {
					return err
				}
				site = c.BaseURL
			}
			token, err := p.assistantToken(tokenFile)
			if err != nil {
				return err
			}
			far, err := newFarSite(site, token)
			if err != nil {
				return err
			}
			return far.serve(cmd.Context(), p.in, p.out)
		},
	}
	cmd.Flags().StringVar(&site, "url", "", "the `address` of the site; default: base_url of the configuration")
	cmd.Flags().StringVar(&tokenFile, "token-file", "", "the `file` with the API token")
	return cmd
}

// assistantToken returns the API token from a file or, if file is empty, from the environment; empty: none.
func (p *program) assistantToken(file string) (string, error) {
	token := ""
	for _, v := range p.environ {
		if value, ok := strings.CutPrefix(v, tokenVariable+"="); ok {
			token = value
		}
	}
	if file != "" {
		text, err := os.ReadFile(file)
		if err != nil {
			return "", err
		}
		token = string(text)
	}
	if token = strings.TrimSpace(token); token == "" {
		return "", nil
	}
	return token, crash.CheckTokenText(token)
}

// farSite is a running mishap that has the tools.
type farSite struct {
	endpoint string
	client   *http.Client

	mu      sync.Mutex
	session *sdk.ClientSession // nil: not connected
}

// farTime limits a request to the site.
const farTime = time.Minute

// newFarSite returns the site at an address. It refuses to send a token unencrypted to another machine.
func newFarSite(address, token string) (*farSite, error) {
	u, err := url.Parse(strings.TrimRight(address, "/"))
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("%q is not an http or https address", address)
	}
	ip := net.ParseIP(u.Hostname())
	if token != "" && u.Scheme == "http" && u.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return nil, fmt.Errorf("the API token would cross the network readable to %s; use https", u.Host)
	}
	transport := &withToken{token: token, next: http.DefaultTransport}
	return &farSite{endpoint: u.String() + "/mcp", client: &http.Client{Transport: transport, Timeout: farTime,
		// A redirection could lead the token elsewhere.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}, nil
}

// withToken sends an API token, and turns refusals into errors with the reason.
type withToken struct {
	token string
	next  http.RoundTripper
}

// RoundTrip implements [http.RoundTripper].
func (t *withToken) RoundTrip(r *http.Request) (*http.Response, error) {
	if t.token != "" {
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer "+t.token)
	}
	answer, err := t.next.RoundTrip(r)
	if err != nil || answer.StatusCode < http.StatusMultipleChoices {
		return answer, err
	}
	defer answer.Body.Close() //nolint:errcheck // only read
	var refusal struct {
		Error string `json:"error"`
	}
	media, _, _ := mime.ParseMediaType(answer.Header.Get("Content-Type"))
	body, err := io.ReadAll(io.LimitReader(answer.Body, 64<<10))
	if err == nil && media == "application/json" && json.Unmarshal(body, &refusal) == nil && refusal.Error != "" {
		return nil, errors.New(onOneLine(refusal.Error))
	}
	return nil, fmt.Errorf("%s answers %s", r.URL.Host, onOneLine(answer.Status))
}

// connected returns the session with the site, and connects if there is none.
func (f *farSite) connected(ctx context.Context) (*sdk.ClientSession, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.session != nil {
		return f.session, nil
	}
	client := sdk.NewClient(&sdk.Implementation{Name: "mishap", Version: versionText()}, nil)
	session, err := client.Connect(ctx, &sdk.StreamableClientTransport{Endpoint: f.endpoint, HTTPClient: f.client,
		MaxRetries: -1, DisableStandaloneSSE: true}, nil)
	if err != nil {
		return nil, plainError(err)
	}
	f.session = session
	return session, nil
}

// plainError returns the error of a request without what the layers above it add.
func plainError(err error) error {
	if failed, ok := errors.AsType[*url.Error](err); ok {
		return failed.Err
	}
	return err
}

// call passes a call on. After an error, the next call connects again.
func (f *farSite) call(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	session, err := f.connected(ctx)
	if err == nil {
		params := &sdk.CallToolParams{Name: req.Params.Name}
		if len(req.Params.Arguments) > 0 {
			params.Arguments = req.Params.Arguments
		}
		var result *sdk.CallToolResult
		if result, err = session.CallTool(ctx, params); err == nil {
			return result, nil
		}
		f.mu.Lock()
		if f.session == session {
			f.session = nil
		}
		f.mu.Unlock()
		_ = session.Close()
	}
	var failed sdk.CallToolResult
	failed.SetError(plainError(err))
	return &failed, nil
}

// serve offers the tools of the site on in and out, until in ends.
func (f *farSite) serve(ctx context.Context, in io.Reader, out io.Writer) error {
	session, err := f.connected(ctx)
	if err != nil {
		return err
	}
	about := session.InitializeResult()
	tools, err := session.ListTools(ctx, nil)
	if err != nil {
		return plainError(err)
	}
	server := sdk.NewServer(&sdk.Implementation{Name: "mishap", Title: "mishap, a crash tracker", Version: versionText()},
		&sdk.ServerOptions{Instructions: about.Instructions, Logger: slog.New(slog.DiscardHandler),
			Capabilities: &sdk.ServerCapabilities{Tools: &sdk.ToolCapabilities{}}})
	for _, tool := range tools.Tools {
		server.AddTool(tool, f.call)
	}
	err = server.Run(ctx, &sdk.IOTransport{Reader: io.NopCloser(in), Writer: unclosed{out}})
	if ctx.Err() == nil && !errors.Is(err, io.EOF) {
		return err
	}
	return nil // the assistant has ended, or a signal ends the program
}

// unclosed is a writer that Close leaves open.
type unclosed struct{ io.Writer }

// Close implements [io.Closer].
func (unclosed) Close() error { return nil }
