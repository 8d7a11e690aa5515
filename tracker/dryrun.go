package tracker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"

	"mishap/crash"
)

// DryRun returns what Create would send for an intent: the method, address, headers and body of the request, or the
// mail. The access token is hidden. Nothing is filed; what a kind reads before that, such as Bugzilla's versions, is
// read. The errors are those of Explain.
func (s *Site) DryRun(ctx context.Context, in crash.Intent) (string, error) {
	token, err := s.Creds.Current(ctx)
	if crash.KindOf(err) == crash.Unavailable { // not connected yet
		token, err = crash.AccessToken{Token: "mishap", Secret: hiddenToken}, nil
	}
	if err != nil {
		return "", err
	}
	cfg, log := s.Config, &dryRun{}
	wrap := cfg.Transport
	cfg.Transport = func(next http.RoundTripper) http.RoundTripper {
		if wrap != nil {
			next = wrap(next)
		}
		return dryTransport{log, next}
	}
	cfg.Mail, cfg.Registerer = log, nil
	creds := &Credentials{cfg: cfg, store: dryStore{s.Creds.store}, log: cfg.Log, configured: token, offered: true}
	_, err = s.Kind.New(cfg, creds).Create(ctx, in, MaxSending)
	if log.sent == "" {
		if e, ok := errors.AsType[*CallError](err); ok {
			e.By = s.called()
		}
		return "", Explained(err)
	}
	return scrub(log.sent, token.Secret), nil
}

// hiddenToken stands for the secret of a tracker that is not connected.
const hiddenToken = "not connected"

var errDryRun = errors.New("this is only a dry run")

// dryRun records the first change that a tracker would get, and refuses it.
type dryRun struct{ sent string }

// SendMail records a mail instead of sending it.
func (d *dryRun) SendMail(_ context.Context, _, to string, message []byte) error {
	d.sent = "Mail to " + to + "\n\n" + strings.ReplaceAll(string(message), "\r\n", "\n")
	return crash.Errorf(crash.Unavailable, "dry_run", "This is only a dry run.")
}

type dryTransport struct {
	log  *dryRun
	next http.RoundTripper
}

// RoundTrip records a request that changes something instead of sending it.
func (t dryTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Method == http.MethodGet {
		return t.next.RoundTrip(req)
	}
	var body []byte
	if req.Body != nil {
		var err error
		if body, err = io.ReadAll(req.Body); err != nil {
			return nil, err
		}
		_ = req.Body.Close() // it has been read
	}
	var out bytes.Buffer
	fmt.Fprintf(&out, "%s %s\n", req.Method, req.URL)
	for _, name := range slices.Sorted(maps.Keys(req.Header)) {
		fmt.Fprintf(&out, "%s: %s\n", name, strings.Join(req.Header[name], ", "))
	}
	fmt.Fprintf(&out, "\n%s\n", body)
	t.log.sent = out.String()
	return nil, errDryRun
}

// dryStore reads credentials, and stores nothing about calls that were not made.
type dryStore struct{ CredentialStore }

func (dryStore) SaveTokenHealth(context.Context, crash.TrackerKey, string, crash.TokenHealth) error {
	return nil
}

// Request returns the request that would file the bug of a problem, as DryRun does. The bug is the draft, or that of
// Propose if it is nil.
func (f *Filer) Request(ctx context.Context, id crash.BucketID, draft *crash.Draft, upstream bool) (string, error) {
	b, err := f.bucket(ctx, id, upstream)
	if err != nil {
		return "", err
	}
	if draft == nil {
		p, err := f.Propose(ctx, b, upstream)
		if err != nil {
			return "", err
		}
		draft = &p.Draft
	}
	in, err := f.intent(ctx, b, Options{Draft: draft, Upstream: upstream})
	if err != nil {
		return "", err
	}
	site, err := f.sites.At(ctx, in.Tracker, in.Project)
	if err != nil {
		return "", err
	}
	return site.DryRun(ctx, in)
}
