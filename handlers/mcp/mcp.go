// Package mcp serves the Model Context Protocol, by which assistants use mishap: tools that read what pages and the
// API show, with the same rights, and three that change something. It decides nothing about rights and privacy
// itself: it asks the functions that pages ask, in packages web, panel and problems.
//
// Any number of instances can answer: no request needs another one before it.
package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"runtime/debug"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"mishap/crash"
	"mishap/crash/stats"
	"mishap/db"
	"mishap/db/events"
	"mishap/db/people"
	"mishap/db/problems"
	"mishap/handlers/panel"
	"mishap/handlers/web"
	view "mishap/views/problems"
)

// Path is the address of the server.
const Path = "/mcp"

// Lists returns what the pages of lists, packages and the update gate show to the current user.
type Lists interface {
	FindProblems(r *http.Request, values url.Values) (view.ListPage, error)
	PackageFacts(r *http.Request, name string) (view.PackagePage, error)
	CompareVersions(r *http.Request, page *view.PackagePage, a, b string) error
	GateAnswer(r *http.Request, q stats.GateQuestion) (stats.GateAnswer, error)
}

// Pages returns what the page of a problem shows to the current user.
type Pages interface {
	ProblemFacts(r *http.Request, id crash.BucketID) (*view.ProblemPage, error)
}

// Deps are what a Server uses.
type Deps struct {
	Store    *db.Store
	Problems *problems.Store
	People   *people.Store
	Events   *events.Store
	Lists    Lists
	Pages    Pages
}

// Server answers requests of assistants. It is safe for concurrent use.
type Server struct {
	web   *web.Kit
	panel *panel.Panel
	Deps
	base   string // address of the site, without a slash at its end
	access map[string]access
	mcp    http.Handler
}

// access says who may use a tool.
type access int

const (
	public    access = iota // everyone; visitors get redacted texts
	reading                 // people who may read reports
	assisting               // people with a role, by a token with the scope assist
)

// instructions tell an assistant what it needs to know about all tools.
const instructions = "mishap collects crash reports from Linux machines, and groups reports of the same fault into " +
	"problems. A problem is named by an id of 40 hexadecimal digits, or by the address of its page. Begin with " +
	"search_problems. Cite the links in answers. " + aboutUntrusted

// New returns a Server.
func New(kit *web.Kit, panel *panel.Panel, d Deps) *Server {
	s := &Server{web: kit, panel: panel, Deps: d, base: kit.Base.String(), access: map[string]access{}}
	server := sdk.NewServer(&sdk.Implementation{Name: "mishap", Title: "mishap, a crash tracker",
		Version: kit.Config.Version, WebsiteURL: s.base},
		&sdk.ServerOptions{Instructions: instructions,
			Capabilities: &sdk.ServerCapabilities{Tools: &sdk.ToolCapabilities{}}})
	s.addTools(server)
	server.AddReceivingMiddleware(s.guard, s.listUsable)
	// The site can be behind a proxy on the same machine, so the host in a request may be any. Requests have no
	// cookies that another site could use.
	s.mcp = sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server },
		&sdk.StreamableHTTPOptions{Stateless: true, JSONResponse: true, DisableLocalhostProtection: true,
			MaxRequestBodyBytes: web.MaxRequestBytes})
	return s
}

// Errors of requests.
var (
	errOrigin = crash.Errorf(crash.Forbidden, "origin", "This request comes from a page of another site.")
	errBatch  = crash.Errorf(crash.Invalid, "batch", "Send one message in a request; batches are not supported.")
	errListen = crash.Errorf(crash.Invalid, "listen",
		"This server sends nothing by itself, so there is nothing to listen to.")
	errUnread = crash.Errorf(crash.Invalid, "not_json", "The request could not be read.")
	errMedia  = crash.Errorf(crash.UnsupportedMedia, "media_type", "Send the request as application/json.")
)

// Serve answers a message of a client. Middleware has identified the caller by the token and limited the rate; there
// is no session.
func (s *Server) Serve(w http.ResponseWriter, r *http.Request) error {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		return &web.MethodError{}
	}
	if !s.web.IsFromThisSite(r) {
		return errOrigin
	}
	r.Body = http.MaxBytesReader(w, r.Body, web.MaxRequestBytes)
	body, err := web.ReadJSON(r, errMedia, errUnread)
	if err != nil {
		return err
	}
	if bytes.HasPrefix(bytes.TrimSpace(body), []byte("[")) {
		return errBatch
	}
	if !json.Valid(body) { // unlike the SDK, it limits the depth
		return errUnread
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	s.mcp.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), requestKey{}, r)))
	return nil
}

type requestKey struct{}

// requestOf returns the HTTP request of a message. The context of the message has its values, but not its end.
func requestOf(ctx context.Context) *http.Request {
	r, _ := ctx.Value(requestKey{}).(*http.Request)
	return r
}

// methodListen asks for a stream of notifications, which would hold a connection for nothing.
const methodListen = "subscriptions/listen"

