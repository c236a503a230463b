package flow

import (
	"slices"
	"strconv"
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
	if p.Quality == AKey && last && ok && parse.IsGlobal(unpacked.Fn, "unpack") && len(unpacked.Args) > 0 {
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
	switch e := parse.Unparen(e).(type) {
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
			return c.is(q, e.R) && (parse.IsFalsy(e.L) || c.is(q, e.L))
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
	case x.Decl != nil && (q == AChannel || q == aChannelPrefix):
		return x.Decl.Kind == parse.Channel && (q == AChannel || x.Decl.Prefix)
	case x.Decl != nil:
		return x.Decl.Kind == parse.Key && map[quality]bool{AKey: !x.Decl.Type.List, aPrefix: x.Decl.Prefix, aKeyList: x.Decl.Type.List}[q]
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

// Place is a word of a call that must have a quality.
type Place struct {
	Word    int
	Quality quality
}

// Places returns the words of a call that must be keys, or channels that are not written out.
func Places(call CommandCall, cmd *Command) []Place {
	var all []Place
	for _, s := range cmd.Specs {
		for _, i := range keyPlaces(call, s) {
			all = append(all, Place{i, AKey})
		}
	}
	if (cmd.Name == "publish" || cmd.Name == "spublish") && len(call.Words) > 1 {
		if _, literal := call.Words[1].(*parse.StringExpr); !literal {
			all = append(all, Place{1, AChannel})
		}
	}
	return all
}

// keyPlaces returns which words of a call are keys, among them a last one that stands for many values if all these are keys.
func keyPlaces(call CommandCall, s spec) []int {
	start := s.Index
	// From the end, which has a negative place, it is searched for MIGRATE alone, which scripts cannot use well.
	for i := s.from; s.keyword != "" && start == 0 && i >= 0 && i < len(call.Words); i++ {
		if parse.IsLiteral(call.Words[i], s.keyword) {
			start = i + 1
		}
	}
	known := call.Least()
	switch {
	case start <= 0 || start > known || start == len(call.Words):
		return nil
	case s.keynum:
		return countedKeys(call, s, start, known)
	case s.last >= 0:
		return steps(start, min(start+s.last, len(call.Words)-1), s.step)
	case !call.Open:
		return steps(start, start+(known-start)/max(s.limit, 1)+s.last, s.step)
	case s.limit > 1 || s.step > 1 || s.last < -1:
		return nil // where the keys end is not known
	}
	return steps(start, len(call.Words)-1, s.step)
}

// countedKeys returns the keys of a call that has their number as an argument.
func countedKeys(call CommandCall, s spec, start, known int) []int {
	at, first := start+s.numAt, start+s.firstKey
	if at >= known || first >= len(call.Words) {
		return nil
	}
	if text, ok := parse.ConstantText(call.Words[at]); ok {
		n, _ := strconv.Atoi(text)
		return steps(first, min(first+(n-1)*s.step, known-1), s.step)
	}
	// There is one at least.
	return []int{first}
}

func steps(from, to, step int) []int {
	var all []int
	for i := from; i <= to; i += max(step, 1) {
		all = append(all, i)
	}
	return all
}

// DeclaredKey returns the binding that an expression certainly is, if it is one alone. Names may be defined by each other.
func (c *code) DeclaredKey(e parse.Expr) *parse.Binding {
	for range MaxNames {
		x := parse.VarOf(parse.Unparen(e))
		if x != nil && len(c.Flow.Stores[x]) > 0 {
			return nil
		}
		switch inner := c.Origin(e).(type) {
		case *parse.IndexExpr:
			e = inner.X
		case *parse.BinaryExpr:
			if e = inner.L; inner.Op != ".." {
				return nil
			}
		case *parse.NameExpr:
			if inner.Var == nil {
				return nil
			}
			sources := c.Flow.Sources[inner.Var]
			if inner.Var.Decl != nil || len(sources) != 1 || sources[0].in == nil {
				return inner.Var.Decl
			}
			e = sources[0].in
		default:
			return nil
		}
	}
	return nil
}
