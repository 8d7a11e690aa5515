package doctor

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"mishap/cmd/mishap/traces"
	"mishap/crash"
	"mishap/tracker"
)

// get requests an address and returns the status and the beginning of the answer.
func (d *doctor) get(ctx context.Context, client *http.Client, address string) (*http.Response, string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, "", err
	}
	req.Header.Set("User-Agent", "mishap-doctor")
	resp, err := client.Do(req)
	if err != nil {
		if known, ok := errors.AsType[*url.Error](err); ok {
			err = known.Err // without the address
		}
		return nil, "", err
	}
	defer resp.Body.Close() //nolint:errcheck // only read
	body, err := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	return resp, strings.TrimSpace(string(body)), err
}

// service asks a running instance on this machine for its health, and leaves out the problems in facts.
func (d *doctor) service(ctx context.Context, facts facts) []Finding {
	host, port, err := net.SplitHostPort(d.Config.OpsListen)
	if err != nil {
		return []Finding{failed("service", explain(err), "correct ops_listen")}
	}
	if ip, err := netip.ParseAddr(host); host == "" || err == nil && ip.IsUnspecified() {
		host = "localhost"
	}
	address := "http://" + net.JoinHostPort(host, port)
	resp, body, err := d.get(ctx, d.http, address+"/readyz") //nolint:bodyclose // get closes it
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return []Finding{failed("service", "mishap does not answer on "+d.Config.OpsListen, "restart it; its log says more")}
	case err != nil:
		return []Finding{good("service", "mishap is not running here (nothing answers on "+d.Config.OpsListen+")")}
	case resp.StatusCode == http.StatusOK && body == "ready":
		return append([]Finding{good("service", "mishap is running and ready")}, d.running(ctx, address, body, facts)...)
	case resp.StatusCode == http.StatusServiceUnavailable:
		return append([]Finding{failed("service", "mishap is running, but not ready: "+
			strings.Join(strings.Fields(body), " "), "see docs/operating.md")}, d.running(ctx, address, body, facts)...)
	}
	return []Finding{failed("service", "another program answers on "+d.Config.OpsListen,
		"set ops_listen to a free address")}
}

// running asks a running instance for the health of the whole site. It returns the problems that are
// neither in known nor in facts.
func (d *doctor) running(ctx context.Context, address, known string, facts facts) []Finding {
	var out []Finding
	resp, body, err := d.get(ctx, d.http, address+"/health") //nolint:bodyclose // get closes it
	if err != nil || resp.StatusCode != http.StatusOK {
		return nil // an older version, or one that is still starting
	}
	var health struct {
		Checks []struct {
			Check, Problem, Remedy string
			Status                 Status
		}
	}
	if err := json.Unmarshal([]byte(body), &health); err != nil {
		return []Finding{failed("service", "the health of the running instance: "+err.Error(), "restart it")}
	}
	for _, c := range health.Checks {
		said := slices.ContainsFunc(facts.findings, func(f Finding) bool { return f.Check == c.Check && f.Remedy != "" })
		if c.Problem != "" && !strings.Contains(known, c.Problem) && !said {
			out = append(out, Finding{"service", c.Status, strings.TrimSuffix(c.Problem, "."), c.Remedy})
		}
	}
	return out
}

// mail connects to the relay, without sending a mail.
func (d *doctor) mail(ctx context.Context) []Finding {
	relay, err := d.Config.Relay()
	switch {
	case err != nil:
		return []Finding{failed("mail", explain(err), "correct smtp_url or smtp_tls")}
	case relay == nil:
		return []Finding{off("mail", "no mail is sent (smtp_url is empty)")}
	}
	base, err := url.Parse(d.Config.BaseURL)
	if err != nil {
		return []Finding{failed("mail", explain(err), "correct base_url")}
	}
	switch encrypted, err := relay.Check(ctx, base.Hostname(), d.Timeout); {
	case err != nil:
		return []Finding{failed("mail", "the relay "+relay.Address()+": "+explain(err),
			"start the relay, or correct smtp_url, its password, or smtp_tls")}
	case !encrypted && d.Config.SMTPTLS != "off":
		return []Finding{warned("mail", "the relay "+relay.Address()+" does not offer STARTTLS, so mail is sent in "+
			"clear text",
			"give the relay a certificate, then set smtp_tls to require")}
	case !encrypted:
		return []Finding{good("mail", "the relay "+relay.Address()+" answers, without encryption")}
	}
	return []Finding{good("mail", "the relay "+relay.Address()+" answers, encrypted")}
}

// traces sends an empty message to the collector of traces.
func (d *doctor) traces(ctx context.Context) []Finding {
	if d.Config.TracesURL == "" {
		return []Finding{off("traces", "no traces are sent (traces_url is empty)")}
	}
	if err := traces.Check(ctx, d.Config.TracesAddress()); err != nil {
		return []Finding{warned("traces", "the collector "+d.Config.TracesURL+" does not accept traces: "+explain(err),
			"start the collector, or correct traces_url; OTEL_EXPORTER_OTLP_HEADERS sets what a collector asks for")}
	}
	return []Finding{good("traces", "the collector "+d.Config.TracesURL+" accepts traces")}
}

