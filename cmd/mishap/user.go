package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"mishap/crash"
	"mishap/db/bugs"
	"mishap/db/people"
	"mishap/tracker"
	"mishap/tracker/launchpad"
	adminview "mishap/views/admin"
	"mishap/views/layout"
)

// noRole stands for no role on the command line.
const noRole = "none"

func (p *program) userCommand() *cobra.Command {
	user := &cobra.Command{
		Use:   "user",
		Short: "Manages the accounts of people",
		Long: `Manages the accounts with which people sign in on the web pages. Roles build on each other: a
viewer sees reports and stack traces, a triager also files and links bugs, an admin also
connects the bug tracker and sees /admin.`,
	}
	user.AddCommand(p.userAddCommand(), p.userPasswordCommand(), p.userTeamCommand(), &cobra.Command{
		Use:   "list",
		Short: "Lists the accounts",
		Long: `Lists all accounts by name with their role, including disabled ones. APP says whether signing in with the
password needs a code of an authenticator app, TEAM who owns a service account. Times are UTC.`,
		Example: "  mishap user list",
		Args:    cobra.NoArgs,
		RunE:    p.stored(p.listUsers),
	}, &cobra.Command{
		Use:   "disable NAME",
		Short: "Disables an account",
		Long: `Disables an account: the person can no longer sign in, is signed out everywhere at once, and their API
tokens stop working.`,
		Example: "  mishap user disable ada",
		Args:    cobra.ExactArgs(1),
		RunE: p.userChange(func(ctx context.Context, s session, u crash.User) (string, error) {
			return u.Name + " can no longer sign in.", s.people.Disable(ctx, "", u.Name)
		}),
	}, &cobra.Command{
		Use:   "enable NAME",
		Short: "Enables an account that was disabled",
		Long: `Enables an account that was disabled: the person can sign in again with the password and role from
before, and their API tokens work again.`,
		Example: "  mishap user enable ada",
		Args:    cobra.ExactArgs(1),
		RunE: p.userChange(func(ctx context.Context, s session, u crash.User) (string, error) {
			return fmt.Sprintf("%s can sign in again, with role %s.", u.Name, u.Role), s.people.Enable(ctx, "", u.Name)
		}),
	}, &cobra.Command{
		Use:   "remove NAME",
		Short: "Removes an account",
		Long: `Removes an account with its sessions, its API tokens, and the list of what the person follows. The
person's decisions stay under this name: bugs created, problems merged, notes, the ledger of filings.

A later account with the same name counts as the same person. To prevent that, disable the account
instead.`,
		Example: "  mishap user remove ada",
		Args:    cobra.ExactArgs(1),
		RunE: p.userChange(func(ctx context.Context, s session, u crash.User) (string, error) {
			message := fmt.Sprintf("The account of %s is removed. Decisions by %s stay under this name.", u.Name, u.Name)
			return message, s.people.Remove(ctx, "", u.Name)
		}),
	}, &cobra.Command{
		Use:   "role NAME viewer|triager|admin|none",
		Short: "Changes the role of an account",
		Long: `Changes the role that an account is given by hand. It applies from the next request, also to the
person's API tokens. The person keeps higher roles from groups (see "mishap access").`,
		Example: "  mishap user role ada triager",
		Args:    cobra.ExactArgs(2),
		PreRunE: func(_ *cobra.Command, args []string) error {
			if args[1] == noRole {
				return nil
			}
			_, err := crash.ParseRole(args[1])
			return err
		},
		RunE: p.userChange(setRole),
	}, &cobra.Command{
		Use:   "totp-reset NAME",
		Short: "Removes the authenticator app of an account",
		Long: `Removes the authenticator app and the recovery codes of an account, for a person who has lost both. The
person is signed out everywhere and told in the inbox and by mail, can then sign in with the password alone, and
set up an app again, which require_totp may demand. First make sure who asks.`,
		Example: "  mishap user totp-reset ada",
		Args:    cobra.ExactArgs(1),
		RunE: p.stored(func(ctx context.Context, s session) (string, error) {
			return s.args[0] + " can sign in without a code.", s.people.ResetSecondFactor(ctx, "", s.args[0])
		}),
	}, &cobra.Command{
		Use:   "tracker-name NAME [TRACKER-NAME]",
		Short: "Sets the name of a person at the tracker",
		Long: `Sets the name of a person's account at the bug tracker, after checking that it exists. The tracker
then subscribes the person to the bugs that they create. Without TRACKER-NAME the name is removed.
People can set it themselves at /account.`,
		Example: `  mishap user tracker-name ada ada-lovelace
  mishap user tracker-name ada`,
		Args: cobra.RangeArgs(1, 2),
		RunE: p.stored(p.setTrackerName),
	})
	return user
}

