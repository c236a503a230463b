package flow

import "github.com/hasp-go/hasp/luagen/internal/parse"

// What stands in a script to be on the safe side is no mistake: it is careful.

// defaults notes "if not x then x = 0 end".
func (v *values) defaults(s *parse.IfStmt) {
	for i, cond := range s.Conds {
		if x, _, test := constantTest(cond); len(s.Blocks[i].Stmts) == 1 && assigned(s.Blocks[i])[x] {
			v.Careful[test] = true
		}
	}
}

// compares notes what is compared: "not n == 1" is one mistake.
func (v *values) compares(e *parse.BinaryExpr) {
	if not, ok := Unparen(e.L).(*parse.UnaryExpr); ok {
		v.Careful[Unparen(not.X)] = true
	}
	v.Careful[e.L], v.Careful[e.R] = true, true
}

// cover notes what stands in a chain of "or" or "and": the comparisons of a name with constants of several kinds, as in
// "x == nil or x == false or x == 0", and the test of a name that another part is about, as in "x and x > 0".
func (v *values) cover(e *parse.BinaryExpr) {
	kinds, mentioned := map[*parse.Var]Kinds{}, map[*parse.Var]int{}
	operands := v.chain(e)
	for _, operand := range operands {
		if x, kind, _ := constantTest(operand); x != nil {
			kinds[x] |= kind
		}
		for _, x := range NamesIn(operand) {
			mentioned[x]++
		}
	}
	for _, operand := range operands {
		x, kind, test := constantTest(operand)
		_, compares := test.(*parse.BinaryExpr)
		unsafe := kind == IsNil && kinds[x]&IsFalseValue == 0 // a nil reply is false
		if x != nil && (compares && kinds[x] != kind && !unsafe || !compares && mentioned[x] > 1) {
			v.Careful[test] = true
		}
	}
}

// chain returns the operands of a chain of "or", or of "and"; none for a part of a chain that was seen before.
func (v *values) chain(e *parse.BinaryExpr) (operands []parse.Expr) {
	if v.chained[e] {
		return nil
	}
	rest := []parse.Expr{e}
	for len(rest) > 0 {
		last := Unparen(rest[len(rest)-1])
		rest = rest[:len(rest)-1]
		if b, ok := last.(*parse.BinaryExpr); ok && b.Op == e.Op {
			v.chained[b] = true
			rest = append(rest, b.L, b.R)
		} else {
			operands = append(operands, last)
		}
	}
	return operands
}
