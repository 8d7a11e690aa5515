package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"mishap/cmd/mishap/config"
	"mishap/crash"
	"mishap/db"
	"mishap/db/bugs"
	"mishap/db/people"
	"mishap/tracker"
	"mishap/views"
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
			"token.\n", u.Name, views.TeamName(owner), u.Role, u.Name)
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
				_, err := fmt.Fprintln(p.out, views.ServiceTeamSet(args[0], team))
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
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", u.Name, views.RoleName(u.Role), state, app,
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