// proxies compares trusted_proxies with base_url and listen.
func (d *doctor) proxies(context.Context) []Finding {
	base, err := url.Parse(d.Config.BaseURL)
	host, _, errListen := net.SplitHostPort(d.Config.Listen)
	if err = errors.Join(err, errListen); err != nil {
		return []Finding{failed("proxies", explain(err), "correct base_url or listen")}
	}
	trusted := d.Config.ProxyNetworks()
	loopback := false
	for _, n := range trusted {
		loopback = loopback || n.Addr().IsLoopback()
		wide := n.Addr().Is4() && n.Bits() < 24 || n.Addr().Is6() && n.Bits() < 64
		if wide && !n.Addr().IsLoopback() {
			return []Finding{warned("proxies", "trusted_proxies contains the whole network "+n.String()+
				", whose machines can all claim to be other clients", "name the addresses of the proxies themselves")}
		}
	}
	switch {
	case base.Scheme == "http" && isLoopback(base.Hostname()):
		return []Finding{good("proxies", "none needed: base_url is for this machine only")}
	case base.Scheme == "http":
		return []Finding{warned("proxies", "base_url is http on another machine: passwords and sessions can be read "+
			"on the network", "put a proxy with TLS in front, and set base_url to its https address")}
	case len(trusted) == 0:
		return []Finding{failed("proxies", "base_url is https, but no proxy is trusted: mishap takes all requests for http, "+
			"from one address", "set trusted_proxies to the addresses of the proxies")}
	case isLoopback(host) && !loopback:
		return []Finding{failed("proxies", "listen is only for this machine, but trusted_proxies does not contain it",
			"add 127.0.0.0/8 ::1/128 to trusted_proxies")}
	case !isLoopback(host) && loopback && len(trusted) <= 2:
		return []Finding{warned("proxies", "listen is open to other machines, but only a proxy on this machine is trusted",
			"set listen to 127.0.0.1:PORT if the proxy is here, else add its address to trusted_proxies")}
	}
	return []Finding{good("proxies", "trusted_proxies fits base_url and listen")}
}

func isLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// certificateWarning is the rest of a certificate's life at which it should have been renewed.
const certificateWarning = 14 * 24 * time.Hour

// baseURL checks the certificate of base_url, and that base_url leads to mishap.
func (d *doctor) baseURL(ctx context.Context) []Finding {
	base, err := url.Parse(d.Config.BaseURL)
	if err != nil {
		return []Finding{failed("base_url", explain(err), "correct base_url")}
	}
	var out []Finding
	if base.Scheme == "https" {
		f, reached := d.certificate(ctx, base)
		if out = append(out, f); f.Status == Failure || !reached {
			return out
		}
	}
	resp, body, err := d.get(ctx, newClient(d.tls()), d.Config.BaseURL+"/healthz") //nolint:bodyclose // get closes it
	const remedy = "start mishap, and make the proxy pass requests to listen"
	switch {
	case err != nil:
		out = append(out, warned("base_url", d.Config.BaseURL+" does not answer: "+explain(err), remedy))
	case resp.StatusCode != http.StatusOK || body != "ok":
		out = append(out, warned("base_url", fmt.Sprintf("%s answers %s instead of mishap's health check",
			d.Config.BaseURL, resp.Status), remedy))
	default:
		out = append(out, good("base_url", d.Config.BaseURL+" leads to mishap"))
	}
	return out
}

// certificate checks the TLS certificate of base_url. It returns false if no server answers.
func (d *doctor) certificate(ctx context.Context, base *url.URL) (Finding, bool) {
	port := base.Port()
	if port == "" {
		port = "443"
	}
	dialer := tls.Dialer{Config: d.tls()}
	conn, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort(base.Hostname(), port))
	if err != nil {
		return certificateError(base, err)
	}
	defer conn.Close() //nolint:errcheck // nothing was written
	ends := time.Time{}
	for _, c := range conn.(*tls.Conn).ConnectionState().PeerCertificates {
		if ends.IsZero() || c.NotAfter.Before(ends) {
			ends = c.NotAfter
		}
	}
	message := "the certificate of " + base.Hostname() + " is valid until " + ends.UTC().Format(time.DateOnly)
	if ends.Sub(d.Now()) < certificateWarning {
		return warned("base_url", message, "renew it now, and see why it was not renewed by itself"), true
	}
	return good("base_url", message), true
}

