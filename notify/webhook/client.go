// Package webhook sends events to other programs: as Standard Webhooks, and as messages to Slack,
// Mattermost and Matrix. [Client] makes one request, [Judge] decides what follows from the answer, and
// [Worker] works through stored deliveries. Package db/events stores them.
package webhook

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"mishap/crash"
)

const (
	defaultTimeout = 20 * time.Second
	bodyTimeout    = 3 * time.Second // for the body of an answer whose status is known
	maxAnswer      = 2 << 10         // bytes of an answer that are read
	maxHeader      = 64 << 10
)

// Config configures a Client.
type Config struct {
	Allow   Networks // private networks to which it may send
	BaseURL string   // own address, for links
	Version string   // of the program
	Now     func() time.Time
	Timeout time.Duration // for a request, from the look-up of the name to the status; 0: 20 s

	// Transport wraps the transport of every request, unless it is nil.
	Transport func(http.RoundTripper) http.RoundTripper
}

// Client sends requests to endpoints. It ignores the proxies of the environment, does not follow
// redirects, and refuses addresses that are not public. It is safe for concurrent use.
type Client struct {
	config Config
	http   *http.Client
}

// NewClient returns a Client.
func NewClient(c Config) *Client {
	c.Timeout = cmp.Or(c.Timeout, defaultTimeout)
	dialer := &net.Dialer{Control: c.Allow.control}
	var transport http.RoundTripper = &http.Transport{
		Proxy:                  nil, // a proxy would connect to addresses that the dialer refuses
		DialContext:            dialer.DialContext,
		DisableKeepAlives:      true, // each request checks its address
		DisableCompression:     true,
		MaxResponseHeaderBytes: maxHeader,
	}
	if c.Transport != nil {
		transport = c.Transport(transport)
	}
	return &Client{config: c, http: &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// Reply is the answer to a request.
type Reply struct {
	Status     int    // 0: there was no answer
	Answer     string // its beginning, as text
	Problem    string // why the request failed, as a sentence; empty: it succeeded
	RetryAfter time.Duration
}

// Send sends a message to an endpoint once. id and payload are those of the delivery, and resent is
// how often a person has sent it again.
func (c *Client) Send(ctx context.Context, to crash.Endpoint, id crash.DeliveryID, resent int, payload string) Reply {
	ctx, cancel := context.WithTimeout(ctx, c.config.Timeout)
	defer cancel()
	req, err := c.request(ctx, to, id, resent, payload)
	if err != nil {
		return Reply{Problem: crash.Truncate(err.Error(), 500)}
	}
	req.Header.Set("User-Agent", "mishap/"+c.config.Version)
	res, err := c.http.Do(req)
	if err != nil {
		return Reply{Problem: c.sendProblem(err)}
	}
	defer func() { _ = res.Body.Close() }()
	slow := time.AfterFunc(bodyTimeout, cancel)
	defer slow.Stop()
	answer, _ := io.ReadAll(io.LimitReader(res.Body, maxAnswer)) // the status decides
	reply := Reply{Status: res.StatusCode, Answer: plain(string(answer), maxAnswer)}
	switch res.StatusCode / 100 {
	case 2:
		return reply
	case 3:
		reply.Problem = "It redirects, and mishap does not follow redirects. Enter the address to which it redirects."
	default:
		reply.Problem = "It answered " + strings.TrimSpace(strconv.Itoa(res.StatusCode)+" "+
			http.StatusText(res.StatusCode)) + "."
	}
	reply.RetryAfter = c.retryAfter(res.Header.Get("Retry-After"), answer)
	return reply
}

// Test sends a test to an endpoint once.
func (c *Client) Test(ctx context.Context, to crash.Endpoint, person string) Reply {
	id := crash.DeliveryID("test-" + strings.ToLower(rand.Text()))
	return c.Send(ctx, to, id, 0, c.testPayload(to, person))
}

// sendProblem returns a sentence about why there was no answer. It does not contain the address, which
// may contain a secret.
func (c *Client) sendProblem(err error) string {
	if refused, ok := errors.AsType[*RefusedError](err); ok {
		return refused.Error()
	}
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return "Its certificate was signed by an authority that this machine does not know."
	}
	if dns, ok := errors.AsType[*net.DNSError](err); ok {
		return "Its name " + dns.Name + " cannot be resolved: " + dns.Err + "."
	}
	if failed, ok := errors.AsType[*url.Error](err); ok {
		if failed.Timeout() {
			return fmt.Sprintf("There was no answer within %v seconds.", c.config.Timeout.Seconds())
		}
		err = failed.Err
	}
	switch {
	case errors.Is(err, context.Canceled):
		return "mishap was stopped during the request."
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "It closed the connection without an answer."
	}
	return "There was no valid answer: " + plain(err.Error(), 300)
}

// plain returns text without invalid, control and hidden characters, cut to a number of bytes.
func plain(text string, limit int) string {
	text = strings.ToValidUTF8(text, "�")
	text = strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' || r == 0x7f {
			return -1
		}
		return r
	}, crash.WithoutHidden(text))
	if len(text) > limit {
		text = strings.ToValidUTF8(text[:limit], "")
	}
	return text
}

