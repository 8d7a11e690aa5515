package text

// Texts of the sign-in page.
const (
	SignInName     = "Name"
	SignInPassword = "Password"
	SignInWithout  = "Browse problems without signing in"
	SignInAccounts = "No account yet? Ask an administrator to run:"

	SignInLocal     = "With a name and password"
	SignInOtherwise = "Sign in in another way"
)

// SignInWith labels the button that begins to sign in at another site.
func SignInWith(site string) string { return "Sign in with " + site }

// Leaving says that the browser goes to another site.
func Leaving(site string) string {
	return "You are being taken to " + site + ", which asks who you are and sends you back here."
}

// ContinueAt labels the link to another site, for browsers that do not go there by themselves.
func ContinueAt(site string) string { return "Continue at " + site }
