package db

import (
	"regexp"
	"slices"
	"strconv"

	"github.com/jackc/pgx/v5"
)

// A statement is SQL with @named arguments whose names were replaced by numbers once. It is for statements that are run
// hundreds of times a second, where doing that each time would cost as much as the rest of the sending.
type statement struct {
	sql   string
	names []string // of argument $1, $2 and so on
}

var argumentName = regexp.MustCompile(`@[a-z_]+`)

// newStatement numbers the arguments as they come; large ones are sent after all others, so that the buffers in which they
// are put together need not grow again behind them.
func newStatement(sql string, large ...string) statement {
	var s statement
	for _, name := range argumentName.FindAllString(sql, -1) {
		if name = name[1:]; !slices.Contains(s.names, name) && !slices.Contains(large, name) {
			s.names = append(s.names, name)
		}
	}
	s.names = append(s.names, large...)
	s.sql = argumentName.ReplaceAllStringFunc(sql, func(name string) string {
		return "$" + strconv.Itoa(1+slices.Index(s.names, name[1:]))
	})
	return s
}

// args are those of the statement in its order. One that is missing is null.
func (s statement) args(named pgx.NamedArgs) []any {
	args := make([]any, len(s.names))
	for i, name := range s.names {
		args[i] = named[name]
	}
	return args
}
