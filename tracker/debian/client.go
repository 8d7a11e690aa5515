// Package debian files and reads bugs in the bug tracking system of Debian, debbugs. Bugs, comments and changes are
// sent by mail; bugs are read over SOAP. The account is the address in the field From.
//
// The rules come from the sources of debbugs, mostly scripts/process and Debbugs/SOAP.pm, which the comments name.
//
// The number of a new bug is known later, since a mail has no answer: debbugs stores the Message-ID of the first mail
// of a bug, which is made from the intent's marker. Nothing there recognises a mail that is sent twice.
package debian

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/mail"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"mishap/crash"
	"mishap/tracker"
)

// Client sends mails to debbugs, each once, and reads bugs. It is safe for concurrent use, and is a
// [tracker.Tracker] and a [tracker.Forwarder].
//
// Config.Target is the name of a source package, or "source/version". The Token of an access token is the mail
// address of the account; its Secret is not used. Mails go to the host of Config.URL.
type Client struct {
	cfg   tracker.Config
	creds *tracker.Credentials
	call  *tracker.Caller
}

// New returns a client for the account of the current token of creds.
func New(cfg tracker.Config, creds *tracker.Credentials) *Client {
	c := &Client{cfg: cfg.WithDefaults(), creds: creds}
	c.call = tracker.NewCaller(c.cfg, creds, tracker.Auth{
		Sign:    func(*http.Request, crash.AccessToken) {},
		Dead:    func(tracker.Answer) bool { return false },
		Refusal: func(a tracker.Answer) (text, code string) { return faultOf(a), "" },
	})
	return c
}

// As returns a client with other credentials.
func (c *Client) As(creds *tracker.Credentials) tracker.Tracker {
	return &Client{cfg: c.cfg, creds: creds, call: c.call.As(creds)}
}

// Credentials returns those of the account.
func (c *Client) Credentials() *tracker.Credentials { return c.creds }

// Probe checks that there is a relay.
func (c *Client) Probe(context.Context) ([]tracker.Concern, error) {
	if c.cfg.Mail == nil {
		return []tracker.Concern{{Text: "there is no relay for mail; set smtp_url"}}, nil
	}
	return nil, nil
}

// BugURL returns the address of the page of a bug.
func (c *Client) BugURL(number int64) string { return c.cfg.URL + "/" + itoa(number) }

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

const (
	maxName    = 300
	maxSubject = 200
	maxFixes   = 20
	// lastComments is the number of mails that HasComment looks at.
	lastComments = 100
)

// Me returns the mail address of the account, after a call that shows that the tracker can be reached.
func (c *Client) Me(ctx context.Context) (string, error) {
	const operation = "me"
	address, err := c.address(ctx, operation)
	if err != nil {
		return "", err
	}
	if _, err = c.numbers(ctx, operation, "newest_bugs", integer(1)); err != nil {
		return "", err
	}
	c.call.Done(ctx, operation, address)
	return address, nil
}

// address returns the mail address of the account.
func (c *Client) address(ctx context.Context, operation string) (string, error) {
	token, err := c.creds.Current(ctx)
	if err != nil {
		return "", err
	}
	if a, err := mail.ParseAddress(token.Token); err != nil || a.Address != token.Token ||
		!plainAddress.MatchString(token.Token) {
		return "", refused(operation, "The account is not a mail address, as in mishap@example.org.")
	}
	return token.Token, nil
}

// plainAddress matches an address that no header needs to quote.
var plainAddress = regexp.MustCompile(`^[A-Za-z0-9._%+=~-]{1,64}@[A-Za-z0-9.-]{1,189}$`)

func refused(operation, why string) *tracker.CallError {
	return &tracker.CallError{Operation: operation, Outcome: tracker.OutcomeRefused, Text: why}
}

// messageID returns the Message-ID of the mail with a marker, with brackets. It depends on nothing else, so that any
// instance knows it at any time.
func (c *Client) messageID(marker, from string) string {
	_, host, _ := strings.Cut(from, "@")
	if base, err := url.Parse(c.cfg.BaseURL); err == nil && base.Hostname() != "" {
		host = base.Hostname()
	}
	sum := sha256.Sum256([]byte(marker))
	return "<mishap-" + hex.EncodeToString(sum[:])[:30] + "@" + host + ">"
}