// Networks lists private networks to which mishap may send.
type Networks []netip.Prefix

// refused lists the networks that are not part of the public internet, or that lead to others (IANA's
// special-purpose registries). Of IPv6 only 2000::/3 is public.
var refused = func() []netip.Prefix {
	var list []netip.Prefix
	for word := range strings.FieldsSeq(`
		0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24
		192.88.99.0/24 192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/3
		2001::/23 2001:db8::/32 2002::/16 3fff::/20`) {
		list = append(list, netip.MustParsePrefix(word))
	}
	return list
}()

var publicIPv6 = netip.MustParsePrefix("2000::/3")

// RefusedError says that mishap does not send to an address.
type RefusedError struct{ Address netip.Addr }

func (e *RefusedError) Error() string {
	return fmt.Sprintf("mishap does not send to %s, which is not a public address. If this is intended, add its network "+
		"to webhook_allow_networks in the configuration.", e.Address)
}

// check returns a RefusedError if mishap must not send to an address. It does not look behind
// addresses that contain others (NAT64, 6to4, Teredo): they are refused as such.
func (n Networks) check(address netip.Addr) error {
	address = address.Unmap().WithZone("")
	for _, network := range n {
		if network.Contains(address) {
			return nil
		}
	}
	for _, network := range refused {
		if network.Contains(address) {
			return &RefusedError{address}
		}
	}
	if !address.IsValid() || address.Is6() && !publicIPv6.Contains(address) {
		return &RefusedError{address}
	}
	return nil
}

// control is the Control function of a net.Dialer. The dialer calls it with the address that it is
// about to connect to, after the name was resolved, so that a name cannot resolve to another address
// in between.
func (n Networks) control(_, address string, _ syscall.RawConn) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("%q is not an address: %w", address, err)
	}
	return n.check(to.Addr())
}

// Errors of endpoints whose secrets cannot be decrypted.
var (
	errNoAddress = errors.New("the address cannot be decrypted, because the password of the database has changed; " +
		"enter it again")
	errNoSecret = errors.New("the secret cannot be decrypted, because the password of the database has changed; " +
		"set a new one")
)

