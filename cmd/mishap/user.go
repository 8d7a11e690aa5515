package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"mishap/cmd/mishap/config"
	"mishap/crash"
	"mishap/db"
	"mishap/db/bugs"
	"mishap/db/people"
	"mishap/tracker"
	adminview "mishap/views/admin"
	"mishap/views/layout"
)

func (p *program) userCommand() *cobra.Command {
	user := &cobra.Command{
		Use:   "user",
		Short: "Manages the accounts of people",
		Long: `Manages the accounts with which people sign in on the web pages. Roles build on each other: a
viewer sees reports and stack traces, a triager also files and links bugs, an admin also
connects the bug tracker and sees /admin.`,
		Args: cobra.NoArgs,
		RunE: needsCommand,
	}
	user.AddCommand(p.userAddCommand(), p.userListCommand(), p.userDisableCommand(), p.userEnableCommand(),
		p.userRemoveCommand(), p.userRoleCommand(), p.userPasswordCommand(), p.userTOTPResetCommand(),
		p.userTrackerNameCommand(), userTeamCommand(p))
	return user
}

func (p *program) userAddCommand() *cobra.Command {
	var role, team string
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
		RunE: func(cmd *cobra.Command, args []string) error {
			if role == "" {
				return &usageError{errors.New("--role is missing: viewer, triager or admin"), cmd.CommandPath()}
			}
			wanted, err := crash.ParseRole(role)
			if err != nil {
				return &usageError{err, cmd.CommandPath()}
			}
			if service || team != "" {
				return addService(p, cmd, args[0], wanted, team, service)
			}
			password, err := p.newPassword(cmd, fromStdin)
			if err != nil {
				return err
			}
			return p.withStore(cmd, slog.LevelWarn, func(ctx context.Context, _ config.Config, store *db.Store) error {
				accounts := people.New(store)
				removed, err := accounts.Removed(ctx, args[0])
				if err != nil {
					return err
				}
				u, err := accounts.Add(ctx, "", args[0], wanted, password)
				if err != nil {
					return err
				}
				_, err = fmt.Fprintf(p.out, "%s can sign in now, with role %s.\n", u.Name, u.Role)
				if err == nil && !removed.IsZero() {
					_, err = fmt.Fprintf(p.out,
						"An account of this name was removed at %s (UTC). Its decisions count as those of %s.\n",
						removed.UTC().Format(time.DateTime), u.Name)
				}
				return err
			})
		},
	}
	cmd.Flags().StringVar(&role, "role", "", "role of the person: viewer, triager or admin")
	cmd.Flags().BoolVar(&fromStdin, "password-stdin", false, "read the password from the standard input")
	cmd.Flags().BoolVar(&service, "service", false, "create a service account, to which nobody can sign in")
	cmd.Flags().StringVar(&team, "team", "", "group that owns the service account, such as oidc:crash-team")
	return cmd
}

// addService creates a service account.
func addService(p *program, cmd *cobra.Command, name string, role crash.Role, team string, service bool) error {
	if !service || team == "" {
		return &usageError{errors.New("--service and --team belong together"), cmd.CommandPath()}
	}
	owner, err := crash.ParseTeam(team)
	if err != nil {
		return &usageError{err, cmd.CommandPath()}
	}
	return p.withStore(cmd, slog.LevelWarn, func(ctx context.Context, _ config.Config, store *db.Store) error {
		u, err := people.New(store).AddService(ctx, "", name, role, owner)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(p.out, "%s is a service account of %s now, with role %s. \"mishap token create %s\" creates a "+
			"token.\n", u.Name, layout.TeamName(owner), u.Role, u.Name)
		return err
	})
}

func userTeamCommand(p *program) *cobra.Command {
	return &cobra.Command{
		Use:     "team NAME SOURCE:GROUP",
		Short:   "Gives a service account to another team",
		Long:    "Gives a service account to another team. Its tokens go on working.",
		Example: "  mishap user team phasing-bot oidc:release-team",
		Args:    cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			team, err := crash.ParseTeam(args[1])
			if err != nil {
				return &usageError{err, cmd.CommandPath()}
			}
			return p.withStore(cmd, slog.LevelWarn, func(ctx context.Context, _ config.Config, store *db.Store) error {
				if err := people.New(store).SetTeam(ctx, "", args[0], team); err != nil {
					return err
				}
				_, err := fmt.Fprintln(p.out, adminview.ServiceTeamSet(args[0], team))
				return err
			})
		},
	}
}

