package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"mishap/crash"
	adminview "mishap/views/admin"
)

func tokenCommand(p *program) *cobra.Command {
	token := &cobra.Command{
		Use:   "token",
		Short: "Manages the API tokens with which scripts sign in",
		Long: `Manages the API tokens with which scripts sign in, without a browser. A token belongs to an account,
has scopes and an expiry date, and never more rights than its account. People create their own at
/account.`,
		Args: cobra.NoArgs,
		RunE: needsCommand,
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
(status, assignee and tags), file (create bugs), admin (what administrators read, and erasing machines). triage
and file are for triagers and admins, admin is for admins.`,
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
			secret, token, err := s.people.AddTokenFor(ctx, "", u, name, scopes,
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
		"the scopes of the token: read, read-private, triage, file, admin")
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