func (c *Client) request(
	ctx context.Context, to crash.Endpoint, id crash.DeliveryID, resent int, payload string,
) (*http.Request, error) {
	switch {
	case to.Address == "":
		return nil, errNoAddress
	case to.Secret == "" && (to.Kind == crash.EndpointWebhook || to.Kind == crash.EndpointMatrix):
		return nil, errNoSecret
	}
	method, address := http.MethodPost, string(to.Address)
	if to.Kind == crash.EndpointMatrix {
		// The homeserver accepts each transaction once. A person who sends a message again wants a second one.
		transaction := string(id)
		if resent > 0 {
			transaction += "-" + strconv.Itoa(resent)
		}
		method = http.MethodPut
		address = strings.TrimRight(address, "/") + "/_matrix/client/v3/rooms/" + url.PathEscape(to.Channel) +
			"/send/m.room.message/" + transaction
	}
	req, err := http.NewRequestWithContext(ctx, method, address, strings.NewReader(payload))
	if err != nil {
		return nil, errors.New("the address is not valid; enter it again")
	}
	req.Header.Set("Content-Type", "application/json")
	switch to.Kind {
	case crash.EndpointSlack, crash.EndpointMattermost: // the address is the secret
	case crash.EndpointWebhook:
		now := c.config.Now()
		signatures, err := sign(to, id, now, payload)
		if err != nil {
			return nil, err
		}
		req.Header.Set(standardwebhooks.HeaderWebhookID, string(id))
		req.Header.Set(standardwebhooks.HeaderWebhookTimestamp, strconv.FormatInt(now.Unix(), 10))
		req.Header.Set(standardwebhooks.HeaderWebhookSignature, signatures)
	case crash.EndpointMatrix:
		req.Header.Set("Authorization", "Bearer "+string(to.Secret))
	}
	return req, nil
}

// sign returns the signatures of a webhook: with its secret and, for some time after a rotation, with
// the previous one.
func sign(to crash.Endpoint, id crash.DeliveryID, now time.Time, payload string) (string, error) {
	secrets := []crash.Secret{to.Secret}
	if to.Previous != "" && now.Before(to.PreviousUntil) {
		secrets = append(secrets, to.Previous)
	}
	var signatures []string
	for _, secret := range secrets {
		signer, err := standardwebhooks.NewWebhook(string(secret))
		if err != nil {
			return "", errors.New("the secret is not valid; rotate it")
		}
		signature, err := signer.Sign(string(id), now, []byte(payload))
		if err != nil {
			return "", fmt.Errorf("sign: %w", err)
		}
		signatures = append(signatures, signature)
	}
	return strings.Join(signatures, " "), nil
}

// NewSecret returns a new secret of a webhook, of 32 random bytes.
func NewSecret() crash.Secret {
	random := make([]byte, 32)
	_, _ = rand.Read(random) // never fails
	return crash.Secret("whsec_" + base64.StdEncoding.EncodeToString(random))
}

// retryAfter returns the delay that an answer asks for, by its header or as Matrix does, or 0. It is at
// most maxRetryAfter.
func (c *Client) retryAfter(header string, answer []byte) time.Duration {
	var delay time.Duration
	var matrix struct {
		Milliseconds int64 `json:"retry_after_ms"`
	}
	if seconds, err := strconv.ParseInt(header, 10, 32); err == nil {
		delay = time.Duration(seconds) * time.Second
	} else if at, err := http.ParseTime(header); err == nil {
		delay = at.Sub(c.config.Now())
	} else if json.Unmarshal(answer, &matrix) == nil {
		delay = time.Duration(min(matrix.Milliseconds, maxRetryAfter.Milliseconds())) * time.Millisecond
	}
	return min(max(delay, 0), maxRetryAfter)
}

// schedule lists the delay of each attempt after the previous one, as Standard Webhooks recommends. It
// lasts for three days and a few hours.
var schedule = []time.Duration{
	0, 5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour, 10 * time.Hour,
	14 * time.Hour, 20 * time.Hour, 24 * time.Hour,
}

const (
	maxRetryAfter = 24 * time.Hour
	chatInterval  = time.Second      // Slack accepts about one message per second and channel
	firstPause    = 5 * time.Second  // of an endpoint after a failure; it doubles with each further one
	throttlePause = 30 * time.Second // of an endpoint that is overloaded and does not say for how long
	maxPause      = 5 * time.Minute
)

