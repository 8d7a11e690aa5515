package text

// Texts of the sign-in page.
const (
	SignInName     = "Name"
	SignInPassword = "Password"
	SignInAccounts = "No account yet? Ask an administrator of this site, who runs:"
)
