package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"mishap/cmd/mishap/config"
	"mishap/crash"
	"mishap/db"
	"mishap/db/access"
	"mishap/db/accounts"
	"mishap/views/text"
)

func (p *program) accessCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "access",
		Short: "Manages the roles that groups give",
		Long: `Manages which groups give which role to people who sign in at another site or through a proxy. A
person has the highest of the roles that "mishap user role" and their groups give. Groups are those of
the last sign-in. SOURCE is launchpad (teams), oidc or proxy; docs/sign-in.md explains them.`,
		Args: cobra.NoArgs,
		RunE: needsCommand,
	}
	cmd.AddCommand(p.accessListCommand(), p.accessGrantCommand(), p.accessRevokeCommand())
	return cmd
}

func (p *program) accessListCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "list",
		Short:   "Lists the roles of groups, and why people have their roles",
		Long:    "Lists the groups that give a role, then all people with their role and the reasons. Times are UTC.",
		Example: "  mishap access list",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return p.withStore(cmd, slog.LevelWarn, func(ctx context.Context, c config.Config, store *db.Store) error {
				grants, err := access.New(store).Grants(ctx)
				if err != nil {
					return err
				}
				identities, err := access.New(store).Identities(ctx, 0)
				if err != nil {
					return err
				}
				users, err := accounts.New(store).WithRoleOfEveryone(c.RoleOfEveryone()).List(ctx)
				if err != nil {
					return err
				}
				return printAccess(p.out, grants, crash.AccessOf(users, identities, grants, c.RoleOfEveryone()))
			})
		},
	}
}

func printAccess(out io.Writer, grants []crash.Grant, people []crash.PersonAccess) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "SOURCE\tGROUP\tROLE\tADDED\tBY") // Flush returns the error
	for _, g := range grants {
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", g.Source, g.Group, g.Role, g.Created.UTC().Format(time.DateTime), g.By)
	}
	_, _ = fmt.Fprintln(w, "\nNAME\tROLE\tWHY")
	for _, one := range people {
		var why []string
		for _, r := range one.Reasons {
			why = append(why, text.WhyRole(r))
		}
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\n", one.User.Name, text.RoleName(one.User.Role), strings.Join(why, "; "))
	}
	return w.Flush()
}

func (p *program) accessGrantCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "grant SOURCE GROUP viewer|triager|admin",
		Short: "Gives a role to the members of a group",
		Long: `Gives a role to the members of a group, instead of the role that the group had. It takes effect at
once for people who were in the group when they last signed in.`,
		Example: `  mishap access grant launchpad ubuntu-bugcontrol triager
  mishap access grant oidc crash-admins admin`,
		Args: cobra.ExactArgs(3),
		RunE: func(cmd *cobra.Command, args []string) error {
			source, err := crash.ParseSource(args[0])
			if err != nil {
				return &usageError{err, cmd.CommandPath()}
			}
			role, err := crash.ParseRole(args[2])
			if err != nil {
				return &usageError{err, cmd.CommandPath()}
			}
			return p.withStore(cmd, slog.LevelWarn, func(ctx context.Context, _ config.Config, store *db.Store) error {
				if err := access.New(store).Grant(ctx, "", source, args[1], role); err != nil {
					return err
				}
				_, err := fmt.Fprintln(p.out, text.Granted(args[1], role))
				return err
			})
		},
	}
}

func (p *program) accessRevokeCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "revoke SOURCE GROUP",
		Short:   "Takes the role of a group away",
		Long:    "Takes the role of a group away, at once. Its members keep roles from other groups or given by hand.",
		Example: "  mishap access revoke launchpad ubuntu-bugcontrol",
		Args:    cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			source, err := crash.ParseSource(args[0])
			if err != nil {
				return &usageError{err, cmd.CommandPath()}
			}
			return p.withStore(cmd, slog.LevelWarn, func(ctx context.Context, _ config.Config, store *db.Store) error {
				if err := access.New(store).Revoke(ctx, "", source, args[1]); err != nil {
					return err
				}
				if _, err := fmt.Fprintln(p.out, text.Revoked(args[1])); err != nil {
					return err
				}
				return p.warnWithoutAdmin(ctx, accounts.New(store))
			})
		},
	}
}
