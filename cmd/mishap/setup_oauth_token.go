package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"

	"github.com/spf13/cobra"

	"mishap/cmd/mishap/config"
	"mishap/crash"
	"mishap/db"
	"mishap/db/filings"
	"mishap/tracker"
)

func (p *program) setupOAuthTokenCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "setup-oauth-token",
		Short: "Connects the bug tracker: obtains an access token and writes it to the configuration",
		Long: `Obtains an access token from the bug tracker, so that bugs can be filed, and writes it to the
configuration file as tracker_oauth_token and tracker_oauth_secret. Comments and order of the file
are kept, and only its owner can read it afterwards. The token is also remembered in the database,
so that other instances on the same database work without one of their own.

The command prints an address. Open it in a browser, signed in to the tracker as the account that
is to file the bugs, and choose what mishap may do; it needs a level that may change public data.
Then come back and press Enter.`,
		Example: `  mishap setup-oauth-token
  ./setup-oauth-token.sh --config /etc/mishap/local_config.toml`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			file := cmd.Flags().Lookup("config").Value.String()
			c, err := config.Load(file, false, p.environ) // a missing file is made
			if err != nil {
				return err
			}
			return p.setupOAuthToken(cmd.Context(), c)
		},
	}
}

func (p *program) setupOAuthToken(ctx context.Context, c config.Config) error {
	log := newLog(p.err, slog.LevelWarn)
	settings := trackerConfig(c, log, nil)
	client := tracker.NewClient(settings, nil) // obtaining a token needs none
	answers := bufio.NewReader(p.in)
	token, err := p.obtainToken(ctx, client, answers)
	if err != nil {
		return err
	}
	p.say("The tracker has given an access token. It is limited to: %s", limits(token.Context))
	written := config.WriteTokens(c.File, crash.Secret(token.Token), token.Secret)
	if written == nil {
		p.say("It is written to %s, which only its owner can read.", c.File)
		p.warnShadowed(&c)
	}
	settings.Token = crash.AccessToken{}
	kept := useStore(ctx, c, log, func(store *db.Store) error {
		return tracker.NewCredentials(settings, filings.New(store)).Remember(ctx, token, "")
	})
	switch {
	case kept != nil && ctx.Err() == nil:
		p.say("The database was not told (%s); a unit that is started with this configuration tells it.", explain(kept))
	case kept == nil:
		p.say("The database remembers it for other units. A server that runs with a token of its own uses the new one after a restart.")
	}
	if written == nil {
		return nil
	}
	p.say("But %s.", written)
	return p.offerLines(ctx, answers, token)
}

func (p *program) say(format string, args ...any) { _, _ = fmt.Fprintf(p.out, format+"\n", args...) }

func limits(context string) string {
	if context == "" || context == "None" {
		return "nothing"
	}
	return context
}

// obtainToken does the three steps: request token, the person's authorisation, access token. While the tracker says that
// nobody has decided yet, or cannot be reached, the person may press Enter again.
func (p *program) obtainToken(ctx context.Context, client *tracker.Client, answers *bufio.Reader) (crash.AccessToken, error) {
	request, err := client.RequestToken(ctx)
	if err != nil {
		return crash.AccessToken{}, err
	}
	p.say("Open this address in a browser and choose what mishap may do:\n\n    %s\n", client.AuthorizeURL(request.Key))
	for {
		p.say("Press Enter when that is done.")
		if _, err := await(ctx, func() (string, error) { return readLine(answers) }); err != nil {
			if errors.Is(err, io.EOF) {
				err = errors.New("the standard input has ended, so the authorisation was not finished; nothing was changed")
			}
			return crash.AccessToken{}, err
		}
		token, err := client.AccessToken(ctx, request)
		if err == nil {
			return token, nil
		}
		known, ok := errors.AsType[*crash.Error](err)
		if !ok || ctx.Err() != nil || tracker.StartOver(err) || known.Kind != crash.Conflict && known.Kind != crash.Unavailable {
			return crash.AccessToken{}, err
		}
		p.say("%s", known.Message)
	}
}

// warnShadowed says which variables keep the written token from being used.
func (p *program) warnShadowed(c *config.Config) {
	for _, key := range []string{"tracker_oauth_token", "tracker_oauth_secret"} {
		if name := c.SetByVariable(key); name != "" {
			p.say("But %s is set and wins over the file; change or remove it.", name)
		}
	}
}

// offerLines shows the lines that belong into the configuration file to a person who asks for them, for they hold the
// secret.
func (p *program) offerLines(ctx context.Context, answers *bufio.Reader, token crash.AccessToken) error {
	_, _ = fmt.Fprint(p.out, "Add two lines to it, tracker_oauth_token and tracker_oauth_secret. Show them here, with the secret? [y/N] ")
	answer, err := await(ctx, func() (string, error) { return readLine(answers) })
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if strings.EqualFold(strings.TrimSpace(answer), "y") {
		p.say("\n%s", config.TokenLines(crash.Secret(token.Token), token.Secret))
		return nil
	}
	p.say("")
	return errors.New("the access token is not in the configuration file")
}
