package check

import (
	"slices"

	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// microsAlone finds the second element of TIME, which begins at 0 again each second, in a script that never reads the first.
// A seed, a remainder or a part of a text may be made of it.
func (m *machine) microsAlone() {
	var read, into []parse.Expr
	for _, e := range m.c.flow.exprs {
		switch e := e.(type) {
		case *parse.IndexExpr:
			if m.c.sent(e.X, "time") != nil {
				read = append(read, e.Key)
			}
		case *parse.CallExpr:
			if len(e.Args) > 0 && (m.c.sent(e.Args[0], "time") != nil || m.c.callee(e) == "math.randomseed") {
				return
			}
		case *parse.BinaryExpr:
			if e.Op == "%" || e.Op == ".." {
				into = append(into, e)
			}
		}
	}
	other := func(e parse.Expr) bool { return bound(e) != 2 }
	if len(read) > 0 && !slices.ContainsFunc(read, other) && len(into) <= maxWithin && !slices.ContainsFunc(into, func(e parse.Expr) bool {
		return m.c.flow.within(e, func(e parse.Expr) bool { return slices.Contains(read, e) })
	}) {
		m.c.find(read[0].Pos(), Time, "the second element of TIME is the microseconds of the present second: the time is [1]")
	}
}
