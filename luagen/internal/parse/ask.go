package parse

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// IsGlobal reports whether an expression is this name, which is no local or declared one.
func IsGlobal(e Expr, name string) bool {
	n, ok := e.(*NameExpr)
	return ok && n.Var == nil && n.Name == name
}

// IsLiteral reports whether an expression is this text, in small letters or capitals.
func IsLiteral(e Expr, text string) bool {
	s, ok := e.(*StringExpr)
	return ok && strings.EqualFold(s.Value, text)
}

// ConstantText returns the text of a literal text or number.
func ConstantText(e Expr) (string, bool) {
	switch e := e.(type) {
	case *StringExpr:
		return e.Value, true
	case *NumberExpr:
		return e.Text, true
	}
	return "", false
}

// IsBool reports whether an expression is true, or false, as it stands.
func IsBool(e Expr, want bool) bool {
	b, ok := e.(*BoolExpr)
	return ok && b.Value == want
}

// IsFalsy reports whether e is nil or false.
func IsFalsy(e Expr) bool {
	_, isNil := e.(*NilExpr)
	return isNil || IsBool(e, false)
}

// VarOf returns the local or declared name that an expression is, or nil.
func VarOf(e Expr) *Var {
	if name, ok := e.(*NameExpr); ok {
		return name.Var
	}
	return nil
}

// Unparen returns an expression without the parentheses around it.
func Unparen(e Expr) Expr {
	for {
		paren, ok := e.(*ParenExpr)
		if !ok {
			return e
		}
		e = paren.X
	}
}

// Mentions reports whether an expression has one of some names in it.
func Mentions(e Expr, names ...*Var) bool {
	return Contains(e, func(e Expr) bool { return VarOf(e) != nil && slices.Contains(names, VarOf(e)) })
}

// NamesIn returns the local and declared names in an expression.
func NamesIn(e Expr) []*Var {
	var all []*Var
	Walk(e, func(e Expr) {
		if x := VarOf(e); x != nil {
			all = append(all, x)
		}
	})
	return all
}

// Statements returns those of a block, and of the blocks in it; those of functions are left out.
func Statements(b *Block) []Stmt {
	var all []Stmt
	for _, stmt := range b.Stmts {
		all = append(all, stmt)
		for _, inner := range Blocks(stmt) {
			all = append(all, Statements(inner)...)
		}
	}
	return all
}

// DeclaredBy returns the names that a local statement or a loop declares.
func DeclaredBy(stmt Stmt) []*Var {
	switch s := stmt.(type) {
	case *LocalStmt:
		return s.Vars
	case *NumForStmt:
		return []*Var{s.Var}
	case *GenForStmt:
		return s.Vars
	}
	return nil
}

// Assigned returns the names from outside that a block assigns to, but for its functions.
func Assigned(b *Block) map[*Var]bool {
	all, own := map[*Var]bool{}, []*Var{nil}
	for _, stmt := range Statements(b) {
		own = append(own, DeclaredBy(stmt)...)
		if s, ok := stmt.(*AssignStmt); ok {
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

// Breaks reports whether a break leaves the loop of which b is the body.
func Breaks(b *Block) bool {
	return slices.ContainsFunc(b.Stmts, func(stmt Stmt) bool {
		switch stmt.(type) {
		case *BreakStmt:
			return true
		case *DoStmt, *IfStmt:
			return slices.ContainsFunc(Blocks(stmt), Breaks)
		}
		return false
	})
}

// Bound returns the end of a range that is written out, NaN if it is not.
func Bound(e Expr) float64 {
	text, _ := ConstantText(e)
	if minus, isUnary := e.(*UnaryExpr); isUnary && minus.Op == "-" {
		return -Bound(minus.X)
	}
	n, err := strconv.ParseFloat(strings.TrimPrefix(text, "("), 64)
	if err != nil {
		return math.NaN()
	}
	return n
}

// Inside reports whether a block is another, or in it.
func Inside(outer, b *Block) bool {
	return outer == b || slices.ContainsFunc(outer.Stmts, func(s Stmt) bool {
		return slices.ContainsFunc(Blocks(s), func(inner *Block) bool { return Inside(inner, b) })
	})
}

// Added returns what an expression adds a number to, and the number.
func Added(e Expr) (Expr, float64) {
	b, ok := Unparen(e).(*BinaryExpr)
	if n := 0.0; ok && (b.Op == "+" || b.Op == "-") {
		if n = Bound(b.R); b.Op == "-" {
			n = -n
		}
		return b.L, n
	}
	return e, 0
}

// Operands returns those of a chain of one operator, such as "a .. b .. c".
func Operands(e Expr, op string) []Expr {
	if b, ok := Unparen(e).(*BinaryExpr); ok && b.Op == op {
		return append(Operands(b.L, op), Operands(b.R, op)...)
	}
	return []Expr{Unparen(e)}
}

// BehindLast reports whether e is #x + 1.
func BehindLast(e Expr, x *Var) bool {
	i, more := Added(e)
	length, ok := i.(*UnaryExpr)
	return ok && more == 1 && length.Op == "#" && Mentions(length.X, x)
}

// ReturnOf returns the statement by which the first block of an if returns, nil if it does not.
func ReturnOf(s *IfStmt) *ReturnStmt {
	if len(s.Blocks[0].Stmts) == 0 {
		return nil
	}
	end, _ := s.Blocks[0].Stmts[len(s.Blocks[0].Stmts)-1].(*ReturnStmt)
	return end
}

// Of returns the question whether an expression is of a kind, and is meant.
func Of[E Expr](meant func(E) bool) func(Expr) bool {
	return func(e Expr) bool {
		is, ok := e.(E)
		return ok && meant(is)
	}
}
