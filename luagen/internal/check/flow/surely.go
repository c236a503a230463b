package flow

import (
	"slices"
	"strings"

	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// quality is what is asked of an expression.
type quality int

const (
	AKey     quality = iota // a declared key, an element of a list of keys, or text with a prefix
	aPrefix                 // text that begins with a declared prefix
	aKeyList                // a declared list of keys, or a table into which only keys are put

	AChannel       // a declared channel, or text that begins with one that is a prefix
	aChannelPrefix // text that begins with a declared prefix of channels

	AForeign // of a raw script: it is made without KEYS, and without a hash tag
	AWritten // text that begins with a literal
	AGiven   // ARGV, or an element of it
)

// beginning is the quality that text needs at its front to have another; none for lists.
var beginning = map[quality]quality{
	AKey: aPrefix, aPrefix: aPrefix, AChannel: aChannelPrefix, aChannelPrefix: aChannelPrefix, AForeign: AForeign,
	AWritten: AWritten,
}

// ofElements is the quality that a table's elements need for it to have another; ofTables is the other way round.
var (
	ofElements = map[quality]quality{aKeyList: AKey, AForeign: AForeign}
	ofTables   = map[quality]quality{AKey: aKeyList, AForeign: AForeign, AGiven: AGiven}
)

// question is a quality that is asked of all that a name may hold.
type question struct {
	quality quality
	of      *parse.Var
}

// IsAt reports whether a word of a call certainly is what its place asks for, or certainly stands for such values alone.
func (c *code) IsAt(call CommandCall, p Place) bool {
	e := call.Words[p.Word]
	unpacked, ok := e.(*parse.CallExpr)
	last := p.Word == len(call.Words)-1
	if p.Quality == AKey && last && ok && isGlobal(unpacked.Fn, "unpack") && len(unpacked.Args) > 0 {
		return c.Certainly(aKeyList, unpacked.Args[0])
	}
	return c.Certainly(p.Quality, e)
}

// Certainly asks a question about an expression that no other has led to.
func (c *code) Certainly(q quality, e parse.Expr) bool {
	// An answer is yes only if that of every question on the way is: so a name that is asked for
	// again, by itself or by another, may be taken for what is asked until something else is not.
	c.asked = map[question]bool{}
	return c.is(q, e)
}

// is reports whether an expression certainly has a quality.
func (c *code) is(q quality, e parse.Expr) bool {
	switch e := e.(type) {
	case *parse.ParenExpr:
		return c.is(q, e.X)
	case *parse.NameExpr:
		return c.nameIs(q, e)
	case *parse.CallExpr:
		return c.returns(q, e)
	case *parse.StringExpr:
		return q == AForeign && !strings.Contains(e.Value, "{") || q == AWritten && e.Value != "" && e.Value[0] != '%'
	case *parse.NumberExpr:
		return q == AForeign
	case *parse.IndexExpr:
		table, ok := ofTables[q]
		return ok && c.is(table, e.X)
	case *parse.TableExpr:
		element, ok := ofElements[q]
		return ok && !slices.ContainsFunc(e.Fields, func(f parse.Field) bool { return !c.is(element, f.Value) })
	case *parse.BinaryExpr:
		switch e.Op {
		case "..":
			front, ok := beginning[q]
			return ok && c.is(front, e.L) && (q != AForeign || c.is(q, e.R))
		case "and":
			return c.is(q, e.R)
		case "or":
			return c.is(q, e.R) && (IsFalsy(e.L) || c.is(q, e.L))
		}
	}
	return false
}

// nameIs reports whether all that a name may hold has a quality.
func (c *code) nameIs(q quality, e *parse.NameExpr) bool {
	x := e.Var
	switch {
	case x == nil:
		// Undeclared keys, and KEYS, are found elsewhere.
		return (q == AForeign || q == AGiven) && e.Name == "ARGV" || q < AForeign && !parse.KnownGlobal(e.Name) || q == aKeyList && e.Name == "KEYS"
	case x.Kind == parse.IncludedVar:
		return false
	case x.Decl != nil:
		return declaredAs(q, x.Decl)
	}
	if arg, ok := c.bound[x]; ok {
		if arg.expr == nil {
			return false
		}
		arg.from.asked = c.asked // It is one question.
		return arg.from.is(q, arg.expr)
	}
	if c.asked[question{q, x}] {
		return true
	}
	c.asked[question{q, x}] = true
	return c.storesAre(q, x) && c.sourcesAre(q, x)
}

func declaredAs(q quality, b *parse.Binding) bool {
	switch q {
	case AKey:
		return b.Kind == parse.Key && !b.Type.List
	case aPrefix:
		return b.Kind == parse.Key && b.Prefix
	case AChannel:
		return b.Kind == parse.Channel
	case aChannelPrefix:
		return b.Kind == parse.Channel && b.Prefix
	}
	return b.Kind == parse.Key && b.Type.List
}

// storesAre reports whether all that is put into a name's table are keys, if that is asked.
func (c *code) storesAre(q quality, x *parse.Var) bool {
	element, ok := ofElements[q]
	return !ok || !slices.ContainsFunc(c.Flow.sameTable(x), func(x *parse.Var) bool {
		return slices.ContainsFunc(c.Flow.Stores[x], func(e parse.Expr) bool { return e == nil || !c.is(element, e) })
	})
}

// sourcesAre reports whether all that is assigned to a name, or passed to it, has a quality.
func (c *code) sourcesAre(q quality, x *parse.Var) bool {
	p, isParam := c.Flow.Params[x]
	if isParam && !c.everyCall(q, p) || !isParam && len(c.Flow.Sources[x]) == 0 {
		return false
	}
	return !slices.ContainsFunc(c.Flow.Sources[x], func(s Source) bool {
		switch {
		case s.in != nil:
			table, ok := ofTables[q]
			return !ok || s.index || !c.is(table, s.in)
		case s.Expr == nil || s.Nth > 0:
			return true
		}
		_, isNil := s.Expr.(*parse.NilExpr) // a command that gets it fails
		return !isNil && !c.is(q, s.Expr)
	})
}

// everyCall reports whether every call of a local function passes what is asked for. A library's are checked where they are.
func (c *code) everyCall(q quality, p param) bool {
	if c.S.Header.Library {
		return true
	}
	calls := c.Flow.Called[p.Owner]
	return len(calls) > 0 && len(calls) == len(p.Owner.Reads) && !slices.ContainsFunc(calls, func(call *parse.CallExpr) bool {
		return p.N >= len(call.Args) || !c.is(q, call.Args[p.N])
	})
}

// returns reports whether every return of a local or included function that is called has a quality.
func (c *code) returns(q quality, call *parse.CallExpr) bool {
	if q == AWritten {
		return c.Callee(call) == "string.format" && len(call.Args) > 0 && c.is(q, call.Args[0])
	} else if q == AForeign {
		_, replied := c.words(call)
		made := Is(c.Callee(call), "passing") && !slices.ContainsFunc(call.Args, func(e parse.Expr) bool { return !c.is(q, e) })
		if replied || made {
			return true
		}
	}
	name, ok := call.Fn.(*parse.NameExpr)
	if !ok || name.Var == nil || call.Method != "" {
		return false
	}
	in, body := c.Enter(call)
	if body == nil {
		body = c.Flow.Bodies[name.Var]
		if c.asked[question{q, name.Var}] {
			return true
		}
		c.asked[question{q, name.Var}] = true
	}
	if body == nil || len(in.Flow.Returned[body]) == 0 {
		return false
	}
	return !slices.ContainsFunc(in.Flow.Returned[body], func(e parse.Expr) bool {
		return e == nil || !in.is(q, e)
	})
}
