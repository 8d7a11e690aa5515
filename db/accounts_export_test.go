package db

import "context"

// CountAttempt counts an attempt to sign in by a browser that is not known, and looks at no password.
func CountAttempt(ctx context.Context, a *Accounts, in SignIn) error {
	return a.countAttempt(ctx, attempts(in, ""))
}