func (p *program) userAddCommand() *cobra.Command {
	var role, team string
	var wanted crash.Role
	var owner crash.Team
	var fromStdin, service bool
	cmd := &cobra.Command{
		Use:   "add NAME --role viewer|triager|admin [--service --team SOURCE:GROUP]",
		Short: "Creates an account",
		Long: `Creates an account. It asks twice for the password, without showing it; with --password-stdin it
is the first line of the standard input.

With --service it creates a service account, which belongs to a team instead of a person: a group of
launchpad, oidc or proxy. Nobody can sign in to it. "mishap token create" gives it API tokens, which the
people of the team can see, renew and revoke.`,
		Example: `  mishap user add ada --role triager
  mishap user add phasing-bot --role viewer --service --team launchpad:ubuntu-sru
  pass show mishap/ada | mishap user add ada --role triager --password-stdin`,
		Args: cobra.ExactArgs(1),
		PreRunE: func(*cobra.Command, []string) (err error) {
			if role == "" {
				return errors.New("--role is missing: viewer, triager or admin")
			}
			if wanted, err = crash.ParseRole(role); err != nil || !service && team == "" {
				return err
			}
			if !service || team == "" {
				return errors.New("--service and --team belong together")
			}
			owner, err = crash.ParseTeam(team)
			return err
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if service {
				return p.stored(func(ctx context.Context, s session) (string, error) {
					u, err := s.people.AddService(ctx, "", args[0], wanted, owner)
					return fmt.Sprintf("%s is a service account of %s now, with role %s. \"mishap token create %s\" creates a token.",
						u.Name, layout.TeamName(owner), u.Role, u.Name), err
				})(cmd, args)
			}
			return p.withPassword(fromStdin, func(ctx context.Context, s session, password string) (string, error) {
				return addUser(ctx, s, wanted, password)
			})(cmd, args)
		},
	}
	cmd.Flags().StringVar(&role, "role", "", "role of the person: viewer, triager or admin")
	cmd.Flags().BoolVar(&fromStdin, "password-stdin", false, "read the password from the standard input")
	cmd.Flags().BoolVar(&service, "service", false, "create a service account, to which nobody can sign in")
	cmd.Flags().StringVar(&team, "team", "", "group that owns the service account, such as oidc:crash-team")
	return cmd
}

func addUser(ctx context.Context, s session, role crash.Role, password string) (string, error) {
	removed, err := s.people.Removed(ctx, s.args[0])
	if err != nil {
		return "", err
	}
	u, err := s.people.Add(ctx, "", s.args[0], role, password)
	message := fmt.Sprintf("%s can sign in now, with role %s.", u.Name, u.Role)
	if !removed.IsZero() {
		message += fmt.Sprintf("\nAn account of this name was removed at %s (UTC). Its decisions count as those of %s.",
			dateTime(removed), u.Name)
	}
	return message, err
}

func (p *program) userTeamCommand() *cobra.Command {
	var team crash.Team
	return &cobra.Command{
		Use:     "team NAME SOURCE:GROUP",
		Short:   "Gives a service account to another team",
		Long:    "Gives a service account to another team. Its tokens go on working.",
		Example: "  mishap user team phasing-bot oidc:release-team",
		Args:    cobra.ExactArgs(2),
		PreRunE: func(_ *cobra.Command, args []string) (err error) {
			team, err = crash.ParseTeam(args[1])
			return err
		},
		RunE: p.stored(func(ctx context.Context, s session) (string, error) {
			return adminview.ServiceTeamSet(s.args[0], team), s.people.SetTeam(ctx, "", s.args[0], team)
		}),
	}
}

