package views

import "mishap/crash"

// revokeToken labels the button that revokes a token.
func revokeToken(name string) string { return "Revoke " + name }

// tokenScopeName names a scope of API tokens in a list.
func tokenScopeName(s crash.Scope) string {
	return map[crash.Scope]string{
		crash.ScopeRead: "read", crash.ScopeReadPrivate: "read private data", crash.ScopeTriage: "triage",
		crash.ScopeFile: "create bugs", crash.ScopeUpload: "upload symbols", crash.ScopeAdmin: "read as an administrator, " +
			"erase machines",
	}[s]
}
