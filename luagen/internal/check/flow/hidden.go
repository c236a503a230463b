package flow

import (
	"slices"

	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// runners are globals by which a script reaches others without their names.
var runners = []string{"_G", "load", "loadstring"}

// Escape returns the first use of redis.call, or of redis, that is no call whose command is followed.
func (c *code) Escape() parse.Expr {
	known := map[parse.Expr]bool{}
	for _, e := range c.Flow.Calls {
		known[e.Fn] = c.isCommandFunction(e.Fn)
		if isGlobal(e.Fn, "pcall") && len(e.Args) > 0 {
			known[e.Args[0]] = true
		}
	}
	for x, sources := range c.Flow.Sources {
		for _, name := range x.Writes {
			known[name] = true
		}
		if name := (&parse.NameExpr{Name: x.Name, Var: x}); !c.isServer(name) && !c.isCommandFunction(name) {
			continue
		}
		for _, s := range sources {
			parse.Walk(s.Expr, func(e parse.Expr) { known[e] = true })
		}
	}
	for _, e := range c.Flow.Exprs {
		if index, ok := e.(*parse.IndexExpr); ok && c.isServer(index.X) {
			known[Unparen(index.X)] = true
			_, literal := index.Key.(*parse.StringExpr)
			known[index] = known[index] || literal && !c.isCommandFunction(index)
		}
	}
	i := slices.IndexFunc(c.Flow.Exprs, func(e parse.Expr) bool {
		if index, ok := e.(*parse.IndexExpr); ok && c.isServer(index.X) {
			found := isGlobal(index.X, "server") && !c.S.Raw && c.S.Header.Targets("redis") // it is not declared
			return !known[e] && !found
		}
		name, ok := e.(*parse.NameExpr)
		global := ok && name.Var == nil
		return ok && !known[e] && (global && slices.Contains(runners, name.Name) ||
			(!global || name.Name == "redis") && (c.isServer(e) || c.isCommandFunction(e)))
	})
	if i < 0 {
		return nil
	}
	return c.Flow.Exprs[i]
}