func (p *program) listUsers(ctx context.Context, s session) (string, error) {
	users, err := s.people.Accounts(ctx)
	if err != nil {
		return "", err
	}
	apps, err := s.people.SecondFactors(ctx)
	if err != nil {
		return "", err
	}
	w := newTable(p.out, "NAME", "ROLE", "STATE", "APP", "CREATED", "LAST SIGN-IN", "TEAM")
	for _, u := range users {
		state, app := "active", "no"
		if u.Disabled {
			state = "disabled"
		}
		if _, on := apps[u.ID]; on {
			app = "yes"
		}
		w.row(u.Name, layout.RoleName(u.Role), state, app, dateTime(u.Created), timeOrNever(u.LastLogin), u.Team)
	}
	return "", w.Flush()
}

func (p *program) userPasswordCommand() *cobra.Command {
	var fromStdin bool
	cmd := &cobra.Command{
		Use:   "password NAME",
		Short: "Sets a new password",
		Long: `Sets a new password for an account and signs the person out everywhere. It asks twice for the
password, without showing it; with --password-stdin it reads the first line of the standard input.`,
		Example: "  mishap user password ada",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.withPassword(fromStdin, func(ctx context.Context, s session, password string) (string, error) {
				u, err := s.people.ByName(ctx, args[0])
				if err != nil {
					return "", err
				}
				message := fmt.Sprintf("The password of %s is changed.%s", u.Name, ifDisabled(u))
				return message, s.people.SetPassword(ctx, "", u.Name, password)
			})(cmd, args)
		},
	}
	cmd.Flags().BoolVar(&fromStdin, "password-stdin", false, "read the password from the standard input")
	return cmd
}

// withPassword is like stored, with a password that it asks for first.
func (p *program) withPassword(
	fromStdin bool, do func(ctx context.Context, s session, password string) (message string, err error),
) action {
	return func(cmd *cobra.Command, args []string) error {
		password, err := p.newPassword(cmd.Context(), fromStdin)
		if err != nil {
			return err
		}
		return p.stored(func(ctx context.Context, s session) (string, error) { return do(ctx, s, password) })(cmd, args)
	}
}

func (p *program) setTrackerName(ctx context.Context, s session) (string, error) {
	name := s.args[0]
	if len(s.args) == 1 {
		return name + " is not subscribed to bugs any more.", s.people.SetTrackerName(ctx, "", name, "")
	}
	if !s.config.HasLaunchpad() {
		return "", errNoLaunchpad
	}
	settings := trackerConfig(s.config, newLog(p.err, slog.LevelWarn), nil)
	client := launchpad.New(settings, tracker.NewCredentials(settings, bugs.New(s.store)))
	found, err := client.Account(ctx, s.args[1])
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s is %s at the tracker.", name, found), s.people.SetTrackerName(ctx, "", name, found)
}

func setRole(ctx context.Context, s session, u crash.User) (string, error) {
	role, _ := crash.ParseRole(s.args[1]) // "none" is no role
	if err := s.people.SetRole(ctx, "", u.Name, role); err != nil {
		return "", err
	}
	now, err := s.people.ByName(ctx, u.Name)
	if err != nil {
		return "", err
	}
	message := fmt.Sprintf("The role of %s is %s now; it was %s.", u.Name, layout.RoleName(now.Role),
		layout.RoleName(u.Role))
	if now.Role != role {
		message += " It comes from a group."
	}
	return message + ifDisabled(u), nil
}

// userChange returns the action of a command that changes one account and prints the message that change
// returns. It warns if no admin can sign in afterwards.
func (p *program) userChange(
	change func(context.Context, session, crash.User) (message string, err error),
) action {
	return p.stored(func(ctx context.Context, s session) (string, error) {
		u, err := s.people.ByName(ctx, s.args[0])
		if err != nil {
			return "", err
		}
		message, err := change(ctx, s, u)
		if err != nil {
			return "", err
		}
		p.printf("%s", message)
		return "", warnWithoutAdmin(ctx, p.err, s.people)
	})
}