func (p *program) userListCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "Lists the accounts",
		Long: `Lists all accounts by name with their role, including disabled ones. APP says whether signing in with the
password needs a code of an authenticator app, TEAM who owns a service account. Times are UTC.`,
		Example: "  mishap user list",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return p.withStore(cmd, slog.LevelWarn, func(ctx context.Context, c config.Config, store *db.Store) error {
				users, err := people.New(store).Accounts(ctx)
				if err != nil {
					return err
				}
				apps, err := people.New(store).SecondFactors(ctx)
				if err != nil {
					return err
				}
				return printUsers(p.out, users, apps)
			})
		},
	}
}

func printUsers(out io.Writer, users []crash.User, apps map[int64]time.Time) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "NAME\tROLE\tSTATE\tAPP\tCREATED\tLAST SIGN-IN\tTEAM") // Flush returns the error
	for _, u := range users {
		state, last := "active", "never"
		if u.Disabled {
			state = "disabled"
		}
		if !u.LastLogin.IsZero() {
			last = u.LastLogin.UTC().Format(time.DateTime)
		}
		app := "no"
		if _, on := apps[u.ID]; on {
			app = "yes"
		}
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", u.Name, layout.RoleName(u.Role), state, app,
			u.Created.UTC().Format(time.DateTime), last, u.Team)
	}
	return w.Flush()
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
			password, err := p.newPassword(cmd, fromStdin)
			if err != nil {
				return err
			}
			return p.withStore(cmd, slog.LevelWarn, func(ctx context.Context, _ config.Config, store *db.Store) error {
				accounts := people.New(store)
				u, err := accounts.ByName(ctx, args[0])
				if err != nil {
					return err
				}
				if err := accounts.SetPassword(ctx, "", u.Name, password); err != nil {
					return err
				}
				_, err = fmt.Fprintf(p.out, "The password of %s is changed.%s\n", u.Name, ifDisabled(u))
				return err
			})
		},
	}
	cmd.Flags().BoolVar(&fromStdin, "password-stdin", false, "read the password from the standard input")
	return cmd
}

func (p *program) userTrackerNameCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "tracker-name NAME [TRACKER-NAME]",
		Short: "Sets the name of a person at the tracker",
		Long: `Sets the name of a person's account at the bug tracker, after checking that it exists. The tracker
then subscribes the person to the bugs that they create. Without TRACKER-NAME the name is removed.
People can set it themselves at /account.`,
		Example: `  mishap user tracker-name ada ada-lovelace
  mishap user tracker-name ada`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.withStore(cmd, slog.LevelWarn, func(ctx context.Context, c config.Config, store *db.Store) error {
				if len(args) == 1 {
					if err := people.New(store).SetTrackerName(ctx, "", args[0], ""); err != nil {
						return err
					}
					_, err := fmt.Fprintf(p.out, "%s is not subscribed to bugs any more.\n", args[0])
					return err
				}
				settings := trackerConfig(c, newLog(p.err, slog.LevelWarn), nil)
				found, err := tracker.NewClient(settings, tracker.NewCredentials(settings, bugs.New(store))).Account(ctx,
					args[1])
				if err != nil {
					return err
				}
				if err := people.New(store).SetTrackerName(ctx, "", args[0], found); err != nil {
					return err
				}
				_, err = fmt.Fprintf(p.out, "%s is %s at the tracker.\n", args[0], found)
				return err
			})
		},
	}
}

func (p *program) userDisableCommand() *cobra.Command {
	return p.userChange(&cobra.Command{
		Use:   "disable NAME",
		Short: "Disables an account",
		Long: `Disables an account: the person can no longer sign in, is signed out everywhere at once, and their API
tokens stop working.`,
		Example: "  mishap user disable ada",
		Args:    cobra.ExactArgs(1),
	}, func(ctx context.Context, accounts *people.Store, u crash.User, _ []string) (string, error) {
		return u.Name + " can no longer sign in.", accounts.Disable(ctx, "", u.Name)
	})
}

func (p *program) userEnableCommand() *cobra.Command {
	return p.userChange(&cobra.Command{
		Use:   "enable NAME",
		Short: "Enables an account that was disabled",
		Long: `Enables an account that was disabled: the person can sign in again with the password and role from
before, and their API tokens work again.`,
		Example: "  mishap user enable ada",
		Args:    cobra.ExactArgs(1),
	}, func(ctx context.Context, accounts *people.Store, u crash.User, _ []string) (string, error) {
		return fmt.Sprintf("%s can sign in again, with role %s.", u.Name, u.Role), accounts.Enable(ctx, "", u.Name)
	})
}