// Judge returns what follows from the answer to an attempt. failed is the number of attempts of the
// delivery that have failed before. An endpoint that fails pauses for all its deliveries, so that it is
// not flooded when it works again.
func Judge(to crash.Endpoint, failed int, reply Reply, now time.Time) crash.DeliveryOutcome {
	o := crash.DeliveryOutcome{Status: reply.Status, Answer: reply.Answer, Problem: reply.Problem}
	if reply.Problem == "" {
		o.State = crash.DeliveryDelivered
		if to.Kind != crash.EndpointWebhook {
			o.Pause = now.Add(chatInterval)
		}
		return o
	}
	pause := min(firstPause<<min(to.Failures, 10), maxPause)
	switch reply.Status {
	case http.StatusGone:
		o.State, o.Off = crash.DeliveryFailed, "It answered 410 Gone, which means that it wants no more events."
		return o
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		pause = max(pause, throttlePause)
	}
	o.Pause = now.Add(max(pause, reply.RetryAfter))
	if failed+1 >= len(schedule) {
		last := "did not answer"
		if reply.Status != 0 {
			last = fmt.Sprintf("answered %d", reply.Status)
		}
		o.State = crash.DeliveryFailed
		o.Off = fmt.Sprintf("All %d attempts to deliver an event failed; at the last one it %s.", len(schedule), last)
		return o
	}
	o.State, o.Due = crash.DeliveryWaiting, now.Add(max(schedule[failed+1], reply.RetryAfter))
	return o
}

// Limits of the settings of an endpoint.
const (
	MaxName      = 60
	MaxPerMinute = 600
	maxAddress   = 2000
)

var matrixRoom = regexp.MustCompile(`^![^\s/?#]{1,250}$`)

// CheckSettings returns what is wrong with the settings of an endpoint, by field, and sets its host. An
// empty address or secret means that the stored one stays; isNew says that there is none.
func CheckSettings(e *crash.Endpoint, isNew bool) map[string]string {
	wrong := map[string]string{}
	if e.Name == "" || utf8.RuneCountInString(e.Name) > MaxName || plain(e.Name, len(e.Name)) != e.Name {
		wrong["name"] = "Enter a name of at most 60 characters."
	}
	if e.PerMinute < 1 || e.PerMinute > MaxPerMinute {
		wrong["per_minute"] = "Enter a number from 1 to 600."
	}
	switch address := string(e.Address); {
	case address != "":
		host, problem := hostOf(e.Kind, address)
		if problem != "" {
			wrong["address"] = problem
		}
		e.Host = host
	case isNew:
		wrong["address"] = "Enter the address."
	}
	switch e.Kind {
	case crash.EndpointMatrix:
		if !matrixRoom.MatchString(e.Channel) {
			wrong["channel"] = "Enter the id of the room, which begins with an exclamation mark. Aliases (#name) do not work."
		}
		if e.Secret == "" && isNew {
			wrong["secret"] = "Enter the access token of the account that writes."
		}
	case crash.EndpointMattermost:
		if utf8.RuneCountInString(e.Channel) > 64 || strings.ContainsFunc(e.Channel, func(r rune) bool { return r <= ' ' }) {
			wrong["channel"] = "Enter the name of a channel as in its address, or nothing."
		}
	default:
		e.Channel = ""
	}
	if strings.ContainsFunc(string(e.Secret), func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		wrong["secret"] = "The token must not contain spaces or special characters."
	}
	return wrong
}

func hostOf(kind crash.EndpointKind, address string) (host, problem string) {
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "" || len(address) > maxAddress:
		return "", "Enter an address that begins with https:// or http://."
	case u.Fragment != "":
		return "", "Leave out the part behind #."
	case kind == crash.EndpointMatrix && (u.RawQuery != "" || u.User != nil):
		return "", "Enter only the address of the homeserver, such as https://matrix.example.org."
	}
	return u.Scheme + "://" + u.Host, ""
}