func warnWithoutAdmin(ctx context.Context, w io.Writer, accounts *people.Store) error {
	users, err := accounts.Accounts(ctx)
	if err != nil {
		return err
	}
	for _, u := range users {
		if u.Role == crash.RoleAdmin && !u.Disabled && !u.Service() {
			return nil
		}
	}
	_, err = fmt.Fprintln(w, "mishap: warning: no admin can sign in now. "+
		`"mishap user add NAME --role admin" or "mishap user role NAME admin" makes someone an admin.`)
	return err
}

// ifDisabled returns a sentence for a disabled account, or an empty string.
func ifDisabled(u crash.User) string {
	if !u.Disabled {
		return ""
	}
	return fmt.Sprintf(" The account is disabled: %s cannot sign in before \"mishap user enable %s\".", u.Name, u.Name)
}

// longestLine bounds one line of the standard input, in bytes.
const longestLine = 64 << 10

// newPassword reads a new password from the standard input, or twice from the terminal without
// showing it.
func (p *program) newPassword(ctx context.Context, fromStdin bool) (string, error) {
	if fromStdin {
		line, err := readLine(bufio.NewReader(io.LimitReader(p.in, longestLine)))
		if errors.Is(err, io.EOF) {
			return "", errors.New("--password-stdin: the standard input contains no password")
		}
		return line, err
	}
	terminal, ok := p.in.(*os.File)
	if !ok || !isTerminal(terminal) {
		return "", usageError{errors.New("no terminal to ask for the password; give it with --password-stdin")}
	}
	first, err := p.askHidden(ctx, terminal, "New password: ")
	if err != nil {
		return "", err
	}
	second, err := p.askHidden(ctx, terminal, "The same again: ")
	if err != nil {
		return "", err
	}
	if first != second {
		return "", errors.New("the two passwords differ; nothing was changed")
	}
	return first, nil
}

// askHidden asks at the terminal and hides the answer.
func (p *program) askHidden(ctx context.Context, terminal *os.File, question string) (string, error) {
	fd := int(terminal.Fd())
	before, err := term.GetState(fd)
	if err != nil {
		return "", fmt.Errorf("read the password: %w", err)
	}
	_, _ = fmt.Fprint(p.err, question)
	answer, err := await(ctx, func() (string, error) {
		text, err := term.ReadPassword(fd)
		return string(text), err
	})
	_, _ = fmt.Fprintln(p.err)
	if err != nil {
		_ = term.Restore(fd, before) // otherwise an interrupt would leave the input hidden
		return "", fmt.Errorf("read the password: %w", err)
	}
	return answer, nil
}

// await waits for an answer from the terminal, or until ctx ends. A read from a terminal cannot be
// cancelled; after the end of ctx it ends with the process.
func await(ctx context.Context, read func() (string, error)) (string, error) {
	type result struct {
		text string
		err  error
	}
	answered := make(chan result, 1)
	go func() {
		text, err := read()
		answered <- result{text, err}
	}()
	select {
	case r := <-answered:
		return r.text, r.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// readLine reads one line, without its line break. It returns io.EOF if there is none.
func readLine(r *bufio.Reader) (string, error) {
	line, err := r.ReadString('\n')
	if line == "" && err != nil {
		return "", err
	}
	return strings.TrimRight(line, "\r\n"), nil
}

func (p *program) accessCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "access",
		Short: "Manages the rights that groups and accounts have",
		Long: `Manages which groups give which role to people who sign in at another site or through a proxy, and
which rights single accounts have. A person has the highest of the roles that "mishap user role" and
their groups give. Groups are those of the last sign-in. SOURCE is launchpad (teams), oidc or proxy, or
account for one account by its name; docs/sign-in.md explains them.

The roles triager and private can be limited to some source packages: to a package or a pattern such as
linux-* (--packages), to a package set (--set), or to the packages to whose bugs a person or team is
subscribed in the tracker (--team). private is the right to read private data of reports: environment,
command lines, logs, machines and, for triagers, core dumps, and to see embargoed problems. Rights that come
from an upgrade do not show embargoed problems; granting private again adds that.`,
	}
	cmd.AddCommand(p.accessGrantCommand(), p.accessRevokeCommand(), &cobra.Command{
		Use:   "list",
		Short: "Lists the rights of groups and accounts, and why people have them",
		Long: "Lists the rights of groups and accounts, then all people with their role and the reasons for it and " +
			"for other rights. Times are UTC.",
		Example: "  mishap access list",
		Args:    cobra.NoArgs,
		RunE:    p.stored(p.listAccess),
	})
	return cmd
}

