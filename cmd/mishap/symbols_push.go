package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"mishap/crash"
	"mishap/crash/symbols/builds"
	"mishap/crash/symbols/debuginfo"
	"mishap/handlers/debuginfod"
)

const (
	pushPart     = 4 << 20 // bytes of one request
	pushAttempts = 6       // without progress
	pushTimeout  = 5 * time.Minute
	maxAnswer    = 1 << 20
)

func (c symbolCommands) push() *cobra.Command {
	var to, tokenFile string
	var sources []string
	cmd := &cobra.Command{
		Use:   "push --to URL --token-file FILE FILE|DIR|PACKAGE...",
		Short: "Uploads programs, libraries and debug files to a mishap server",
		Long: `Uploads what "symbols add" would add, to the mishap server at URL. It needs no configuration and no
database, so that builds can run it. The token needs the scope upload: "mishap token create".

Files that the server has are not sent again. If an upload is interrupted, run the same command again: it
goes on where it stopped. It tries again by itself while the server is unavailable.

It prints each file. If a file is refused, it prints the reason, and the exit status is 1; the others
are uploaded.`,
		Example: `  mishap symbols push --to https://crashes.example.com --token-file token build/*.deb build/*.ddeb
  mishap symbols push --to https://crashes.example.com --token-file token --source /usr/src/tide=. build`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			trees, err := sourceTrees(cmd, sources)
			if err != nil {
				return err
			}
			p, err := c.newPusher(to, tokenFile)
			if err != nil {
				return &usageError{err, cmd.CommandPath()}
			}
			return p.push(cmd.Context(), args, trees)
		},
	}
	cmd.Flags().StringVar(&to, "to", "", "the address of the server's pages, such as https://crashes.example.com")
	cmd.Flags().StringVar(&tokenFile, "token-file", "", "the file with the API token")
	cmd.Flags().StringArrayVar(&sources, "source", nil, "also upload source files below this `[FROM=]DIR`; may "+
		"be repeated")
	return cmd
}

// pusher uploads symbols to a server.
type pusher struct {
	symbolCommands
	to     *url.URL
	token  crash.Secret
	client *http.Client
	pause  time.Duration // before the second attempt; doubled for each further one
}

