package flow

import (
	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// ConstantTest reads a test of a name for a constant, "x == 0" or "x ~= nil"; or for nil and false, "x" or "not x".
func ConstantTest(e parse.Expr) (x *parse.Var, kind Kinds, test parse.Expr) {
	switch e := parse.Unparen(e).(type) {
	case *parse.NameExpr:
		return e.Var, IsFalseValue, e
	case *parse.UnaryExpr:
		if name, ok := parse.Unparen(e.X).(*parse.NameExpr); ok && e.Op == "not" {
			return name.Var, IsFalseValue, name
		}
	case *parse.BinaryExpr:
		for _, pair := range [][2]parse.Expr{{e.L, e.R}, {e.R, e.L}} {
			name, ok := parse.Unparen(pair[0]).(*parse.NameExpr)
			if kind := ConstantKind(pair[1]); ok && kind != 0 && (e.Op == "==" || e.Op == "~=") {
				return name.Var, kind, e
			}
		}
	}
	return nil, 0, nil
}

// ConstantKind returns the kind of a constant, 0 if an expression is none.
func ConstantKind(e parse.Expr) Kinds {
	switch parse.Unparen(e).(type) {
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
		if x, _, test := ConstantTest(cond); len(s.Blocks[i].Stmts) == 1 && parse.Assigned(s.Blocks[i])[x] {
			v.Careful[test] = true
		}
	}
}

// cover notes what stands in a chain of "or" or "and": the comparisons of a name with constants of several kinds, as in
// "x == nil or x == false or x == 0", and the test of a name that another part is about, as in "x and x > 0".
func (v *values) cover(e *parse.BinaryExpr) {
	kinds, mentioned := map[*parse.Var]Kinds{}, map[*parse.Var]int{}
	operands := parse.Operands(e, e.Op)
	for _, operand := range operands {
		if x, kind, _ := ConstantTest(operand); x != nil {
			kinds[x] |= kind
		}
		for _, x := range parse.NamesIn(operand) {
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