func (p *program) listAccess(ctx context.Context, s session) (string, error) {
	grants, err := s.people.Grants(ctx)
	if err != nil {
		return "", err
	}
	identities, err := s.people.Identities(ctx, 0)
	if err != nil {
		return "", err
	}
	users, err := s.people.Accounts(ctx)
	if err != nil {
		return "", err
	}
	w := newTable(p.out, "SOURCE", "GROUP", "ROLE", "PACKAGES", "ADDED", "BY")
	for _, g := range grants {
		role := string(g.Role)
		if g.Unconfirmed {
			role += " (without embargoed problems)"
		}
		w.row(g.Source, g.Group, role, layout.ScopeName(g.Scope), dateTime(g.Created), g.By)
	}
	w.row("\nNAME", "ROLE", "WHY")
	for _, one := range crash.AccessOf(users, identities, grants, s.store.Rights.Everyone) {
		var why []string
		for _, r := range one.Reasons {
			why = append(why, layout.WhyRole(r))
		}
		w.row(one.User.Name, layout.RoleName(one.User.Role), strings.Join(why, "; "))
	}
	return "", w.Flush()
}

// scopeFlags are the flags that limit a right to some packages.
type scopeFlags struct{ packages, set, team string }

func (f *scopeFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.packages, "packages", "", "only this source `PACKAGE`, or those that match a pattern")
	cmd.Flags().StringVar(&f.set, "set", "", "only the packages of the package set `NAME`")
	cmd.Flags().StringVar(&f.team, "team", "", "only the packages of the team `NAME` in the tracker")
	cmd.MarkFlagsMutuallyExclusive("packages", "set", "team")
}

func (f *scopeFlags) scope() crash.GrantScope {
	switch {
	case f.packages != "":
		return crash.GrantScope{Kind: crash.GrantPackage, Name: f.packages}
	case f.set != "":
		return crash.GrantScope{Kind: crash.GrantSet, Name: f.set}
	case f.team != "":
		return crash.GrantScope{Kind: crash.GrantTeam, Name: f.team}
	}
	return crash.GrantScope{Kind: crash.GrantAll}
}

func (p *program) accessGrantCommand() *cobra.Command {
	var flags scopeFlags
	var g crash.Grant
	cmd := &cobra.Command{
		Use:   "grant SOURCE GROUP viewer|triager|admin|private",
		Short: "Gives a right to the members of a group, or to an account",
		Long: `Gives a role, or the right to private data, to the members of a group or to an account, instead of the
role that it had for the same packages. It takes effect at once for people who were in the group when
they last signed in. The packages of sets and teams come from the tracker within a minute, and follow it.`,
		Example: `  mishap access grant launchpad ubuntu-bugcontrol triager
  mishap access grant oidc kernel-team triager --packages 'linux-*'
  mishap access grant account kim private --team desktop-packages`,
		Args: cobra.ExactArgs(3),
		PreRunE: func(_ *cobra.Command, args []string) error {
			g = crash.Grant{Source: crash.Source(args[0]), Group: args[1], Role: crash.Role(args[2]), Scope: flags.scope()}
			return g.Check()
		},
		RunE: p.stored(func(ctx context.Context, s session) (string, error) {
			return adminview.Granted(g), s.people.Grant(ctx, "", g)
		}),
	}
	flags.add(cmd)
	return cmd
}