var (
	packageName    = regexp.MustCompile(`^[a-z0-9][a-z0-9+.-]{1,99}$`)
	packageVersion = regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z.+:~-]{0,99}$`)
	tag            = regexp.MustCompile(`^[A-Za-z0-9.+-]{1,100}$`)
)

// knownTags are the tags that debbugs knows, but for those of releases. It ignores others.
var knownTags = strings.Fields("a11y confirmed d-i fixed fixed-in-experimental fixed-upstream ftbfs help ipv6 l10n " +
	"lfs moreinfo newcomer patch pending security unreproducible upstream wontfix")

// readTarget returns the package and version of an intent, or the configured ones if the intent's have another form.
func (c *Client) readTarget(in crash.Intent) (name, version string, ok bool) {
	for _, target := range []string{in.Target, c.cfg.Target} {
		name, version, found := strings.Cut(target, "/")
		if packageName.MatchString(name) && (!found || packageVersion.MatchString(version)) {
			return name, version, true
		}
	}
	return "", "", false
}

// Create sends the mail of a bug, once, none of its text after sendBy. Its number is not known then, so the outcome
// is unknown even if the relay accepts the mail. Tags that debbugs does not know become usertags of the account.
func (c *Client) Create(ctx context.Context, in crash.Intent, sendBy time.Duration) (int64, error) {
	const operation = "create"
	name, version, ok := c.readTarget(in)
	if !ok {
		return 0, refused(operation, "The target is not the name of a source package, as in tidewatch or tidewatch/1.0-1.")
	}
	if in.InformationType.Private() {
		return 0, refused(operation, "Debian has no private bugs: the bug would be public.")
	}
	from, err := c.address(ctx, operation)
	if err != nil {
		return 0, err
	}
	lines := []string{"Source: " + name}
	if version != "" {
		lines = append(lines, "Version: "+version)
	}
	var known, own []string
	for _, t := range in.Tags {
		if slices.Contains(knownTags, t) {
			known = append(known, t)
		} else if tag.MatchString(t) {
			own = append(own, t)
		}
	}
	if len(known) > 0 {
		lines = append(lines, "Tags: "+strings.Join(known, " "))
	}
	if len(own) > 0 {
		lines = append(lines, "User: "+from, "Usertags: "+strings.Join(own, " "))
	}
	text := strings.Join(lines, "\n") + "\n\n" + in.Description
	err = c.send(ctx, operation, "submit", message{
		from: from, id: c.messageID(in.Marker, from), subject: unnumbered(in.Title), text: text,
	}, sendBy)
	if err != nil {
		return 0, err
	}
	return 0, &tracker.CallError{Operation: operation, Outcome: tracker.OutcomeUnknown,
		Text: "the mail was accepted; Debian sends the number later"}
}

// bugNumber matches the beginning of a subject that makes a mail a comment on a bug [scripts/process].
var bugNumber = regexp.MustCompile(`(?i)^((?:re:\s*)*bug) ?#`)

// unnumbered returns a title that is that of a new bug. Nothing in it is the code of another text.
func unnumbered(title string) string {
	return bugNumber.ReplaceAllString(strings.ReplaceAll(tracker.Clean(title, maxSubject), "=?", "= ?"), "$1 ")
}

// send sends a mail to an address of the tracker, and records the outcome.
func (c *Client) send(ctx context.Context, operation, to string, m message, sendBy time.Duration) error {
	if c.cfg.Mail == nil {
		return c.call.Record(ctx, refused(operation, "There is no relay for mail. An administrator can set smtp_url."))
	}
	m.to, m.date, m.agent = to+"@"+c.host(), c.cfg.Now(), "mishap/"+c.cfg.Version
	sending, cancel := context.WithTimeout(ctx, sendBy)
	defer cancel()
	err := c.cfg.Mail.SendMail(sending, m.from, m.to, m.bytes())
	if err == nil {
		c.call.Done(ctx, operation, "")
		return nil
	}
	failure := &tracker.CallError{
		Operation: operation, Outcome: tracker.OutcomeUnknown, Err: err,
		Text: "the relay got the mail, but did not say whether it accepted it",
	}
	if e, ok := errors.AsType[*crash.Error](err); ok && (e.Kind == crash.Refused || e.Kind == crash.Unavailable) {
		failure.Outcome, failure.Text = tracker.OutcomeNotSent, tracker.Clean(e.Message, maxName)
		switch {
		case e.Kind == crash.Refused:
			failure.Outcome = tracker.OutcomeRefused
		case e.RetryAfter > 0:
			failure.Outcome, failure.RetryAfter = tracker.OutcomeBusy, e.RetryAfter
		}
	}
	return c.call.Record(ctx, failure)
}