// Limits of the texts in payloads, in characters. Payloads stay below 20 kB, as Standard Webhooks
// recommends.
const (
	maxTitle      = 200
	maxText       = 500
	maxName       = 120
	maxListTitle  = 80 // in the list of a summary
	maxListName   = 60
	mentionBreak  = "\u200b" // between @ and a name, so that it is no mention
	timeOfPayload = time.RFC3339
)

// TypeTest is the type of the event that the test button sends.
const TypeTest = "test"

// kinds maps the kinds of events to their types in payloads, which docs/notifications.md describes, and to
// words in messages to chats.
var kinds = map[crash.EventKind]struct{ eventType, words string }{
	crash.EventNew:         {"problem.new", "New problem"},
	crash.EventRegressed:   {"problem.regressed", "Regression"},
	crash.EventRising:      {"problem.rising", "Rising problem"},
	crash.EventProposed:    {"problem.proposed", "New in proposed"},
	crash.EventSymbolised:  {"problem.symbolised", "Symbolised"},
	crash.EventQuiet:       {"problem.quiet", "Quiet"},
	crash.EventUpstream:    {"bug.closed-upstream", "Closed upstream"},
	crash.EventUnmuted:     {"problem.unmuted", "Unmuted"},
	crash.EventAssigned:    {"problem.assigned", "Assigned"},
	crash.EventMentioned:   {"problem.mentioned", "Mentioned"},
	crash.EventStorm:       {"package.storm", "Many new problems"},
	crash.EventRefused:     {"bug.refused", "Bug refused"},
	crash.EventTracker:     {"tracker.refused", "Bug tracker"},
	crash.EventEndpointOff: {"endpoint.disabled", "Endpoint switched off"},
	crash.EventToken:       {"token.expiring", "API token expires"},
	crash.EventAccount:     {"account.changed", "Account changed"},
	crash.EventMany:        {"summary", "Summary"},
}

// EventType returns the type of an event in payloads, such as "problem.new".
func EventType(kind crash.EventKind) string { return kinds[kind].eventType }

type eventData struct {
	Type     string      `json:"type,omitempty"` // only in the list of a summary
	Event    int64       `json:"event,omitempty"`
	Title    string      `json:"title"`
	Text     string      `json:"text,omitempty"`
	Problem  string      `json:"problem,omitempty"`
	Package  string      `json:"package,omitempty"`
	Source   string      `json:"source_package,omitempty"`
	Release  string      `json:"release,omitempty"`
	Version  string      `json:"version,omitempty"`
	Machines int64       `json:"machines,omitempty"`
	URL      string      `json:"url"`
	Events   []eventData `json:"events,omitempty"` // of a summary: the first ones that it mentions
}

// Payload returns the body of the requests of a delivery. It depends only on the delivery.
func (c *Client) Payload(d crash.DeliveryClaim) string {
	return c.payload(d.To, kinds[d.Event.Kind].eventType, kinds[d.Event.Kind].words, d.Event, d.Summarised)
}

func (c *Client) testPayload(to crash.Endpoint, person string) string {
	return c.payload(to, TypeTest, "Test", crash.Event{
		At: c.config.Now(), Title: "This is a test",
		Text: person + " tests the endpoint “" + to.Name + "”. No action is needed.",
	}, nil)
}

func (c *Client) payload(
	to crash.Endpoint, eventType, word string, e crash.Event, summarised []crash.Event,
) string {
	switch to.Kind {
	case crash.EndpointWebhook: // below
	case crash.EndpointSlack:
		return encode(map[string]any{"text": c.slackText(word, e, summarised), "link_names": false, "unfurl_links": false})
	case crash.EndpointMattermost:
		return encode(c.mattermost(to, word, e, summarised))
	case crash.EndpointMatrix:
		return encode(c.matrix(word, e, summarised))
	}
	data := c.data(e, maxTitle, maxName)
	data.Text = short(e.Text, maxText)
	for _, s := range summarised {
		one := c.data(s, maxListTitle, maxListName)
		one.Type = kinds[s.Kind].eventType
		data.Events = append(data.Events, one)
	}
	return encode(struct {
		Type      string    `json:"type"`
		Timestamp string    `json:"timestamp"`
		Data      eventData `json:"data"`
	}{eventType, e.At.UTC().Format(timeOfPayload), data})
}

