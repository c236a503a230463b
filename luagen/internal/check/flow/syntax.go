package flow

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/hasp-go/hasp/luagen/internal/parse"
)

func isGlobal(e parse.Expr, name string) bool {
	n, ok := e.(*parse.NameExpr)
	return ok && n.Var == nil && n.Name == name
}

// IsLiteral reports whether an expression is this text, in small letters or capitals.
func IsLiteral(e parse.Expr, text string) bool {
	s, ok := e.(*parse.StringExpr)
	return ok && strings.EqualFold(s.Value, text)
}

// ConstantText returns the text of a literal text or number.
func ConstantText(e parse.Expr) (string, bool) {
	switch e := e.(type) {
	case *parse.StringExpr:
		return e.Value, true
	case *parse.NumberExpr:
		return e.Text, true
	}
	return "", false
}

// IsBool reports whether an expression is true, or false, as it stands.
func IsBool(e parse.Expr, want bool) bool {
	b, ok := e.(*parse.BoolExpr)
	return ok && b.Value == want
}

// IsFalsy reports whether e is nil or false.
func IsFalsy(e parse.Expr) bool {
	_, isNil := e.(*parse.NilExpr)
	return isNil || IsBool(e, false)
}

// VarOf returns the local or declared name that an expression is, or nil.
func VarOf(e parse.Expr) *parse.Var {
	if name, ok := e.(*parse.NameExpr); ok {
		return name.Var
	}
	return nil
}

// Unparen returns an expression without the parentheses around it.
func Unparen(e parse.Expr) parse.Expr {
	for {
		paren, ok := e.(*parse.ParenExpr)
		if !ok {
			return e
		}
		e = paren.X
	}
}

// Mentions reports whether an expression has one of some names in it.
func Mentions(e parse.Expr, names ...*parse.Var) bool {
	return parse.Contains(e, func(e parse.Expr) bool { return VarOf(e) != nil && slices.Contains(names, VarOf(e)) })
}

// NamesIn returns the local and declared names in an expression.
func NamesIn(e parse.Expr) []*parse.Var {
	var all []*parse.Var
	parse.Walk(e, func(e parse.Expr) {
		if x := VarOf(e); x != nil {
			all = append(all, x)
		}
	})
	return all
}

// BehindLast reports whether e is #x + 1.
func BehindLast(e parse.Expr, x *parse.Var) bool {
	i, more := Added(e)
	length, ok := i.(*parse.UnaryExpr)
	return ok && more == 1 && length.Op == "#" && Mentions(length.X, x)
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

// DeclaredBy returns the names that a local statement or a loop declares.
func DeclaredBy(stmt parse.Stmt) []*parse.Var {
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
		own = append(own, DeclaredBy(stmt)...)
		if s, ok := stmt.(*parse.AssignStmt); ok {
			for _, target := range s.Targets {
				all[VarOf(target)] = true
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

// Bound returns the end of a range that is written out, NaN if it is not.
func Bound(e parse.Expr) float64 {
	text, _ := ConstantText(e)
	if minus, isUnary := e.(*parse.UnaryExpr); isUnary && minus.Op == "-" {
		return -Bound(minus.X)
	}
	n, err := strconv.ParseFloat(strings.TrimPrefix(text, "("), 64)
	if err != nil {
		return math.NaN()
	}
	return n
}

// Inside reports whether a block is another, or in it.
func Inside(outer, b *parse.Block) bool {
	return outer == b || slices.ContainsFunc(outer.Stmts, func(s parse.Stmt) bool {
		return slices.ContainsFunc(parse.Blocks(s), func(inner *parse.Block) bool { return Inside(inner, b) })
	})
}

// ConstantTest reads a test of a name for a constant, "x == 0" or "x ~= nil"; or for nil and false, "x" or "not x".
func ConstantTest(e parse.Expr) (x *parse.Var, kind Kinds, test parse.Expr) {
	switch e := Unparen(e).(type) {
	case *parse.NameExpr:
		return e.Var, IsFalseValue, e
	case *parse.UnaryExpr:
		if name, ok := Unparen(e.X).(*parse.NameExpr); ok && e.Op == "not" {
			return name.Var, IsFalseValue, name
		}
	case *parse.BinaryExpr:
		for _, pair := range [][2]parse.Expr{{e.L, e.R}, {e.R, e.L}} {
			name, ok := Unparen(pair[0]).(*parse.NameExpr)
			if kind := ConstantKind(pair[1]); ok && kind != 0 && (e.Op == "==" || e.Op == "~=") {
				return name.Var, kind, e
			}
		}
	}
	return nil, 0, nil
}

// ConstantKind returns the kind of a constant, 0 if an expression is none.
func ConstantKind(e parse.Expr) Kinds {
	switch Unparen(e).(type) {
	case *parse.NilExpr:
		return IsNil
	case *parse.BoolExpr:
		return IsFalseValue
	case *parse.NumberExpr:
		return IsNumber
	case *parse.StringExpr:
		return IsText
	}
	return 0
}

// What stands in a script to be on the safe side is no mistake: it is careful.

// defaults notes "if not x then x = 0 end".
func (v *values) defaults(s *parse.IfStmt) {
	for i, cond := range s.Conds {
		if x, _, test := ConstantTest(cond); len(s.Blocks[i].Stmts) == 1 && assigned(s.Blocks[i])[x] {
			v.Careful[test] = true
		}
	}
}

// cover notes what stands in a chain of "or" or "and": the comparisons of a name with constants of several kinds, as in
// "x == nil or x == false or x == 0", and the test of a name that another part is about, as in "x and x > 0".
func (v *values) cover(e *parse.BinaryExpr) {
	kinds, mentioned := map[*parse.Var]Kinds{}, map[*parse.Var]int{}
	operands := Operands(e, e.Op)
	for _, operand := range operands {
		if x, kind, _ := ConstantTest(operand); x != nil {
			kinds[x] |= kind
		}
		for _, x := range NamesIn(operand) {
			mentioned[x]++
		}
	}
	for _, operand := range operands {
		x, kind, test := ConstantTest(operand)
		_, compares := test.(*parse.BinaryExpr)
		unsafe := kind == IsNil && kinds[x]&IsFalseValue == 0 // a nil reply is false
		if x != nil && (compares && kinds[x] != kind && !unsafe || !compares && mentioned[x] > 1) {
			v.Careful[test] = true
		}
	}
}
