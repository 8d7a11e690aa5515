package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"mishap/crash"
	"mishap/notify/mail"
	"mishap/tracker"
	"mishap/tracker/issuetest"
	"mishap/tracker/kinds"
)

func trackerCommand() *cobra.Command {
	var url, project, tokenFile, account, variant, relay, serve string
	var names []string
	for _, k := range kinds.All {
		names = append(names, k.Name)
	}
	cmd := &cobra.Command{
		Use:   "tracker KIND",
		Short: "Tries a kind of tracker: files a bug, finds it again, comments on it and reads it",
		Long: `Tries whether mishap can work with a tracker. It files a bug that says it is a test, finds it as after a lost
answer, comments on it, reads it, and prints what it sees. The bug stays in the tracker: close it there.

Without --url it tries a practice tracker. With --serve it only serves that, until it is interrupted, for other
clients; the token is "secret-of-mishap", and projects exist as soon as they are named. The kinds are ` +
			strings.Join(names, ", ") + ".",
		Example: `  devtool tracker gitlab
  devtool tracker gitlab --url https://gitlab.example.org --project sandbox/trial --token-file token`,
		Args:      cobra.MatchAll(cobra.ExactArgs(1), cobra.OnlyValidArgs),
		ValidArgs: names,
		RunE: func(cmd *cobra.Command, args []string) error {
			kind := kinds.All[slices.Index(names, args[0])]
			cfg := tracker.Config{
				URL: url, Target: project, BaseURL: "https://mishap.example.org", Version: "trial", Timeout: 30 * time.Second,
				Variant: variant,
			}
			switch {
			case serve != "":
				stop, s, err := practise(cmd.Context(), kind, serve)
				if err != nil {
					return err
				}
				_, _ = fmt.Fprintf(cmd.OutOrStdout(), "%s is at %s, its API at %s.\n", kind.Title, s.URL, kind.API(s.URL))
				if s.Relay != "" {
					_, _ = fmt.Fprintf(cmd.OutOrStdout(), "It takes mail at %s.\n", s.Relay)
				}
				<-cmd.Context().Done()
				stop()
				return nil
			case url == "" && (project != "" || tokenFile != ""):
				return errors.New("--project and --token-file need --url")
			case url == "":
				stop, s, err := practise(cmd.Context(), kind, "127.0.0.1:0")
				if err != nil {
					return err
				}
				defer stop()
				cfg.URL, cfg.Target, cfg.Mail = s.URL, "sandbox/trial", s.Mailer()
				cfg.Token = crash.AccessToken{Token: "mishap@example.org", Secret: "secret-of-mishap"}
			case relay != "":
				r, err := mail.ParseRelay(relay, "opportunistic")
				if err != nil {
					return fmt.Errorf("--relay: %w", err)
				}
				cfg.Mail, cfg.Token = r.Sender("localhost", 0), crash.AccessToken{Token: account, Secret: "unused"}
			default:
				secret, err := os.ReadFile(tokenFile)
				if err != nil {
					return fmt.Errorf("--token-file: %w", err)
				}
				cfg.Token = crash.AccessToken{Token: account, Secret: crash.Secret(strings.TrimSpace(string(secret)))}
			}
			cfg.APIURL = kind.API(strings.TrimRight(cfg.URL, "/"))
			return tryTracker(cmd.Context(), cmd.OutOrStdout(), kind, cfg)
		},
	}
	cmd.Flags().StringVar(&url, "url", "", "the `address` of the tracker's pages")
	cmd.Flags().StringVar(&project, "project", "", "the `name` of a project for tests, such as group/project")
	cmd.Flags().StringVar(&tokenFile, "token-file", "", "a `file` with the access token")
	cmd.Flags().StringVar(&account, "account", "trial", "the `login` of the token, which Bugzilla 5.0 and 5.2 ask for")
	cmd.Flags().StringVar(&variant, "variant", "", "the API's `variant`: header (Bugzilla 5.1 and 5.3) or redhat")
	cmd.Flags().StringVar(&relay, "relay", "", "the `address` of a relay, such as smtp://localhost, for trackers that "+
		"get mail; --account is the sender")
	cmd.Flags().StringVar(&serve, "serve", "", "an `address` of this machine to serve a practice tracker at")
	return cmd
}