func (c *Client) host() string {
	pages, err := url.Parse(c.cfg.URL)
	if err != nil {
		return ""
	}
	return pages.Hostname()
}

// FindBug searches the bugs of our accounts for the Message-ID of the intent's mail, and then, as relays may replace
// it, for the marker in the first mails of those that are new enough. A missing bug may still come, since a relay or
// Debian may work on the mail for days; see [tracker.Kind.Late].
func (c *Client) FindBug(
	ctx context.Context, in crash.Intent, since time.Time, others []int64, senders ...string,
) (int64, error) {
	const operation = "search"
	me, err := c.Me(ctx)
	if err != nil {
		return 0, err
	}
	accounts, err := c.creds.Accounts(ctx, me, senders...)
	if err != nil {
		return 0, err
	}
	var bugs []status
	for _, account := range accounts {
		list, err := c.bugsOf(ctx, operation, account, "both")
		if err != nil {
			return 0, err
		}
		bugs = append(bugs, list...)
	}
	from := since.Add(-tracker.SearchMargin).Truncate(time.Second)
	bugs = slices.DeleteFunc(bugs, func(b status) bool {
		return slices.Contains(others, b.number()) || b.Date.time().Before(from)
	})
	slices.SortFunc(bugs, func(a, b status) int { return cmp.Compare(a.number(), b.number()) })
	for _, b := range bugs {
		for _, account := range accounts {
			if strings.Trim(b.MessageID.String(), "<> ") == strings.Trim(c.messageID(in.Marker, account), "<>") {
				return b.number(), nil
			}
		}
	}
	for _, b := range bugs {
		mails, err := c.log(ctx, operation, b.number())
		if err != nil {
			return 0, err
		}
		if len(mails) > 0 && strings.Contains(mails[0], in.Marker) {
			return b.number(), nil
		}
	}
	return 0, nil
}

// bugsOf returns the bugs that an account has submitted: the archived ones ("1"), the others ("0") or "both".
func (c *Client) bugsOf(ctx context.Context, operation, account, archive string) ([]status, error) {
	numbers, err := c.numbers(ctx, operation, "get_bugs", words("submitter", account, "archive", archive)...)
	if err != nil {
		return nil, err
	}
	bugs, err := c.statuses(ctx, operation, numbers)
	return slices.DeleteFunc(bugs, func(b status) bool { return !strings.EqualFold(b.submitter(), account) }), err
}

// Changed lists the bugs of our account that have changed since a time, but for archived ones, which cannot change.
func (c *Client) Changed(ctx context.Context, since time.Time) (numbers []int64, err error) {
	me, err := c.Me(ctx)
	if err != nil {
		return nil, err
	}
	bugs, err := c.bugsOf(ctx, "changes", me, "0")
	for _, b := range bugs {
		if !b.Modified.time().Before(since.Truncate(time.Second)) {
			numbers = append(numbers, b.number())
		}
	}
	return numbers, err
}

// one returns the status of a bug; found is false if there is none.
func (c *Client) one(ctx context.Context, operation string, number int64) (b status, found bool, err error) {
	bugs, err := c.statuses(ctx, operation, []int64{number})
	if err != nil || len(bugs) == 0 {
		return status{}, false, err
	}
	if bugs[0].number() != number {
		return status{}, false, c.call.Unusable(ctx, operation, "the answer is about another bug")
	}
	return bugs[0], true, nil
}