func (p *program) accessRevokeCommand() *cobra.Command {
	var flags scopeFlags
	var g crash.Grant
	cmd := &cobra.Command{
		Use:   "revoke SOURCE GROUP [private]",
		Short: "Takes a right of a group or an account away",
		Long: `Takes away at once the role that a group or an account has for all packages or, with a flag, for those
packages; with private, the right to private data instead. Roles from other groups remain.`,
		Example: `  mishap access revoke launchpad ubuntu-bugcontrol
  mishap access revoke account kim private --team desktop-packages`,
		Args: cobra.RangeArgs(2, 3),
		PreRunE: func(_ *cobra.Command, args []string) error {
			g = crash.Grant{Source: crash.Source(args[0]), Group: args[1], Scope: flags.scope()}
			if _, err := crash.ParseSource(args[0]); err != nil && g.Source != crash.SourceAccount {
				return err
			}
			if len(args) == 3 {
				if g.Role = crash.Role(args[2]); g.Role != crash.RolePrivate {
					return fmt.Errorf("%q cannot be taken away by name; leave it out, or use private", args[2])
				}
			}
			return g.Scope.Check()
		},
		RunE: p.stored(func(ctx context.Context, s session) (string, error) {
			if err := s.people.RevokeGrant(ctx, "", g); err != nil {
				return "", err
			}
			p.printf("%s", adminview.Revoked(g))
			return "", warnWithoutAdmin(ctx, p.err, s.people)
		}),
	}
	flags.add(cmd)
	return cmd
}

func tokenCommand(p *program) *cobra.Command {
	token := &cobra.Command{
		Use:   "token",
		Short: "Manages the API tokens with which scripts sign in",
		Long: `Manages the API tokens with which scripts sign in, without a browser. A token belongs to an account,
has scopes and an expiry date, and never more rights than its account. People create their own at
/account.`,
	}
	token.AddCommand(tokenCreateCommand(p), tokenListCommand(p), tokenRevokeCommand(p))
	return token
}

func tokenCreateCommand(p *program) *cobra.Command {
	var name string
	var words []string
	var scopes []crash.Scope
	var days int
	cmd := &cobra.Command{
		Use:   "create PERSON --name NAME",
		Short: "Creates a token and prints it, once",
		Long: `Creates a token for the account of a person and prints only the token to the standard output, so that
it can be redirected to a file. It cannot be shown again, since only its hash is stored. Its details
go to the standard error.

Scopes: read (reports and traces), read-private (private data, core dumps, histories of machines), triage
(status, assignee and tags), file (create bugs), assist (notes and, for triagers, assignees and proposed bugs, by
MCP), admin (what administrators read, and erasing machines). triage and file are for triagers and admins, admin
is for admins.`,
		Example: `  mishap token create ada --name "phased updates" --scope read --days 365
  mishap token create bot --name triage --scope read,file > token`,
		Args: cobra.ExactArgs(1),
		PreRunE: func(*cobra.Command, []string) error {
			if name == "" {
				return errors.New("--name is missing: the purpose of the token")
			}
			for _, word := range words {
				scope, err := crash.ParseScope(strings.TrimSpace(word))
				if err != nil {
					return err
				}
				scopes = append(scopes, scope)
			}
			return nil
		},
		RunE: p.stored(func(ctx context.Context, s session) (string, error) {
			u, err := s.people.ByName(ctx, s.args[0])
			if err != nil {
				return "", err
			}
			secret, token, err := s.people.AddToken(ctx, "", u, name, scopes,
				time.Now().Add(time.Duration(days)*24*time.Hour))
			if err != nil {
				return "", err
			}
			_, _ = fmt.Fprintf(p.err, "Token %d of %s, for %s, until %s (UTC). It is not shown again.\n",
				token.ID, u.Name, scopeWords(token), token.Expires.Format(time.DateTime))
			return secret, nil
		}),
	}
	cmd.Flags().StringVar(&name, "name", "", "the purpose of the token")
	cmd.Flags().StringSliceVar(&words, "scope", []string{string(crash.ScopeRead)},
		"the scopes of the token: read, read-private, triage, file, assist, admin")
	cmd.Flags().IntVar(&days, "days", 90, "days until it expires, at most five years")
	return cmd
}