// noRole stands for no role on the command line.
const noRole = "none"

func (p *program) userRoleCommand() *cobra.Command {
	return p.userChange(&cobra.Command{
		Use:   "role NAME viewer|triager|admin|none",
		Short: "Changes the role of an account",
		Long: `Changes the role that an account is given by hand. It applies from the next request, also to the
person's API tokens. The person keeps higher roles from groups (see "mishap access").`,
		Example: "  mishap user role ada triager",
		Args:    cobra.ExactArgs(2),
		PreRunE: func(cmd *cobra.Command, args []string) error {
			if _, err := crash.ParseRole(args[1]); err != nil && args[1] != noRole {
				return &usageError{err, cmd.CommandPath()}
			}
			return nil
		},
	}, func(ctx context.Context, accounts *people.Store, u crash.User, args []string) (string, error) {
		role, _ := crash.ParseRole(args[1]) // "none" is no role
		if err := accounts.SetRole(ctx, "", u.Name, role); err != nil {
			return "", err
		}
		now, err := accounts.ByName(ctx, u.Name)
		if err != nil {
			return "", err
		}
		message := fmt.Sprintf("The role of %s is %s now; it was %s.", u.Name, layout.RoleName(now.Role),
			layout.RoleName(u.Role))
		if now.Role != role {
			message += " It comes from a group."
		}
		return message + ifDisabled(u), nil
	})
}

func (p *program) userRemoveCommand() *cobra.Command {
	return p.userChange(&cobra.Command{
		Use:   "remove NAME",
		Short: "Removes an account",
		Long: `Removes an account with its sessions, its API tokens, and the list of what the person follows. The
person's decisions stay under this name: bugs created, problems merged, notes, the ledger of filings.

A later account with the same name counts as the same person. To prevent that, disable the account
instead.`,
		Example: "  mishap user remove ada",
		Args:    cobra.ExactArgs(1),
	}, func(ctx context.Context, accounts *people.Store, u crash.User, _ []string) (string, error) {
		message := fmt.Sprintf("The account of %s is removed. Decisions by %s stay under this name.", u.Name, u.Name)
		return message, accounts.Remove(ctx, "", u.Name)
	})
}

func (p *program) userTOTPResetCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "totp-reset NAME",
		Short: "Removes the authenticator app of an account",
		Long: `Removes the authenticator app and the recovery codes of an account, for a person who has lost both. The
person is signed out everywhere and told in the inbox and by mail, can then sign in with the password alone, and
set up an app again, which require_totp may demand. First make sure who asks.`,
		Example: "  mishap user totp-reset ada",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.withStore(cmd, slog.LevelWarn, func(ctx context.Context, _ config.Config, store *db.Store) error {
				if err := people.New(store).ResetSecondFactor(ctx, "", args[0]); err != nil {
					return err
				}
				_, err := fmt.Fprintf(p.out, "%s can sign in without a code.\n", args[0])
				return err
			})
		},
	}
}

// userChange completes a command that changes one account and prints the message that change
// returns. The command warns if no admin can sign in afterwards.
func (p *program) userChange(cmd *cobra.Command,
	change func(context.Context, *people.Store, crash.User, []string) (message string, err error),
) *cobra.Command {
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return p.withStore(cmd, slog.LevelWarn, func(ctx context.Context, _ config.Config, store *db.Store) error {
			accounts := people.New(store)
			u, err := accounts.ByName(ctx, args[0])
			if err != nil {
				return err
			}
			message, err := change(ctx, accounts, u, args)
			if err != nil {
				return err
			}
			if _, err := fmt.Fprintln(p.out, message); err != nil {
				return err
			}
			return warnWithoutAdmin(ctx, p.err, accounts)
		})
	}
	return cmd
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
func (p *program) newPassword(cmd *cobra.Command, fromStdin bool) (string, error) {
	if fromStdin {
		line, err := readLine(bufio.NewReader(io.LimitReader(p.in, longestLine)))
		if errors.Is(err, io.EOF) {
			return "", errors.New("--password-stdin: the standard input contains no password")
		}
		return line, err
	}
	terminal, ok := p.in.(*os.File)
	if !ok || !isTerminal(terminal) {
		return "", &usageError{
			errors.New("no terminal to ask for the password; give it with --password-stdin"), cmd.CommandPath(),
		}
	}
	first, err := p.askHidden(cmd.Context(), terminal, "New password: ")
	if err != nil {
		return "", err
	}
	second, err := p.askHidden(cmd.Context(), terminal, "The same again: ")
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
		Args: cobra.NoArgs,
		RunE: needsCommand,
	}
	cmd.AddCommand(p.accessListCommand(), p.accessGrantCommand(), p.accessRevokeCommand())
	return cmd
}