func (c *Client) data(e crash.Event, title, name int) eventData {
	data := eventData{
		Event: e.ID, Title: short(e.Title, title), Package: short(e.Package, name), Source: short(e.Source, name),
		Release: short(string(e.Release), name), Version: short(e.Version, name), Machines: e.Machines, URL: c.link(e),
	}
	if e.Bucket != nil {
		data.Problem = e.Bucket.String()
	}
	return data
}

func (c *Client) link(e crash.Event) string {
	e.Package = short(e.Package, maxName)
	return c.config.BaseURL + cmp.Or(e.Path(), "/")
}

func encode(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err) // not of these types
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func short(text string, limit int) string {
	text = strings.Join(strings.Fields(plain(text, len(text))), " ")
	if runes := []rune(text); len(runes) > limit {
		return string(runes[:limit-1]) + "…"
	}
	return text
}

func facts(e crash.Event) (list []struct{ name, value string }) {
	for _, f := range []struct{ name, value string }{
		{"Package", e.Package}, {"Release", string(e.Release)}, {"Version", e.Version}, {"Machines", machines(e.Machines)},
	} {
		if f.value = short(f.value, maxName); f.value != "" {
			list = append(list, f)
		}
	}
	return list
}

func machines(n int64) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}

// slackEscaper escapes text for Slack, also within a link: it can contain no markup and no mention.
var slackEscaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "|", "¦", "@", "@"+mentionBreak)

// slackText returns an event as a message for Slack: a link with the title, a sentence, and facts.
func (c *Client) slackText(word string, e crash.Event, summarised []crash.Event) string {
	lines := []string{word + ": " + c.slackLink(e, maxTitle)}
	if text := short(e.Text, maxText); text != "" {
		lines = append(lines, slackEscaper.Replace(text))
	}
	var parts []string
	for _, f := range facts(e) {
		parts = append(parts, f.name+": "+slackEscaper.Replace(f.value))
	}
	if len(parts) > 0 {
		lines = append(lines, strings.Join(parts, " · "))
	}
	for _, s := range summarised {
		lines = append(lines, "• "+kinds[s.Kind].words+": "+c.slackLink(s, maxListTitle))
	}
	return strings.Join(lines, "\n")
}

func (c *Client) slackLink(e crash.Event, limit int) string {
	return "<" + slackURL(c.link(e)) + "|" + slackEscaper.Replace(short(e.Title, limit)) + ">"
}

// slackURL escapes an address for a link. Own addresses contain none of these characters; the names of
// packages in them are escaped already.
func slackURL(address string) string {
	return strings.NewReplacer("<", "%3C", ">", "%3E", "|", "%7C").Replace(address)
}

// markdownEscaper escapes text for Mattermost, which renders Markdown and Slack's markup.
var markdownEscaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "|", "¦", "@", "@"+mentionBreak,
	`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "~", `\~`, "[", `\[`, "]", `\]`, "(", `\(`, ")", `\)`, "#", `\#`,
	"!", `\!`, ":", ":"+mentionBreak)

func (c *Client) mattermost(to crash.Endpoint, word string, e crash.Event, summarised []crash.Event) any {
	type field struct {
		Title string `json:"title"`
		Value string `json:"value"`
		Short bool   `json:"short"`
	}
	fields := []field{}
	for _, f := range facts(e) {
		fields = append(fields, field{f.name, markdownEscaper.Replace(f.value), true})
	}
	text := markdownEscaper.Replace(short(e.Text, maxText))
	for _, s := range summarised {
		text += "\n* " + kinds[s.Kind].words + " – " + c.markdownLink(s, maxListTitle)
	}
	message := map[string]any{
		"username": "mishap",
		"text":     word + " – " + c.markdownLink(e, maxTitle),
		"attachments": []any{map[string]any{
			"fallback": word + " – " + strings.ReplaceAll(short(e.Title, maxTitle), "@", "@"+mentionBreak),
			"text":     text, "fields": fields,
		}},
	}
	if to.Channel != "" {
		message["channel"] = to.Channel
	}
	return message
}

