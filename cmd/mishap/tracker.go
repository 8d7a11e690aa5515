package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"

	"mishap/cmd/mishap/config"
	"mishap/crash"
	"mishap/db"
	"mishap/db/bugs"
	"mishap/tracker"
)

// trackerConfig returns the tracker's part of the configuration. Without a registerer there are no
// metrics.
func trackerConfig(c config.Config, log *slog.Logger, metrics prometheus.Registerer) tracker.Config {
	return tracker.Config{
		URL:         c.TrackerURL,
		APIURL:      c.TrackerAPIURL,
		ConsumerKey: c.TrackerConsumerKey,
		Target:      c.TrackerTarget,
		BaseURL:     c.BaseURL,
		Version:     versionText(),
		Privacy:     c.Privacy(),
		Token:       crash.AccessToken{Token: string(c.TrackerOAuthToken), Secret: c.TrackerOAuthSecret},
		Timeout:     time.Duration(c.TrackerTimeout) * time.Second,
		Settle:      max(time.Duration(c.TrackerSettle)*time.Second, 1), // 0 would stand for the default
		Log:         log,
		Now:         time.Now,
		Registerer:  metrics,
	}
}

func (p *program) setupOAuthTokenCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "setup-oauth-token",
		Short: "Connects the bug tracker: obtains an access token and writes it to the configuration",
		Long: `Obtains an access token from the bug tracker, so that bugs can be filed, and writes it to the
configuration file as tracker_oauth_token and tracker_oauth_secret. Comments and order of the file
stay, and only its owner can read it afterwards. The token is also saved in the database, so that
other instances on the same database can use it.

The command prints an address. Open it in a browser, signed in to the tracker as the account that
is to file the bugs, and choose what mishap may do; it needs a level that may change public data.
Then come back and press Enter.`,
		Example: `  mishap setup-oauth-token
  ./setup-oauth-token.sh --config /etc/mishap/local_config.toml`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			file, _ := configFileOf(cmd)
			c, err := config.Load(file, false, p.environ) // a missing file is created
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
	p.printf("The tracker granted an access token. It is limited to: %s", limits(token.Context))
	written := config.WriteTokens(c.File, crash.Secret(token.Token), token.Secret)
	if written == nil {
		p.printf("It is written to %s, which only its owner can read.", c.File)
		p.warnShadowed(&c)
	}
	settings.Token = crash.AccessToken{}
	saved := p.becomeOwner(c.DataDir) // after root has written the file
	if saved == nil {
		saved = useStore(ctx, c, log, func(store *db.Store) error {
			return tracker.NewCredentials(settings, bugs.New(store)).SaveToken(ctx, token, "")
		})
	}
	switch {
	case saved != nil && ctx.Err() == nil:
		p.printf("The token was not saved in the database (%s); "+
			"an instance with this configuration will save it when it starts.", explain(saved))
	case saved == nil:
		p.printf("It is saved in the database for other instances. " +
			"An instance with a configured token uses the new one after a restart.")
	}
	if written == nil {
		return nil
	}
	p.printf("But %s.", written)
	return p.offerLines(ctx, answers, token)
}

func (p *program) printf(format string, args ...any) { _, _ = fmt.Fprintf(p.out, format+"\n", args...) }

func limits(context string) string {
	if context == "" || context == "None" {
		return "nothing"
	}
	return context
}

// obtainToken gets a request token, lets the person authorise it, and exchanges it for an access
// token. If the exchange came too early or the tracker was unavailable, the person may press Enter
// again.
func (p *program) obtainToken(
	ctx context.Context, client *tracker.Client, answers *bufio.Reader,
) (crash.AccessToken, error) {
	request, err := client.RequestToken(ctx)
	if err != nil {
		return crash.AccessToken{}, err
	}
	p.printf("Open this address in a browser and choose what mishap may do:\n\n    %s\n", client.AuthorizeURL(request.Key))
	for {
		p.printf("Press Enter when that is done.")
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
		if !ok || ctx.Err() != nil || tracker.StartOver(err) ||
			known.Kind != crash.Conflict && known.Kind != crash.Unavailable {
			return crash.AccessToken{}, err
		}
		p.printf("%s", known.Message)
	}
}

// warnShadowed prints the variables that override the written token.
func (p *program) warnShadowed(c *config.Config) {
	for _, key := range []string{"tracker_oauth_token", "tracker_oauth_secret"} {
		if name := c.SetByVariable(key); name != "" {
			p.printf("But %s is set and overrides the file; change or remove it.", name)
		}
	}
}

// offerLines asks whether to print the lines for the configuration file, which contain the secret.
func (p *program) offerLines(ctx context.Context, answers *bufio.Reader, token crash.AccessToken) error {
	_, _ = fmt.Fprint(p.out, "Add two lines to it, tracker_oauth_token and tracker_oauth_secret. "+
		"Show them here, with the secret? [y/N] ")
	answer, err := await(ctx, func() (string, error) { return readLine(answers) })
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if strings.EqualFold(strings.TrimSpace(answer), "y") {
		p.printf("\n%s", config.TokenLines(crash.Secret(token.Token), token.Secret))
		return nil
	}
	p.printf("")
	return errors.New("the access token is not in the configuration file")
}