func (p *program) accessListCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "Lists the rights of groups and accounts, and why people have them",
		Long: "Lists the rights of groups and accounts, then all people with their role and the reasons for it and " +
			"for other " +
			"rights. Times are UTC.",
		Example: "  mishap access list",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return p.withStore(cmd, slog.LevelWarn, func(ctx context.Context, c config.Config, store *db.Store) error {
				grants, err := people.New(store).Grants(ctx)
				if err != nil {
					return err
				}
				identities, err := people.New(store).Identities(ctx, 0)
				if err != nil {
					return err
				}
				users, err := people.New(store).Accounts(ctx)
				if err != nil {
					return err
				}
				return printAccess(p.out, grants, crash.AccessOf(users, identities, grants, store.Rights.Everyone))
			})
		},
	}
}

func printAccess(out io.Writer, grants []crash.Grant, people []crash.PersonAccess) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "SOURCE\tGROUP\tROLE\tPACKAGES\tADDED\tBY") // Flush returns the error
	for _, g := range grants {
		role := string(g.Role)
		if g.Unconfirmed {
			role += " (without embargoed problems)"
		}
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", g.Source, g.Group, role, layout.ScopeName(g.Scope),
			g.Created.UTC().Format(time.DateTime), g.By)
	}
	_, _ = fmt.Fprintln(w, "\nNAME\tROLE\tWHY")
	for _, one := range people {
		var why []string
		for _, r := range one.Reasons {
			why = append(why, layout.WhyRole(r))
		}
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\n", one.User.Name, layout.RoleName(one.User.Role), strings.Join(why, "; "))
	}
	return w.Flush()
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
		RunE: func(cmd *cobra.Command, args []string) error {
			g := crash.Grant{Source: crash.Source(args[0]), Group: args[1], Role: crash.Role(args[2]), Scope: flags.scope()}
			if err := g.Check(); err != nil {
				return &usageError{err, cmd.CommandPath()}
			}
			return p.withStore(cmd, slog.LevelWarn, func(ctx context.Context, _ config.Config, store *db.Store) error {
				if err := people.New(store).Grant(ctx, "", g); err != nil {
					return err
				}
				_, err := fmt.Fprintln(p.out, adminview.Granted(g))
				return err
			})
		},
	}
	flags.add(cmd)
	return cmd
}

func (p *program) accessRevokeCommand() *cobra.Command {
	var flags scopeFlags
	cmd := &cobra.Command{
		Use:   "revoke SOURCE GROUP [private]",
		Short: "Takes a right of a group or an account away",
		Long: `Takes away at once the role that a group or an account has for all packages or, with a flag, for those
packages; with private, the right to private data instead. Roles from other groups remain.`,
		Example: `  mishap access revoke launchpad ubuntu-bugcontrol
  mishap access revoke account kim private --team desktop-packages`,
		Args: cobra.RangeArgs(2, 3),
		RunE: func(cmd *cobra.Command, args []string) error {
			g := crash.Grant{Source: crash.Source(args[0]), Group: args[1], Scope: flags.scope()}
			_, err := crash.ParseSource(args[0])
			if g.Source == crash.SourceAccount {
				err = nil
			}
			if err == nil && len(args) == 3 {
				if g.Role = crash.Role(args[2]); g.Role != crash.RolePrivate {
					err = fmt.Errorf("%q cannot be taken away by name; leave it out, or use private", args[2])
				}
			}
			if err == nil {
				err = g.Scope.Check()
			}
			if err != nil {
				return &usageError{err, cmd.CommandPath()}
			}
			return p.withStore(cmd, slog.LevelWarn, func(ctx context.Context, _ config.Config, store *db.Store) error {
				if err := people.New(store).RevokeGrant(ctx, "", g); err != nil {
					return err
				}
				if _, err := fmt.Fprintln(p.out, adminview.Revoked(g)); err != nil {
					return err
				}
				return warnWithoutAdmin(ctx, p.err, people.New(store))
			})
		},
	}
	flags.add(cmd)
	return cmd
}