func (c *Client) markdownLink(e crash.Event, limit int) string {
	address := strings.NewReplacer("(", "%28", ")", "%29", "<", "%3C", ">", "%3E").Replace(c.link(e))
	return "[" + markdownEscaper.Replace(short(e.Title, limit)) + "](" + address + ")"
}

func (c *Client) matrix(word string, e crash.Event, summarised []crash.Event) any {
	escape := func(text string) string { return html.EscapeString(strings.ReplaceAll(text, "@", "@"+mentionBreak)) }
	link := func(e crash.Event, limit int) string {
		return `<a href="` + html.EscapeString(c.link(e)) + `">` + escape(short(e.Title, limit)) + `</a>`
	}
	body := []string{word + ": " + short(e.Title, maxTitle)}
	formatted := "<strong>" + word + "</strong>: " + link(e, maxTitle)
	add := func(text string) {
		if text != "" {
			body = append(body, text)
			formatted += "<br>" + escape(text)
		}
	}
	add(short(e.Text, maxText))
	var parts []string
	for _, f := range facts(e) {
		parts = append(parts, f.name+": "+f.value)
	}
	add(strings.Join(parts, " · "))
	for i, s := range summarised {
		body = append(body, "• "+kinds[s.Kind].words+": "+short(s.Title, maxListTitle)+" "+c.link(s))
		if i == 0 {
			formatted += "<ul>"
		}
		formatted += "<li>" + kinds[s.Kind].words + ": " + link(s, maxListTitle) + "</li>"
		if i == len(summarised)-1 {
			formatted += "</ul>"
		}
	}
	body = append(body, c.link(e))
	return map[string]any{
		"msgtype": "m.notice", "format": "org.matrix.custom.html", "formatted_body": formatted,
		"body":       strings.ReplaceAll(strings.Join(body, "\n"), "@", "@"+mentionBreak),
		"m.mentions": map[string]any{},
	}
}

const maxSending = 16

const storeTimeout = 30 * time.Second

// Store stores deliveries, as package db/events describes. Its errors of kind Conflict mean that another
// instance has taken over.
type Store interface {
	ReleaseDeliveries(context.Context) error
	ClaimDelivery(context.Context) (crash.DeliveryClaim, bool, error)
	SavePayload(ctx context.Context, claim crash.DeliveryClaim, payload string) (string, error)
	FinishDelivery(context.Context, crash.DeliveryClaim, crash.DeliveryOutcome) error
}

// Worker sends stored deliveries. Several instances may do so at the same time: each endpoint gets one
// request at a time. Slow endpoints do not delay others, as long as there are fewer than maxSending.
type Worker struct {
	store    Store
	client   *Client
	log      *slog.Logger
	attempts *prometheus.CounterVec

	slots   chan struct{} // one for each request in progress
	quit    chan struct{} // closed to interrupt requests
	mu      sync.Mutex
	closed  bool
	running sync.WaitGroup
}

// NewWorker returns a Worker. Without a registerer there are no metrics.
func NewWorker(store Store, client *Client, log *slog.Logger, metrics prometheus.Registerer) (*Worker, error) {
	w := &Worker{
		store: store, client: client, log: log, slots: make(chan struct{}, maxSending), quit: make(chan struct{}),
		attempts: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "mishap_delivery_attempts_total",
			Help: "Attempts of this instance to deliver events to endpoints, by kind of endpoint and outcome.",
		}, []string{"kind", "outcome"}),
	}
	for _, kind := range crash.EndpointKinds {
		w.attempts.WithLabelValues(string(kind), "delivered") // starts at 0, so that rates see the first one
		w.attempts.WithLabelValues(string(kind), "failed")
	}
	if metrics == nil {
		return w, nil
	}
	if err := metrics.Register(w.attempts); err != nil {
		return nil, fmt.Errorf("metrics of deliveries: %w", err)
	}
	return w, nil
}

