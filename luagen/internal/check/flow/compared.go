package flow

import "github.com/hasp-go/hasp/luagen/internal/parse"

// The time that a command gets for an expiry is checked here, and whether the script lets 0 by.

// comparison is one of an expression, by its subject.
type comparison struct {
	of, Op string
	With   parse.Expr
}

// comparisons returns those of a script, from both sides, nil if there are too many.
func (c *code) comparisons() []comparison {
	all := []comparison{}
	for _, e := range c.Flow.Exprs {
		if b, ok := e.(*parse.BinaryExpr); ok && negated[b.Op] != "" {
			all = append(all, comparison{c.Spelling(b.L), b.Op, b.R}, comparison{c.Spelling(b.R), Mirrored[b.Op], b.L})
		}
		if len(all) > MaxWithin {
			return nil
		}
	}
	return all
}

// ComparedWith returns the comparisons of an expression with anything but nil and false.
func (c *code) ComparedWith(e parse.Expr) (all []comparison) {
	subject := c.Spelling(e)
	for _, by := range c.Compared {
		if by.of == subject && !IsFalsy(by.With) {
			all = append(all, by)
		}
	}
	return all
}

// Spelling returns a text for an argument, or for an expression as it is spelt, without tonumber and tostring.
func (c *code) Spelling(e parse.Expr) string {
	call, ok := Unparen(e).(*parse.CallExpr)
	if n := c.Nth(e, "ARGV"); n > 0 {
		return "ARGV " + Itoa(n)
	} else if ok && len(call.Args) == 1 && (c.Callee(call) == "tonumber" || c.Callee(call) == "tostring") {
		return c.Spelling(call.Args[0])
	}
	return Spelt(Unparen(e))
}

// Factor returns what is multiplied by a number that is written out to make an expression.
func (c *code) Factor(e parse.Expr) parse.Expr {
	if b, ok := c.Origin(e).(*parse.BinaryExpr); ok && b.Op == "*" && ConstantKind(b.R) == IsNumber {
		return b.L
	}
	return e
}
