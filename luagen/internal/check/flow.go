package check

import (
	"slices"
	"strings"

	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// block checks statements, and reports whether control never leaves the block at its end.
func (c *checker) block(b *parse.Block) (stops bool) {
	for _, stmt := range b.Stmts {
		if stops {
			c.find(stmt.Pos(), Unreachable, "this is never reached")
			return true
		}
		stops = c.statement(stmt)
	}
	return stops
}

// statement checks one statement, and reports whether what follows it is never reached.
func (c *checker) statement(stmt parse.Stmt) bool {
	c.expressions(stmt)
	switch s := stmt.(type) {
	case *parse.ReturnStmt, *parse.BreakStmt:
		return true
	case *parse.CallStmt:
		return isError(s.Call)
	case *parse.DoStmt:
		return c.block(s.Body)
	case *parse.IfStmt:
		stops := s.Else != nil
		for _, b := range s.Blocks {
			stops = c.block(b) && stops
		}
		if s.Else != nil {
			stops = c.block(s.Else) && stops
		}
		return stops
	case *parse.WhileStmt:
		c.block(s.Body)
		return isTrue(s.Cond) && !breaks(s.Body)
	case *parse.RepeatStmt:
		c.block(s.Body)
		return isFalse(s.Cond) && !breaks(s.Body)
	case *parse.NumForStmt:
		c.block(s.Body)
	case *parse.GenForStmt:
		c.block(s.Body)
	}
	return false
}

// isError reports whether a call is error(...), which does not come back.
func isError(call *parse.CallExpr) bool {
	fn, ok := call.Fn.(*parse.NameExpr)
	return ok && fn.Var == nil && fn.Name == "error" && call.Method == ""
}

func isTrue(e parse.Expr) bool {
	b, ok := e.(*parse.BoolExpr)
	return ok && b.Value
}

func isFalse(e parse.Expr) bool {
	b, ok := e.(*parse.BoolExpr)
	return ok && !b.Value
}

// breaks reports whether a break leaves the loop of which b is the body.
func breaks(b *parse.Block) bool {
	for _, stmt := range b.Stmts {
		switch s := stmt.(type) {
		case *parse.BreakStmt:
			return true
		case *parse.DoStmt:
			if breaks(s.Body) {
				return true
			}
		case *parse.IfStmt:
			for _, inner := range s.Blocks {
				if breaks(inner) {
					return true
				}
			}
			if s.Else != nil && breaks(s.Else) {
				return true
			}
		}
	}
	return false
}

// expressions checks the expressions that stand directly in a statement, and the bodies of the
// functions among them.
func (c *checker) expressions(stmt parse.Stmt) {
	for _, e := range parse.Exprs(stmt) {
		parse.Walk(e, func(e parse.Expr) {
			switch e := e.(type) {
			case *parse.FuncExpr:
				c.block(e.Body)
			case *parse.IndexExpr:
				c.member(e)
			case *parse.BinaryExpr:
				c.never(e)
			}
		})
	}
}

// never finds an argument that is compared with a text which it never is.
func (c *checker) never(e *parse.BinaryExpr) {
	if e.Op != "==" && e.Op != "~=" {
		return
	}
	for _, pair := range [][2]parse.Expr{{e.L, e.R}, {e.R, e.L}} {
		name, isName := pair[0].(*parse.NameExpr)
		text, isText := pair[1].(*parse.StringExpr)
		if !isName || !isText || name.Var == nil || name.Var.Decl == nil {
			continue
		}
		b := name.Var.Decl
		if text.Value == "" && b.Type.Optional {
			c.find(e.P, Optional, "%s is nil if it is absent, never ''", name.Name)
		}
		if b.Kind == parse.Arg && b.Choices != nil && !slices.Contains(b.Choices, text.Value) {
			c.find(e.P, Compare, "%s is never '%s': it is %s", name.Name, text.Value, strings.Join(b.Choices, "|"))
		}
	}
}
