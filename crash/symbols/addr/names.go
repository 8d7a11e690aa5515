package addr

import (
	"strings"

	"github.com/ianlancetaylor/demangle"

	"mishap/crash"
)

const (
	maxMangled = 16 << 10 // bytes of a mangled name
	maxName    = 1024     // code points of a name, as in names from gdb
)

// demangled returns the name of a symbol as gdb prints it, for C++ with the types of arguments.
// Other names remain as they are.
func demangled(symbol string) string {
	if len(symbol) > maxMangled {
		return clean(symbol)
	}
	return clean(demangle.Filter(symbol, demangle.MaxLength(14)))
}

// functionName returns the name of a function with debug information, from its symbol: as gdb
// prints it, for C++ without arguments and result. The result is empty if the symbol is not mangled.
//
// gdb leaves the arguments if it cannot parse the name, which is so with lambdas and other types
// without a name.
func functionName(symbol string) string {
	if len(symbol) > maxMangled || !strings.HasPrefix(symbol, "_Z") {
		return ""
	}
	if ast, err := demangle.ToAST(symbol); err == nil {
		if typed, ok := ast.(*demangle.Typed); ok {
			if f, ok := typed.Type.(*demangle.FunctionType); ok {
				f.Return = nil
			}
		}
		full := demangle.ASTToString(ast, demangle.MaxLength(14))
		if strings.Contains(full, "{lambda") || strings.Contains(full, "{unnamed") {
			return clean(full)
		}
	}
	name, err := demangle.ToString(symbol, demangle.NoParams, demangle.NoRust, demangle.MaxLength(14))
	if err != nil {
		return ""
	}
	return clean(name)
}

// clean replaces control characters, which could forge frames, and limits the length, as is done with
// names from gdb.
func clean(name string) string {
	name = strings.ToValidUTF8(name, "\uFFFD")
	if short := crash.Truncate(name, maxName); short != name {
		name = short + "…"
	}
	return strings.Clone(strings.Map(func(r rune) rune {
		if r < ' ' || 0x7f <= r && r < 0xa0 || r == '\u2028' || r == '\u2029' {
			return '\uFFFD'
		}
		return r
	}, name))
}
