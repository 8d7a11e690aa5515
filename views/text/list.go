package text

import (
	"strings"

	"mishap/crash"
)

// IgnoredParameters says that an address has invalid values, which the page ignores.
func IgnoredParameters(names []string) string {
	return "Invalid " + crash.Plural(int64(len(names)), "value", "values") + " in the address ignored: " +
		strings.Join(names, ", ") + "."
}
