package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"

	"mishap/cmd/mishap/config"
	"mishap/crash"
	"mishap/db"
	"mishap/db/bugs"
	"mishap/tracker"
	trackerkinds "mishap/tracker/kinds"
	"mishap/tracker/launchpad"
	"mishap/tracker/watch"
)

// trackerConfig returns the tracker's part of the configuration. Without a registerer there are no
// metrics.
func trackerConfig(c config.Config, log *slog.Logger, metrics prometheus.Registerer) tracker.Config {
	out := tracker.Config{
		Kind:        trackerkinds.Launchpad,
		Title:       c.TrackerName(),
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
	if relay, err := c.Relay(); err == nil && relay != nil { // the configuration has been checked
		host := ""
		if base, err := url.Parse(c.BaseURL); err == nil {
			host = base.Hostname()
		}
		out.Mail = relay.Sender(host, 0)
	}
	return out
}

// trackers returns the trackers of the configuration. The settings and credentials are those of the first one, whose
// address of mishap, log and so on the others share.
func trackers(
	c config.Config, first tracker.Config, creds *tracker.Credentials, store *bugs.Store,
) *tracker.Sites {
	var members []tracker.Member
	if c.HasLaunchpad() {
		members = append(members, tracker.Member{Config: first, Creds: creds})
	}
	for _, settings := range tableConfigs(c, first) {
		members = append(members, tracker.Member{Config: settings, Creds: tracker.NewCredentials(settings, store)})
	}
	return tracker.NewSites(store, members...)
}

// tableConfigs returns the settings of the [[tracker]] tables.
func tableConfigs(c config.Config, first tracker.Config) (all []tracker.Config) {
	for _, t := range c.Trackers {
		settings := first
		settings.Name, settings.Title, settings.Kind = t.Name, t.Name, trackerkinds.Named(t.Kind)
		settings.URL, settings.APIURL = t.URL, cmp.Or(t.APIURL, settings.Kind.API(t.URL))
		settings.ConsumerKey, settings.Target, settings.Variant, settings.Group = t.Name, t.Target, t.Variant, t.Group
		settings.WebhookSecret = t.WebhookSecret
		settings.Upstream, settings.Review = t.Upstream, t.Review
		settings.PerMinute, settings.PerDay = t.PerMinute, t.PerDay
		settings.Token = crash.AccessToken{}
		if t.Token != "" || settings.Kind.Mail {
			settings.Token = crash.AccessToken{Token: cmp.Or(t.Account, t.Name), Secret: t.Token}
		}
		settings.Timeout = time.Duration(t.Timeout) * time.Second
		settings.Settle = time.Duration(t.Settle) * time.Second
		all = append(all, settings)
	}
	return all
}

var errNoLaunchpad = errors.New("nothing to do: tracker_url is \"none\", so there is no Launchpad. The access " +
	"token of another tracker is in its [[tracker]] table or in a variable such as MISHAP_TRACKER_GNOME_TOKEN")

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
			if !c.HasLaunchpad() {
				return errNoLaunchpad
			}
			return p.setupOAuthToken(cmd.Context(), c)
		},
	}
}