// practise starts a practice tracker at an address of this machine, such as 127.0.0.1:8090.
func practise(ctx context.Context, kind *tracker.Kind, listen string) (func(), *issuetest.Server, error) {
	s := issuetest.NewServer(issuetest.Kinds[kind.Name](), nil)
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", listen)
	if err != nil {
		return nil, nil, err
	}
	stop, err := s.ServeMail(ctx)
	if err != nil {
		_ = l.Close()
		return nil, nil, err
	}
	end := serveTracker(s, l)
	return func() { end(); stop() }, s, nil
}

// serveTracker serves a practice tracker, and sets its URL.
func serveTracker(s *issuetest.Server, l net.Listener) (stop func()) {
	s.URL = "http://" + l.Addr().String()
	hs := &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = hs.Serve(l) // returns after Close
	}()
	return func() { _ = hs.Close(); <-ended }
}

// tryTracker files a bug and does everything with it that mishap does with bugs.
func tryTracker(ctx context.Context, out io.Writer, kind *tracker.Kind, cfg tracker.Config) error {
	t := kind.New(cfg, tracker.NewCredentials(cfg, &issuetest.Memory{}))
	say := func(format string, args ...any) { _, _ = fmt.Fprintf(out, format+"\n", args...) }
	account, err := tracker.Check(ctx, t)
	if err != nil {
		return err
	}
	say("The access token is that of %s.", account)
	id := crash.BucketIDOf("trial " + rand.Text())
	in := crash.Intent{
		Bucket: id, Target: cfg.Target, Title: "Trial of mishap: please ignore this bug", Marker: cfg.BaseURL + id.Path(),
	}
	in.Description = "This bug is a test. Please close it.\n\n" + in.Marker + "\n"
	began := time.Now()
	number, err := t.Create(ctx, in, tracker.MaxSending)
	byMail := cfg.Mail != nil && outcome(err) == tracker.OutcomeUnknown
	if err != nil && !byMail {
		return fmt.Errorf("the bug was not created: %w", err)
	}
	if !byMail {
		say("Created bug %d: %s", number, t.BugURL(number))
	}
	for found := int64(0); found == 0 || found != number; {
		if found, err = t.FindBug(ctx, in, began, nil); err != nil && (!byMail || outcome(err) != tracker.OutcomeUnknown) {
			return fmt.Errorf("the bug could not be searched for: %w", err)
		}
		if byMail && number == 0 {
			number = found
		}
		switch {
		case found == number && found != 0:
		case found != 0:
			return fmt.Errorf("the search found bug %d instead of bug %d", found, number)
		case time.Since(began) > kind.Settle:
			return fmt.Errorf("the search did not find the bug within %v", kind.Settle)
		default: // its lists lag
			if err := crash.Sleep(ctx, 5*time.Second); err != nil {
				return err
			}
		}
	}
	if byMail {
		say("Created bug %d by mail: %s", number, t.BugURL(number))
	}
	say("Found it again by its contents after %v.", time.Since(began).Round(time.Second))
	const text = "This comment is a test, too."
	if err := t.Comment(ctx, number, text); err != nil {
		return fmt.Errorf("the comment was not added: %w", err)
	}
	for has := false; !has; {
		has, err = t.HasComment(ctx, number, func(s string) bool { return strings.TrimSpace(s) == text })
		switch {
		case err != nil:
			return fmt.Errorf("the comments could not be read: %w", err)
		case has:
		case !byMail || time.Since(began) > 2*kind.Settle:
			return errors.New("the comment was added, but the comments do not have it")
		default:
			if err := crash.Sleep(ctx, 5*time.Second); err != nil {
				return err
			}
		}
	}
	say("Added a comment, and found it again.")
	changed, err := t.Changed(ctx, began.Add(-time.Minute))
	if err != nil {
		return fmt.Errorf("the changed bugs could not be listed: %w", err)
	}
	say("Bugs changed since: %v.", changed)
	state, err := t.ReadState(ctx, number)
	if err != nil {
		return fmt.Errorf("the bug could not be read: %w", err)
	}
	for _, task := range state.Tasks {
		say("It is %q for %s, assigned to %q; closed: %v.", task.Status, task.Name, task.Assignee, task.Complete)
	}
	return nil
}

// outcome returns the outcome of a call, or "" if err is something else.
func outcome(err error) tracker.Outcome {
	if e, ok := errors.AsType[*tracker.CallError](err); ok {
		return e.Outcome
	}
	return ""
}