func tokenListCommand(p *program) *cobra.Command {
	var filter crash.TokenFilter
	var all bool
	var state, scope string
	cmd := &cobra.Command{
		Use:   "list [PERSON]",
		Short: "Lists tokens",
		Long: `Lists the tokens of all people and service accounts, or of one account, including expired but not
revoked ones; with --all, revoked ones, too. It prints the last characters of each, never the whole token.
Times are UTC; the last use is to the minute. Unused means: for 90 days. The page /admin/tokens shows the same.`,
		Example: `  mishap token list
  mishap token list ada
  mishap token list --state unused`,
		Args: cobra.MaximumNArgs(1),
		PreRunE: func(*cobra.Command, []string) (err error) {
			if filter.State, err = crash.ParseTokenState(state); err == nil && scope != "" {
				filter.Scope, err = crash.ParseScope(scope)
			}
			if err == nil && all && state != "" {
				err = errors.New("--all and --state exclude each other")
			}
			if all {
				filter.State = crash.TokensAll
			}
			return err
		},
		RunE: p.stored(func(ctx context.Context, s session) (string, error) {
			if len(s.args) == 1 {
				u, err := s.people.ByName(ctx, s.args[0])
				if err != nil {
					return "", err
				}
				filter.Person = u.Name
			}
			found, err := s.people.AllTokens(ctx, filter)
			if err != nil {
				return "", err
			}
			return "", p.printTokens(found, time.Now())
		}),
	}
	cmd.Flags().BoolVar(&all, "all", false, "list revoked tokens, too")
	cmd.Flags().StringVar(&state, "state", "", "only tokens that are valid, soon (expire within a week), expired, "+
		"unused or "+
		"revoked")
	cmd.Flags().StringVar(&scope, "scope", "", "only tokens with this scope")
	cmd.Flags().StringVar(&filter.Text, "text", "", "only tokens whose account, team or name contains this")
	return cmd
}

func (p *program) printTokens(tokens []crash.PersonToken, now time.Time) error {
	w := newTable(p.out, "ID", "ACCOUNT", "TEAM", "NAME", "TOKEN", "SCOPES", "CREATED", "EXPIRES", "LAST USED", "FROM")
	for _, t := range tokens {
		ends := dateTime(t.Expires)
		switch {
		case !t.Revoked.IsZero():
			ends = "revoked " + dateTime(t.Revoked)
		case t.Expired(now):
			ends = "expired " + ends
		case t.ExpiresSoon(now):
			ends += " (soon)"
		}
		person := t.Person
		if t.Disabled {
			person += " (disabled)"
		}
		w.row(t.ID, person, t.Team, onOneLine(t.Name), t.Label(), scopeWords(t.APIToken), dateTime(t.Created), ends,
			timeOrNever(t.LastUsed), t.LastAddress)
	}
	return w.Flush()
}

func scopeWords(t crash.APIToken) string {
	var words []string
	for _, scope := range crash.Scopes {
		if t.Allows(scope) {
			words = append(words, string(scope))
		}
	}
	return strings.Join(words, ",")
}

func tokenRevokeCommand(p *program) *cobra.Command {
	var expired, unused bool
	var id int64
	cmd := &cobra.Command{
		Use:   "revoke ID | --expired | --unused",
		Short: "Revokes a token, or all that are expired or unused",
		Long: `Revokes a token of any account by its number in the list, or all tokens that are expired, or that were
not used for 90 days. They stop working at once.`,
		Example: `  mishap token revoke 12
  mishap token revoke --unused`,
		Args: cobra.MaximumNArgs(1),
		PreRunE: func(_ *cobra.Command, args []string) (err error) {
			switch {
			case len(args) == 0 && expired != unused:
			case len(args) == 0 || expired || unused:
				err = errors.New("give the number of a token, --expired or --unused")
			default:
				if id, err = strconv.ParseInt(args[0], 10, 64); err != nil || id < 1 {
					err = fmt.Errorf("%q is not the number of a token; mishap token list shows them", args[0])
				}
			}
			return err
		},
		RunE: p.stored(func(ctx context.Context, s session) (string, error) {
			if id != 0 {
				person, err := s.people.RevokeTokenOf(ctx, "", 0, id)
				return fmt.Sprintf("Token %d of %s is revoked.", id, person), err
			}
			state := crash.TokensUnused
			if expired {
				state = crash.TokensExpired
			}
			n, err := s.people.RevokeTokens(ctx, "", state)
			return adminview.TokensRevoked(n), err
		}),
	}
	cmd.Flags().BoolVar(&expired, "expired", false, "revoke all expired tokens")
	cmd.Flags().BoolVar(&unused, "unused", false, "revoke all tokens that were not used for 90 days")
	return cmd
}