// certificateError says why a certificate is not accepted.
func certificateError(base *url.URL, err error) (Finding, bool) {
	if invalid, ok := errors.AsType[x509.CertificateInvalidError](err); ok && invalid.Reason == x509.Expired {
		return failed("base_url", "the certificate of "+base.Hostname()+" has expired or is not valid yet", "renew it"), true
	}
	if _, ok := errors.AsType[x509.HostnameError](err); ok {
		return failed("base_url", "the certificate is for another name than "+base.Hostname(),
			"get one for this name, or correct base_url"), true
	}
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return failed("base_url", "this machine does not know the authority of the certificate of "+base.Hostname(),
			"serve the intermediate certificates, too, or install the authority (update-ca-certificates)"), true
	}
	if _, ok := errors.AsType[*net.OpError](err); ok || errors.Is(err, context.DeadlineExceeded) {
		return warned("base_url", base.Host+" cannot be reached from this machine: "+explain(err),
			"start the proxy, or correct base_url or the name service"), false
	}
	return failed("base_url", base.Host+": "+explain(err), "make the proxy serve TLS at this address"), true
}

func (d *doctor) tls() *tls.Config {
	return &tls.Config{RootCAs: d.Roots, Time: d.Now, MinVersion: tls.VersionTLS12}
}

// newClient returns a client that follows no redirects, and uses no proxy of the environment: mishap
// uses none, either.
func newClient(c *tls.Config) *http.Client {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.TLSClientConfig, t.Proxy, t.DisableKeepAlives = c, nil, true
	return &http.Client{Transport: t, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}}
}

// tracker checks that the tracker answers and accepts the access token, and compares its clock.
func (d *doctor) tracker(ctx context.Context, known facts) []Finding {
	var out []Finding
	began := d.Now()
	resp, _, err := d.get(ctx, d.http, d.Config.TrackerAPIURL) //nolint:bodyclose // get closes it
	ended := d.Now()
	name := d.Config.TrackerName()
	if err != nil {
		return []Finding{failed("tracker", name+" cannot be reached at "+d.Config.TrackerAPIURL+": "+explain(err),
			"correct tracker_api_url, or allow connections to it")}
	}
	if at, err := http.ParseTime(resp.Header.Get("Date")); err == nil {
		out = append(out, clock(name, at, began, ended, time.Second))
	}
	if resp.StatusCode >= 500 {
		return append(out, warned("tracker", name+" answers "+resp.Status, "wait until it works again"))
	}
	c := d.Tracker
	c.Timeout = d.Timeout
	saved := &readOnlyCredentials{known.token}
	account, err := tracker.NewClient(c, tracker.NewCredentials(c, saved)).Check(ctx)
	connected := !c.Token.IsZero() || !known.token.IsZero()
	switch {
	case err == nil:
		return append(out, good("tracker", name+" accepts the access token of "+account))
	case connected && refused(err):
		return append(out, failed("tracker", name+" no longer accepts the access token",
			"connect again at "+d.Config.BaseURL+"/admin/tracker"))
	case connected:
		return append(out, failed("tracker", explain(err), "try again later; see docs/filing.md"))
	case !known.read:
		return append(out, warned("tracker", name+" answers; the access token could not be read from the database",
			"run mishap doctor again while the database runs"))
	case d.Config.AllowBugFiling:
		return append(out, warned("tracker", name+" answers, but mishap is not connected to it, so it files no bugs",
			"connect it at "+d.Config.BaseURL+"/admin/tracker, or set allow_bug_filing to false"))
	}
	return append(out, good("tracker", name+" answers; filing bugs is off"))
}

// refused reports whether the tracker no longer accepts the access token.
func refused(err error) bool {
	known, ok := errors.AsType[*crash.Error](err)
	return ok && known.Code == "tracker_credentials"
}

// readOnlyCredentials holds the access token from the database. It saves nothing.
type readOnlyCredentials struct{ token crash.SavedToken }

// SavedToken implements [tracker.CredentialStore].
func (r *readOnlyCredentials) SavedToken(context.Context, crash.TrackerKey) (crash.SavedToken, error) {
	return r.token, nil
}

// SaveToken implements [tracker.CredentialStore].
func (*readOnlyCredentials) SaveToken(context.Context, crash.TrackerKey, crash.AccessToken, string) error {
	return nil
}

// SaveConfiguredToken implements [tracker.CredentialStore].
func (*readOnlyCredentials) SaveConfiguredToken(context.Context, crash.TrackerKey, crash.AccessToken) error {
	return nil
}

// ForgetToken implements [tracker.CredentialStore].
func (*readOnlyCredentials) ForgetToken(context.Context, crash.TrackerKey, string) error { return nil }

// TokenHealth implements [tracker.CredentialStore].
func (*readOnlyCredentials) TokenHealth(context.Context, crash.TrackerKey, string) (crash.TokenHealth, error) {
	return crash.TokenHealth{}, nil
}

// TrackerAccounts implements [tracker.CredentialStore].
func (*readOnlyCredentials) TrackerAccounts(context.Context, crash.TrackerKey) ([]string, error) {
	return nil, nil
}

// SaveTokenHealth implements [tracker.CredentialStore].
func (*readOnlyCredentials) SaveTokenHealth(context.Context, crash.TrackerKey, string, crash.TokenHealth) error {
	return nil
}