func (c symbolCommands) newPusher(to, tokenFile string) (*pusher, error) {
	if to == "" || tokenFile == "" {
		return nil, errors.New("--to or --token-file is missing")
	}
	address, err := url.Parse(to)
	if err != nil || address.Host == "" || address.Scheme != "https" && address.Scheme != "http" {
		return nil, fmt.Errorf("--to: %q is not an address such as https://crashes.example.com", to)
	}
	if address.Scheme == "http" && !isLoopback(address.Hostname()) {
		return nil, errors.New("--to: the token would cross the network readable; use https")
	}
	token, err := os.ReadFile(tokenFile)
	if err != nil {
		return nil, fmt.Errorf("--token-file: %w", err)
	}
	return &pusher{
		symbolCommands: c, to: address, token: crash.Secret(strings.TrimSpace(string(token))), pause: time.Second,
		client: &http.Client{
			Timeout: pushTimeout,
			// the token is for this host
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}, nil
}

// push uploads files, and what they say about versions of packages.
func (p *pusher) push(ctx context.Context, names []string, trees []debuginfo.SourceTree) error {
	dir, err := os.MkdirTemp("", "mishap-push-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a temporary folder
	folder, err := debuginfo.OpenFolder(dir, 0)
	if err != nil {
		return err
	}
	collected, err := p.collect(ctx, folder, names, trees, func(string, ...any) {})
	if err != nil {
		return err
	}
	entries, err := folder.List()
	if err != nil {
		return err
	}
	var sent, known int
	refused := collected.refused
	for _, e := range entries {
		isNew, err := p.file(ctx, folder, e)
		switch {
		case err == nil && isNew:
			sent++
			p.printf("%s  %-10s  %s", e.ID, e.Kind, onOneLine(e.Origin))
		case err == nil:
			known++
			p.printf("%s  %-10s  %s (known already)", e.ID, e.Kind, onOneLine(e.Origin))
		case crash.KindOf(err) == crash.Unprocessable:
			refused++
			_, _ = fmt.Fprintf(p.err, "%s: refused: %s\n", onOneLine(e.Origin), reason(err))
		default:
			return fmt.Errorf("%s: %w", onOneLine(e.Origin), err)
		}
	}
	p.printf("%d uploaded, %d known already, %d refused.", sent, known, refused)
	if len(collected.facts) > 0 {
		if err := p.learn(ctx, collected.facts); err != nil {
			return fmt.Errorf("the files are uploaded, but the server did not learn which versions of packages they "+
				"belong to: %w",
				err)
		}
	}
	if refused > 0 {
		return errReported
	}
	return nil
}

// file uploads one file. It reports false if the server had it.
func (p *pusher) file(ctx context.Context, folder *debuginfo.Folder, e debuginfo.Entry) (isNew bool, err error) {
	file, _, err := folder.Open(e.ID, e.Kind)
	if err != nil {
		return false, err
	}
	defer file.Close() //nolint:errcheck // only read
	hash := sha256.New()
	if _, err := io.Copy(hash, file); err != nil {
		return false, err
	}
	query := url.Values{"size": {strconv.FormatInt(e.Size, 10)}, "sha256": {hex.EncodeToString(hash.Sum(nil))},
		"origin": {e.Origin}}
	path := []string{string(e.ID), string(e.Kind)}
	var progress debuginfod.Progress
	err = p.retry(ctx, func() (err error) {
		progress, err = p.ask(ctx, http.MethodGet, path, query, nil)
		return err
	})
	for err == nil && !progress.Stored {
		isNew = true
		err = p.retry(ctx, func() (err error) {
			query.Set("offset", strconv.FormatInt(progress.Received, 10))
			part := io.NewSectionReader(file, progress.Received, min(pushPart, e.Size-progress.Received))
			next, err := p.ask(ctx, http.MethodPut, path, query, part)
			if err == nil {
				progress = next
				return nil
			}
			// Part of the part may have arrived, or another build is uploading the same file.
			if now, err := p.ask(ctx, http.MethodGet, path, query, nil); err == nil && now != progress {
				progress = now
				return nil
			}
			return err
		})
	}
	return isNew, err
}

// learn tells the server which builds the versions of packages hold.
func (p *pusher) learn(ctx context.Context, facts []builds.Fact) error {
	for len(facts) > 0 {
		n := min(len(facts), 1000)
		body, err := json.Marshal(facts[:n])
		if err != nil {
			return err
		}
		err = p.retry(ctx, func() error {
			_, err := p.ask(ctx, http.MethodPost, []string{"builds"}, nil, bytes.NewReader(body))
			return err
		})
		if err != nil {
			return err
		}
		facts = facts[n:]
	}
	return nil
}

// retry calls do again while the server is unavailable.
func (p *pusher) retry(ctx context.Context, do func() error) error {
	pause := p.pause
	for n := 1; ; n++ {
		err := do()
		kind := crash.KindOf(err)
		if err == nil || n == pushAttempts || ctx.Err() != nil ||
			kind != crash.Unavailable && kind != crash.TooMany && kind != crash.Conflict {
			return err
		}
		if err := crash.Sleep(ctx, pause); err != nil {
			return err
		}
		pause *= 2
	}
}

// ask sends a request. Its errors have the kinds of the server's answers; Unavailable also stands for
// a server that does not answer.
func (p *pusher) ask(ctx context.Context, method string, path []string, query url.Values, body io.Reader) (
	progress debuginfod.Progress, err error,
) {
	u := p.to.JoinPath(append([]string{"api", "1.0", "symbols"}, path...)...)
	u.RawQuery = query.Encode()
	req, err := http.NewRequestWithContext(ctx, method, u.String(), body)
	if err != nil {
		return progress, err
	}
	if section, ok := body.(*io.SectionReader); ok {
		req.ContentLength = section.Size()
	}
	req.Header.Set("Authorization", "Bearer "+string(p.token))
	resp, err := p.client.Do(req)
	if err != nil {
		return progress, crash.Errorf(crash.Unavailable, "no_answer", "The server does not answer: %s.",
			reasonOfURL(err)).Because(err)
	}
	defer resp.Body.Close() //nolint:errcheck // only read
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return progress, crash.Errorf(crash.Unavailable, "no_answer", "The server's answer was cut short.").Because(err)
	}
	if resp.StatusCode >= http.StatusMultipleChoices {
		return progress, pushError(resp, text)
	}
	if resp.StatusCode == http.StatusNoContent {
		return progress, nil
	}
	if err := json.Unmarshal(text, &progress); err != nil || progress.Received < 0 {
		return progress, errors.New("this is no mishap server: its answer is not what mishap answers")
	}
	return progress, nil
}

// pushError returns the error that a server answered.
func pushError(resp *http.Response, text []byte) error {
	kinds := map[int]crash.Kind{
		http.StatusUnauthorized: crash.Unauthenticated, http.StatusForbidden: crash.Forbidden,
		http.StatusConflict: crash.Conflict, http.StatusUnprocessableEntity: crash.Unprocessable,
		http.StatusTooManyRequests: crash.TooMany,
	}
	kind, ok := kinds[resp.StatusCode]
	switch {
	case ok:
	case resp.StatusCode >= http.StatusInternalServerError:
		kind = crash.Unavailable
	default:
		kind = crash.Refused
	}
	var answer struct {
		Error string `json:"error"`
	}
	if json.Unmarshal(text, &answer) != nil || answer.Error == "" {
		answer.Error = "The server answered " + resp.Status + "."
	}
	return crash.Errorf(kind, "push", "%s", onOneLine(crash.Shorten(answer.Error, 500)))
}

// reasonOfURL returns why a request failed, without its address.
func reasonOfURL(err error) string {
	if inURL, ok := errors.AsType[*url.Error](err); ok {
		err = inURL.Err
	}
	return onOneLine(crash.Shorten(err.Error(), 200))
}
