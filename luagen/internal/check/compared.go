package check

import "github.com/hasp-go/hasp/luagen/internal/parse"

// The time that a command gets for an expiry is checked here, and whether the script lets 0 by.

// comparison is one of an expression, by its subject.
type comparison struct {
	of, op string
	with   parse.Expr
}

// comparisons returns those of a script, from both sides, nil if there are too many.
func (c *code) comparisons() []comparison {
	all := []comparison{}
	for _, e := range c.flow.exprs {
		if b, ok := e.(*parse.BinaryExpr); ok && negated[b.Op] != "" {
			all = append(all, comparison{c.spelling(b.L), b.Op, b.R}, comparison{c.spelling(b.R), mirrored[b.Op], b.L})
		}
		if len(all) > maxWithin {
			return nil
		}
	}
	return all
}

// comparedWith returns the comparisons of an expression with anything but nil and false.
func (c *code) comparedWith(e parse.Expr) (all []comparison) {
	subject := c.spelling(e)
	for _, by := range c.compared {
		if by.of == subject && !isFalsy(by.with) {
			all = append(all, by)
		}
	}
	return all
}

// spelling returns a text for an argument, or for an expression as it is spelt, without tonumber and tostring.
func (c *code) spelling(e parse.Expr) string {
	call, ok := unparen(e).(*parse.CallExpr)
	if n := c.nth(e, "ARGV"); n > 0 {
		return "ARGV " + itoa(n)
	} else if ok && len(call.Args) == 1 && (c.callee(call) == "tonumber" || c.callee(call) == "tostring") {
		return c.spelling(call.Args[0])
	}
	return spelt(unparen(e))
}

// factor returns what is multiplied by a number that is written out to make an expression.
func (c *code) factor(e parse.Expr) parse.Expr {
	if b, ok := c.origin(e).(*parse.BinaryExpr); ok && b.Op == "*" && constantKind(b.R) == isNumber {
		return b.L
	}
	return e
}