// guard answers a panic with an internal error, because the goroutine is the SDK's, and panics there would end the
// program. It refuses to listen, and replaces arguments that are null, by which the SDK panics where inputs have
// defaults.
func (s *Server) guard(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (result sdk.Result, err error) {
		defer func() {
			if p := recover(); p != nil {
				result, err = nil, s.refusal(requestOf(ctx), fmt.Errorf("panic: %v\n%s", p, debug.Stack()))
			}
		}()
		if method == methodListen {
			return nil, s.refusal(requestOf(ctx), errListen)
		}
		if call, ok := req.(*sdk.CallToolRequest); ok && bytes.Equal(bytes.TrimSpace(call.Params.Arguments), []byte("null")) {
			call.Params.Arguments = nil
		}
		return next(ctx, method, req)
	}
}

// listUsable leaves tools out of the list that the caller may not use.
func (s *Server) listUsable(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
		result, err := next(ctx, method, req)
		list, ok := result.(*sdk.ListToolsResult)
		if err != nil || !ok {
			return result, err
		}
		usable := *list
		usable.Tools = slices.DeleteFunc(slices.Clone(list.Tools), func(t *sdk.Tool) bool {
			_, err := admit(s.access[t.Name], requestOf(ctx))
			return err != nil
		})
		return &usable, nil
	}
}

var errNoToken = crash.Errorf(crash.Unauthenticated, "not_signed_in",
	"Unauthorized: send an API token with the right scope in the header Authorization. People create tokens on the page "+
		"of their account.")

// admit returns the request as the caller may see what it asks for, or the reason why they may not use a tool. Callers
// who may not read reports see what visitors see.
func admit(a access, r *http.Request) (*http.Request, error) {
	v := web.VisitOf(r)
	scope := map[access]crash.Scope{public: crash.ScopeRead, reading: crash.ScopeRead, assisting: crash.ScopeAssist}[a]
	err := error(nil)
	switch {
	case v.Token == nil:
		err = errNoToken
	case !v.User.Role.Allows(crash.RoleViewer):
		err = crash.Errorf(crash.Forbidden, "no_rights", "The account of this token has no role here.")
	default:
		err = v.Token.Need(scope)
	}
	switch {
	case a == public && err != nil:
		r = web.AsVisitor(r)
	case err != nil:
		return nil, err
	}
	if a != assisting { // reads like a page
		ctx := db.OneRevision(r.Context())
		r = r.Clone(ctx)
		r.Method, r.Body = http.MethodGet, http.NoBody
	}
	return r, nil
}

// definition describes a tool.
type definition struct {
	name, title, description string

	access access
	full   limits // of an answer
	again  bool   // calling a tool that changes something again changes nothing more
	bounds func(in map[string]*jsonschema.Schema)
}

// add adds a tool. run does the work and returns a function that renders the answer within limits.
func add[In, Out any](s *Server, to *sdk.Server, d definition,
	run func(*Server, *http.Request, In) (func(*pen) Out, error),
) {
	in, out := schemaOf[In](), schemaOf[Out]()
	describe(out)
	if d.bounds != nil {
		d.bounds(in.Properties)
	}
	no, changes := false, d.access == assisting
	tool := &sdk.Tool{Name: d.name, Title: d.title, Description: d.description, InputSchema: in, OutputSchema: out,
		Annotations: &sdk.ToolAnnotations{Title: d.title, ReadOnlyHint: !changes, IdempotentHint: !changes || d.again,
			DestructiveHint: &no, OpenWorldHint: &no}}
	s.access[d.name] = d.access
	sdk.AddTool(to, tool, func(ctx context.Context, _ *sdk.CallToolRequest, in In) (*sdk.CallToolResult, any, error) {
		r := requestOf(ctx)
		seen, err := admit(d.access, r)
		if err != nil {
			return nil, nil, s.refusal(r, err)
		}
		render, err := run(s, seen, in)
		if err != nil {
			return nil, nil, s.refusal(r, err)
		}
		result, err := fit(d.full, render)
		if err != nil {
			return nil, nil, s.refusal(r, err)
		}
		return result, nil, nil
	})
}

func schemaOf[T any]() *jsonschema.Schema {
	schema, err := jsonschema.For[T](nil)
	if err != nil {
		panic(fmt.Sprintf("mcp: %v", err)) // a programming error, which every test finds
	}
	return schema
}

// describe leaves in the schema of an answer only what explains it, and reports whether that is anything. Clients send
// the list of tools to their models, and whole schemas would be most of it.
func describe(schema *jsonschema.Schema) bool {
	if schema == nil {
		return false
	}
	schema.Required, schema.AdditionalProperties = nil, nil
	if len(schema.Types) > 0 { // no answer contains null
		schema.Type, schema.Types = schema.Types[len(schema.Types)-1], nil
	}
	explains := schema.Description != ""
	for name, property := range schema.Properties {
		if describe(property) {
			explains = true
		} else {
			delete(schema.Properties, name)
		}
	}
	if schema.PropertyOrder != nil {
		schema.PropertyOrder = slices.DeleteFunc(schema.PropertyOrder, func(name string) bool {
			return schema.Properties[name] == nil
		})
	}
	return describe(schema.Items) || explains
}

// refused is an error of a tool as the assistant gets it.
type refused string

func (e refused) Error() string { return string(e) }

// refusal returns the error of a tool, after logging and recording it. It contains nothing from reports.
func (s *Server) refusal(r *http.Request, err error) error {
	a := s.web.Refusal(r, err)
	return refused(crash.OneLine(a.Message) + " (" + a.Code + ")")
}