// ReadState reads a bug, with one task for its package. A bug that does not exist is Hidden.
//
// A bug that somebody has closed is complete. Its status is [crash.FixReleased] if versions have the fix, and Closed
// otherwise. Debian does not say when it was closed. Bugs that are merged are the same; all but the one with the
// lowest number are duplicates.
func (c *Client) ReadState(ctx context.Context, number int64) (crash.BugReading, error) {
	b, found, err := c.one(ctx, "bug", number)
	if err != nil || !found {
		return crash.BugReading{Number: number, Hidden: err == nil}, err
	}
	name := tracker.Clean(strings.TrimPrefix(b.Package.String(), "src:"), maxName)
	task := crash.BugTask{
		Target: name, Name: name, Status: "Open", Importance: tracker.Clean(b.Severity.String(), maxName),
		Assignee: tracker.Clean(b.Owner.String(), maxName), Complete: b.Done.String() != "",
	}
	r := crash.BugReading{
		Number: number, Title: tracker.Clean(b.Subject.String(), maxName), InformationType: string(crash.InformationPublic),
	}
	if task.Complete {
		r.Fixes = b.fixes()
	}
	switch {
	case len(r.Fixes) > 0:
		task.Status = crash.FixReleased
	case task.Complete:
		task.Status = crash.PlainlyClosed
	case b.Forwarded.String() != "":
		task.Status = "Forwarded"
	}
	for _, word := range strings.Fields(b.MergedWith.String()) {
		n, err := strconv.ParseInt(word, 10, 64)
		if err == nil && n > 0 && n < number && (r.DuplicateOf == 0 || n < r.DuplicateOf) {
			r.DuplicateOf = n
		}
	}
	r.Tasks = []crash.BugTask{task}
	return r, nil
}

// Comment sends a comment on a bug, once. It sends nothing if the bug does not exist or is archived.
func (c *Client) Comment(ctx context.Context, number int64, text string) error {
	const operation = "comment"
	return c.mailAbout(ctx, operation, number, itoa(number), func(b status) message {
		return message{subject: "Re: " + unnumbered(b.Subject.String()), text: harmless(text), thread: b.MessageID.String()}
	})
}

// Forward marks a bug as forwarded to the address of an upstream bug. Debian says nothing about the result.
func (c *Client) Forward(ctx context.Context, number int64, address string) error {
	const operation = "forward"
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || !printable.MatchString(address) {
		return refused(operation, "A bug can be forwarded only to a web address.")
	}
	return c.mailAbout(ctx, operation, number, "control", func(status) message {
		command := "forwarded " + itoa(number)
		return message{subject: command, text: command + " " + address + "\nthanks\n"}
	})
}

var printable = regexp.MustCompile(`^[!-~]{1,500}$`)

// mailAbout sends a mail about a bug that debbugs can change. The same mail has the same Message-ID again, by which
// others recognise a copy.
func (c *Client) mailAbout(
	ctx context.Context, operation string, number int64, to string, compose func(status) message,
) error {
	from, err := c.address(ctx, operation)
	if err != nil {
		return err
	}
	b, found, err := c.one(ctx, operation, number)
	if e, ok := errors.AsType[*tracker.CallError](err); ok && e.Outcome == tracker.OutcomeUnknown {
		e.Outcome = tracker.OutcomeNotSent
	}
	switch {
	case err != nil:
		return err
	case !found:
		return refused(operation, "Debian has no bug "+itoa(number)+".")
	case b.archived():
		return refused(operation, "The bug "+itoa(number)+" is archived, so that Debian takes no more mail about it.")
	}
	m := compose(b)
	m.from, m.id = from, c.messageID(itoa(number)+"\n"+m.text, from)
	return c.send(ctx, operation, to, m, tracker.MaxSending)
}

// HasComment reports whether match returns true for one of the last mails of a bug, whoever sent it.
func (c *Client) HasComment(ctx context.Context, number int64, match func(text string) bool) (bool, error) {
	const operation = "messages"
	if _, found, err := c.one(ctx, operation, number); !found {
		return false, err
	}
	mails, err := c.log(ctx, operation, number)
	return slices.ContainsFunc(mails[max(0, len(mails)-lastComments):], func(text string) bool {
		return match(strings.TrimPrefix(text, guard))
	}), err
}

// Subscribe does nothing for our account, which gets all mail about its bugs, and refuses others: Debian asks an
// account for its consent.
func (c *Client) Subscribe(ctx context.Context, number int64, account string) error {
	const operation = "subscribe"
	me, err := c.address(ctx, operation)
	if err != nil || strings.EqualFold(me, account) {
		return err
	}
	return refused(operation, fmt.Sprintf("Debian subscribes only those who ask for it. Send an empty mail to "+
		"%d-subscribe@%s.", number, c.host()))
}
