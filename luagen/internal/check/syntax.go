package check

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// isGlobal reports whether an expression is a global of this name.
func isGlobal(e parse.Expr, name string) bool {
	n, ok := e.(*parse.NameExpr)
	return ok && n.Var == nil && n.Name == name
}

// isLiteral reports whether an expression is this text, in small letters or capitals.
func isLiteral(e parse.Expr, text string) bool {
	s, ok := e.(*parse.StringExpr)
	return ok && strings.EqualFold(s.Value, text)
}

// constantText returns the text of a literal text or number.
func constantText(e parse.Expr) (string, bool) {
	switch e := e.(type) {
	case *parse.StringExpr:
		return e.Value, true
	case *parse.NumberExpr:
		return e.Text, true
	}
	return "", false
}

func isBool(e parse.Expr, want bool) bool {
	b, ok := e.(*parse.BoolExpr)
	return ok && b.Value == want
}

// isFalsy reports whether e is nil or false.
func isFalsy(e parse.Expr) bool {
	_, isNil := e.(*parse.NilExpr)
	return isNil || isBool(e, false)
}

// isError reports whether a call is error(...), which does not come back.
func isError(call *parse.CallExpr) bool { return isGlobal(call.Fn, "error") && call.Method == "" }

// varOf returns the local or declared name that an expression is, or nil.
func varOf(e parse.Expr) *parse.Var {
	if name, ok := e.(*parse.NameExpr); ok {
		return name.Var
	}
	return nil
}

func unparen(e parse.Expr) parse.Expr {
	for {
		paren, ok := e.(*parse.ParenExpr)
		if !ok {
			return e
		}
		e = paren.X
	}
}

// mentions reports whether an expression has one of some names in it.
func mentions(e parse.Expr, names ...*parse.Var) bool {
	return parse.Contains(e, func(e parse.Expr) bool { return varOf(e) != nil && slices.Contains(names, varOf(e)) })
}

// namesIn returns the local and declared names in an expression.
func namesIn(e parse.Expr) []*parse.Var {
	var all []*parse.Var
	parse.Walk(e, func(e parse.Expr) {
		if x := varOf(e); x != nil {
			all = append(all, x)
		}
	})
	return all
}

// behindLast reports whether e is #x + 1.
func behindLast(e parse.Expr, x *parse.Var) bool {
	b, ok := e.(*parse.BinaryExpr)
	if !ok || b.Op != "+" {
		return false
	}
	length, ok := b.L.(*parse.UnaryExpr)
	return ok && length.Op == "#" && mentions(length.X, x)
}

// statements returns those of a block, and of the blocks in it; those of functions are left out.
func statements(b *parse.Block) []parse.Stmt {
	var all []parse.Stmt
	for _, stmt := range b.Stmts {
		all = append(all, stmt)
		for _, inner := range parse.Blocks(stmt) {
			all = append(all, statements(inner)...)
		}
	}
	return all
}

// declaredBy returns the variables that a statement makes.
func declaredBy(stmt parse.Stmt) []*parse.Var {
	switch s := stmt.(type) {
	case *parse.LocalStmt:
		return s.Vars
	case *parse.NumForStmt:
		return []*parse.Var{s.Var}
	case *parse.GenForStmt:
		return s.Vars
	}
	return nil
}

// assigned returns the names from outside that a block assigns to, but for its functions.
func assigned(b *parse.Block) map[*parse.Var]bool {
	all, own := map[*parse.Var]bool{}, []*parse.Var{nil}
	for _, stmt := range statements(b) {
		own = append(own, declaredBy(stmt)...)
		if s, ok := stmt.(*parse.AssignStmt); ok {
			for _, target := range s.Targets {
				all[varOf(target)] = true
			}
		}
	}
	for _, x := range own {
		delete(all, x)
	}
	return all
}

// breaks reports whether a break leaves the loop of which b is the body.
func breaks(b *parse.Block) bool {
	return slices.ContainsFunc(b.Stmts, func(stmt parse.Stmt) bool {
		switch stmt.(type) {
		case *parse.BreakStmt:
			return true
		case *parse.DoStmt, *parse.IfStmt:
			return slices.ContainsFunc(parse.Blocks(stmt), breaks)
		}
		return false
	})
}

// spelt returns a text that is the same for expressions which are written alike.
func spelt(e parse.Expr) string {
	var text strings.Builder
	parse.Walk(e, func(e parse.Expr) {
		word, _ := constantText(e)
		switch e := e.(type) {
		case *parse.NameExpr:
			word = e.Name
		case *parse.BinaryExpr:
			word = e.Op
		case *parse.UnaryExpr:
			word = e.Op
		case *parse.CallExpr:
			word = e.Method + itoa(len(e.Args))
		case *parse.BoolExpr:
			word = fmt.Sprint(e.Value)
		}
		fmt.Fprintf(&text, "%T %q ", e, word)
	})
	return text.String()
}

func negative(e parse.Expr) bool {
	minus, ok := unparen(e).(*parse.UnaryExpr)
	return ok && minus.Op == "-"
}

// bound returns the end of a range that is written out, NaN if it is not.
func bound(e parse.Expr) float64 {
	text, _ := constantText(e)
	if minus, isUnary := e.(*parse.UnaryExpr); isUnary && minus.Op == "-" {
		return -bound(minus.X)
	}
	n, err := strconv.ParseFloat(strings.TrimPrefix(text, "("), 64)
	if err != nil {
		return math.NaN()
	}
	return n
}

// inside reports whether a block is another, or in it.
func inside(outer, b *parse.Block) bool {
	return outer == b || slices.ContainsFunc(outer.Stmts, func(s parse.Stmt) bool {
		return slices.ContainsFunc(parse.Blocks(s), func(inner *parse.Block) bool { return inside(inner, b) })
	})
}

// constantTest reads a test of a name for a constant, "x == 0" or "x ~= nil", which is the comparison; or for nil and
// false, "x" or "not x", which is the name.
func constantTest(e parse.Expr) (x *parse.Var, kind kinds, test parse.Expr) {
	switch e := unparen(e).(type) {
	case *parse.NameExpr:
		return e.Var, isFalseValue, e
	case *parse.UnaryExpr:
		if name, ok := unparen(e.X).(*parse.NameExpr); ok && e.Op == "not" {
			return name.Var, isFalseValue, name
		}
	case *parse.BinaryExpr:
		for _, pair := range [][2]parse.Expr{{e.L, e.R}, {e.R, e.L}} {
			name, ok := unparen(pair[0]).(*parse.NameExpr)
			if kind := constantKind(pair[1]); ok && kind != 0 && (e.Op == "==" || e.Op == "~=") {
				return name.Var, kind, e
			}
		}
	}
	return nil, 0, nil
}

// constantKind returns the kind of a constant, 0 if an expression is none.
func constantKind(e parse.Expr) kinds {
	switch unparen(e).(type) {
	case *parse.NilExpr:
		return isNil
	case *parse.BoolExpr:
		return isFalseValue
	case *parse.NumberExpr:
		return isNumber
	case *parse.StringExpr:
		return isText
	}
	return 0
}