func (p *program) setupOAuthToken(ctx context.Context, c config.Config) error {
	log := newLog(p.err, slog.LevelWarn)
	settings := trackerConfig(c, log, nil)
	client := launchpad.New(settings, nil) // obtaining a token needs none
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
	ctx context.Context, client *launchpad.Client, answers *bufio.Reader,
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
		if !ok || ctx.Err() != nil || launchpad.StartOver(err) ||
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

func (p *program) filingsCommand() *cobra.Command {
	filings := &cobra.Command{
		Use:   "filings",
		Short: "Manages the bugs that mishap has filed",
		Long:  `Manages the bugs that mishap has filed. The page /admin/filings lists all filings.`,
	}
	filings.AddCommand(p.reconcileCommand())
	return filings
}

// reconcileFlags are the flags of the command reconcile.
type reconcileFlags struct{ apply, resend bool }

func (p *program) reconcileCommand() *cobra.Command {
	var f reconcileFlags
	cmd := &cobra.Command{
		Use:   "reconcile",
		Short: "Finds bugs of mishap's account without a link to a problem",
		Long: `Lists the bugs that mishap's accounts have filed in the trackers and that are not linked to any
problem, for example after the database was restored from an old backup. A bug belongs to the
problem whose permanent address is in its description. Trackers that number bugs in each project are
searched in the projects in which the database has bugs, and in that of the configuration.

With --apply it links each bug to its problem; without, it changes nothing. It can run any number
of times, also while mishap serves. It finds private bugs only if the access token may see them.

After "mishap restore", mishap files nothing, and sends no comments, mails and webhooks, until this
has run with --apply. It then also searches the accounts with which people file bugs, and lists
everything that waits and what will happen to it:

  - Filings whose bug is in the tracker are linked to it. The others are filed.
  - Comments that the tracker has are not written again.
  - Mails and webhooks that were waiting in the backup were probably sent after it. They are not sent,
    unless --resend is given. Newer ones are sent.
  - The bugs of problems that the restored database lacks are stored: if such a problem returns, it
    gets its bug again.`,
		Example: `  mishap filings reconcile
  mishap filings reconcile --apply`,
		Args: cobra.NoArgs,
		RunE: p.stored(func(ctx context.Context, s session) (string, error) {
			return "", p.reconcile(ctx, s.config, s.store, f)
		}),
	}
	cmd.Flags().BoolVar(&f.apply, "apply", false, "link the bugs to their problems")
	cmd.Flags().BoolVar(&f.resend, "resend", false, "also send the mails and webhooks that waited in a restored backup")
	return cmd
}

func (p *program) reconcile(ctx context.Context, c config.Config, store *db.Store, f reconcileFlags) error {
	settings := trackerConfig(c, newLog(p.err, slog.LevelWarn), nil)
	ledger := bugs.New(store)
	restored, err := ledger.Restored(ctx) // before the search, which may miss later bugs
	if err != nil {
		return err
	}
	var people launchpad.People
	if !restored.At.IsZero() {
		people.Since = restored.BackupTaken
		if people.Accounts, err = bugs.Filers(ctx, store.Handle, settings.Key()); err != nil {
			return err
		}
	}
	creds := tracker.NewCredentials(settings, ledger)
	sites := trackers(c, settings, creds, ledger)
	var strays []tracker.Stray
	if c.HasLaunchpad() {
		strays, err = launchpad.New(settings, creds).StrayBugs(ctx, ledger.KnownBugs, people)
		if err != nil {
			return err
		}
	}
	others, err := sites.Others(ctx)
	if err != nil {
		return err
	}
	since := time.Unix(0, 0)
	if !people.Since.IsZero() {
		since = people.Since.Add(-tracker.SearchMargin)
	}
	for _, site := range others {
		more, err := site.StrayBugs(ctx, since, ledger.KnownBugs)
		if err != nil {
			return err
		}
		strays = append(strays, more...)
	}
	lost, err := p.linkStrays(ctx, store, strays, f.apply)
	if err != nil || restored.At.IsZero() {
		return err
	}
	reader := watch.NewBugReader(settings, ledger, sites, watch.BugOptions{Silent: !c.AllowBugFiling})
	comments, err := reader.PendingComments(ctx)
	if err != nil {
		return err
	}
	if err := p.listHeld(ctx, store.Handle, restored, comments, f.resend); err != nil {
		return err
	}
	if !f.apply {
		p.printf("The database was restored from a backup, and nothing is sent until this has run with --apply.")
		return nil
	}
	if err := ledger.FinishRestore(ctx, restored, lost, f.resend); err != nil {
		return err
	}
	p.printf("The restored database was compared with the tracker: bugs are filed again, and the rest is sent.")
	return nil
}

// linkStrays lists bugs without a link, and links them if apply is set. It returns the bugs whose
// problems are not in the database.
func (p *program) linkStrays(
	ctx context.Context, store *db.Store, strays []tracker.Stray, apply bool,
) (lost map[crash.BucketID]int64, failed error) {
	lost = map[crash.BucketID]int64{}
	if len(strays) == 0 {
		p.printf("Every bug of mishap's account is linked to a problem.")
		return lost, nil
	}
	w := newTable(p.out, "BUG", "PROBLEM", "WHAT", "TITLE")
	linkable := 0
	for _, stray := range strays {
		what, known, err := reconcileOne(ctx, store, stray, apply)
		if err != nil {
			failed, what = errReported, explain(err)
		}
		switch {
		case known:
			linkable++
		case err == nil && stray.Marker != "":
			if first, ok := lost[stray.Bucket]; !ok || stray.Number < first {
				lost[stray.Bucket] = stray.Number
			}
		}
		problem := "-"
		if stray.Marker != "" {
			problem = stray.Bucket.String()
		}
		w.row(crash.BugText(stray.Number), problem, what, stray.Title)
	}
	if err := w.Flush(); err != nil {
		return lost, err
	}
	if !apply && linkable > 0 {
		p.printf("\n%d can be linked; --apply does it.", linkable)
	}
	return lost, failed
}

// maxListed is the number of held items that reconcile lists. It counts the others.
const maxListed = 200

// listHeld lists what waits in a restored database, and what will happen to it.
func (p *program) listHeld(
	ctx context.Context, h *db.Handle, r crash.Restored, comments []watch.PendingComment, resend bool,
) error {
	items, total, err := bugs.Held(ctx, h, r, maxListed)
	if err != nil || total+len(comments) == 0 {
		return err
	}
	w := newTable(p.out, "\nWAITING", "FOR", "SINCE", "WHAT WILL HAPPEN", "ABOUT")
	for _, c := range comments {
		what := "sent"
		if c.Exists {
			what = "not sent: the bug has it"
		}
		w.row("comment", "bug "+crash.BugText(c.Bug), "-", what, fmt.Sprintf("%s %s", c.Kind, c.About))
	}
	for _, item := range items {
		what := "sent: newer than the backup"
		switch {
		case item.Kind == "filing":
			what = "linked if the tracker has its bug, otherwise filed"
		case item.InBackup && resend:
			what = "sent (--resend)"
		case item.InBackup:
			what = "not sent: it was waiting in the backup"
		}
		w.row(item.Kind, item.Recipient, dateTime(item.Since), what, item.About)
	}
	if more := total - len(items); more > 0 {
		w.row(fmt.Sprint(more, " more"))
	}
	w.row()
	return w.Flush()
}

// reconcileOne links a bug to its problem if apply is set. It returns a description of the action,
// and whether the problem is in the database.
func reconcileOne(
	ctx context.Context, store *db.Store, stray tracker.Stray, apply bool,
) (what string, known bool, err error) {
	if stray.Marker == "" {
		return "names no problem", false, nil
	}
	bucket, err := store.Bucket(ctx, stray.Bucket)
	switch {
	case errors.Is(err, crash.NotFound):
		return "its problem is not in the database", false, nil
	case err != nil:
		return "", false, err
	case apply:
		what = "linked"
		bug := crash.Bug{Number: stray.Number, Title: stray.Title, URL: stray.URL, How: crash.Filed}
		err = bugs.New(store).ReconcileBug(ctx, stray.Bucket, bug)
	default:
		what = "can be linked"
	}
	if bucket.Bug.Number != 0 {
		what += ", besides bug " + bucket.Bug.Text()
	}
	return what, true, err
}