// Round starts to send everything that is due, and does not wait for the answers. Call it every few
// seconds.
func (w *Worker) Round(ctx context.Context) error {
	if err := w.store.ReleaseDeliveries(ctx); err != nil {
		return err
	}
	for {
		select {
		case w.slots <- struct{}{}:
		default:
			return nil
		}
		claim, ok, err := w.claim(ctx)
		if err != nil || !ok {
			<-w.slots
			return err
		}
		go func() {
			defer w.running.Done()
			defer func() { <-w.slots }()
			w.work(ctx, claim)
		}()
	}
}

// claim claims a delivery and counts it as running, unless the worker was closed.
func (w *Worker) claim(ctx context.Context) (claim crash.DeliveryClaim, ok bool, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return claim, false, nil
	}
	if claim, ok, err = w.store.ClaimDelivery(ctx); ok {
		w.running.Add(1)
	}
	return claim, ok, err
}

// work sends a delivery, and then others as long as some are due.
func (w *Worker) work(ctx context.Context, claim crash.DeliveryClaim) {
	defer func() {
		if p := recover(); p != nil {
			w.log.ErrorContext(ctx, "sending a delivery failed", "delivery", claim.ID, "panic", p,
				"stack", string(debug.Stack()))
		}
	}()
	for {
		if err := w.deliver(ctx, claim); err != nil && !errors.Is(err, crash.Conflict) {
			w.log.WarnContext(ctx, "a delivery will be sent again", "delivery", claim.ID, "endpoint", claim.To.Name,
				"error", err)
			return
		}
		next, ok, err := w.claim(ctx)
		if err != nil || !ok {
			return // the next round reports an error
		}
		w.running.Done() // of the previous delivery
		claim = next
	}
}

func (w *Worker) deliver(ctx context.Context, claim crash.DeliveryClaim) error {
	payload := claim.Payload
	if payload == "" {
		var err error
		if payload, err = w.store.SavePayload(ctx, claim, w.client.Payload(claim)); err != nil {
			return err
		}
	}
	reply, interrupted := w.send(ctx, claim, payload)
	outcome := Judge(claim.To, claim.Attempts, reply, w.client.config.Now())
	if interrupted && outcome.State != crash.DeliveryDelivered {
		outcome = crash.DeliveryOutcome{Interrupted: true, Problem: "mishap was stopped during the request, " +
			"and sends it again with the same id."}
	}
	w.attempts.WithLabelValues(string(claim.To.Kind), outcomeName(outcome)).Inc()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
	defer cancel()
	return w.store.FinishDelivery(ctx, claim, outcome)
}

func (w *Worker) send(ctx context.Context, claim crash.DeliveryClaim, payload string) (reply Reply, interrupted bool) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	answered := make(chan Reply, 1)
	go func() { answered <- w.client.Send(ctx, claim.To, claim.ID, claim.Resent, payload) }()
	select {
	case reply := <-answered:
		return reply, ctx.Err() != nil
	case <-w.quit:
		cancel()
		return <-answered, true
	}
}

func outcomeName(o crash.DeliveryOutcome) string {
	switch {
	case o.Interrupted:
		return "interrupted"
	case o.State == crash.DeliveryDelivered:
		return "delivered"
	case o.Off != "":
		return "switched_off"
	}
	return "failed"
}

// Wait waits until no request is in progress.
func (w *Worker) Wait() { w.running.Wait() }

// Close claims nothing more and waits for requests in progress. It interrupts them when ctx ends; they
// are sent again later.
func (w *Worker) Close(ctx context.Context) {
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		return
	}
	w.closed = true
	w.mu.Unlock()
	done := make(chan struct{})
	go func() {
		w.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-ctx.Done():
		close(w.quit)
		<-done
	}
}
