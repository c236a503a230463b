package check

import (
	"slices"
	"strconv"
	"strings"

	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// keyArguments checks the words of a call that stand where the command has keys.
func (c *checker) keyArguments(call commandCall, cmd *command) {
	for _, s := range cmd.specs {
		for _, i := range keyPlaces(call, s) {
			c.keyArgument(call, cmd, i)
		}
	}
}

func (c *checker) keyArgument(call commandCall, cmd *command, i int) {
	e := call.words[i]
	shown := strings.ToUpper(strings.ReplaceAll(cmd.name, "|", " "))
	if !c.isKeyAt(call, i) {
		c.find(e.Pos(), Key, "%s takes a key here, and this is not surely one that is declared", shown)
		return
	}
	b := c.declaredKey(e)
	if b == nil || b.KeyKind == "any" || len(cmd.kinds) == 0 || slices.Contains(cmd.kinds, b.KeyKind) {
		return
	}
	// Sorted-set algebra takes sets too.
	if b.KeyKind == "set" && slices.Contains(setAlgebra, cmd.name) && i > 1 {
		return
	}
	c.find(e.Pos(), Kind, "%s is for a %s, and %s is declared a %s", shown,
		strings.Join(cmd.kinds, " or "), b.Name, b.KeyKind)
}

var setAlgebra = []string{
	"zunionstore", "zinterstore", "zdiffstore", "zunion", "zinter", "zdiff", "zintercard",
}

// isKeyAt reports whether a word of a call is a key, or stands for keys alone.
func (c *checker) isKeyAt(call commandCall, i int) bool {
	if i == len(call.words)-1 && call.open {
		return c.isKeyValues(call.words[i])
	}
	return c.isKey(call.words[i])
}

// keyPlaces returns which words of a call are keys. A last word that stands for many values is
// among them if every word from it on is a key.
func keyPlaces(call commandCall, s spec) []int {
	start := s.index
	if s.keyword != "" {
		start = findKeyword(call, s)
	}
	known := len(call.words)
	if call.open {
		known--
	}
	switch {
	case start <= 0 || start > known || start == len(call.words):
		return nil
	case s.keynum:
		return countedKeys(call, s, start, known)
	case s.last >= 0:
		return steps(start, min(start+s.last, len(call.words)-1), s.step)
	case !call.open && s.limit > 1:
		return steps(start, start+(known-start)/s.limit+s.last, s.step)
	case !call.open:
		return steps(start, known+s.last, s.step)
	case s.limit > 1 || s.step > 1 || s.last < -1:
		return nil // where the keys end is not known
	}
	return steps(start, len(call.words)-1, s.step)
}

// countedKeys returns the keys of a call that tells their number.
func countedKeys(call commandCall, s spec, start, known int) []int {
	at, first := start+s.numAt, start+s.firstKey
	if at >= known || first >= len(call.words) {
		return nil
	}
	if number, ok := call.words[at].(*parse.NumberExpr); ok {
		n, err := strconv.Atoi(number.Text)
		if err != nil || n <= 0 {
			return nil
		}
		return steps(first, min(first+(n-1)*s.step, known-1), s.step)
	}
	if text, ok := call.words[at].(*parse.StringExpr); ok {
		n, err := strconv.Atoi(text.Value)
		if err != nil || n <= 0 {
			return nil
		}
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

// findKeyword returns the place behind a literal keyword, 0 if there is none.
func findKeyword(call commandCall, s spec) int {
	from := s.from
	if from < 0 {
		return 0 // searched from the end; only MIGRATE, which scripts cannot use well
	}
	for i := from; i < len(call.words); i++ {
		if text, ok := call.words[i].(*parse.StringExpr); ok && strings.EqualFold(text.Value, s.keyword) {
			return i + 1
		}
	}
	return 0
}

// once calls f unless it runs for x already, as it does for names that are defined by each other;
// such a name is held to be what is asked.
func (c *checker) once(x *parse.Var, f func() bool) bool {
	if c.visiting[x] {
		return true
	}
	c.visiting[x] = true
	defer delete(c.visiting, x)
	return f()
}

// isKey reports whether an expression is surely a declared key, an element of a declared list, or
// begins with a declared prefix.
func (c *checker) isKey(e parse.Expr) bool {
	switch e := e.(type) {
	case *parse.ParenExpr:
		return c.isKey(e.X)
	case *parse.NameExpr:
		if e.Var == nil && !parse.KnownGlobal(e.Name) {
			return true // it is not declared, which is found elsewhere
		}
		return c.holds(e.Var, (*checker).isKey, func(b *parse.Binding) bool {
			return b.Kind == parse.Key && !b.Type.List
		})
	case *parse.IndexExpr:
		return c.isKeyList(e.X)
	case *parse.CallExpr:
		return c.returns(e, (*checker).isKey)
	case *parse.BinaryExpr:
		switch e.Op {
		case "..":
			return c.isPrefix(e.L)
		case "and":
			return c.isKey(e.R)
		case "or":
			return c.isKey(e.R) && (c.isKey(e.L) || isFalsy(e.L))
		}
	}
	return false
}

// isFalsy reports whether "e or x" is x whenever e is no key: e is nil or false.
func isFalsy(e parse.Expr) bool {
	switch e := e.(type) {
	case *parse.NilExpr:
		return true
	case *parse.BoolExpr:
		return !e.Value
	}
	return false
}

// isPrefix reports whether a text surely begins with a declared prefix.
func (c *checker) isPrefix(e parse.Expr) bool {
	switch e := e.(type) {
	case *parse.ParenExpr:
		return c.isPrefix(e.X)
	case *parse.NameExpr:
		return c.holds(e.Var, (*checker).isPrefix, func(b *parse.Binding) bool {
			return b.Kind == parse.Key && b.Prefix
		})
	case *parse.CallExpr:
		return c.returns(e, (*checker).isPrefix)
	case *parse.BinaryExpr:
		return e.Op == ".." && c.isPrefix(e.L)
	}
	return false
}

// isKeyList reports whether an expression is a declared list of keys, or a table into which only
// keys are put.
func (c *checker) isKeyList(e parse.Expr) bool {
	switch e := e.(type) {
	case *parse.ParenExpr:
		return c.isKeyList(e.X)
	case *parse.TableExpr:
		return !slices.ContainsFunc(e.Fields, func(f parse.Field) bool { return !c.isKey(f.Value) })
	case *parse.CallExpr:
		return c.returns(e, (*checker).isKeyList)
	case *parse.NameExpr:
		if e.Var == nil {
			return e.Name == "KEYS" || !parse.KnownGlobal(e.Name) // found elsewhere
		}
		for _, stored := range c.flow.stores[e.Var] {
			if stored == nil || !c.once(e.Var, func() bool { return c.isKey(stored) }) {
				return false
			}
		}
		return c.holds(e.Var, (*checker).isKeyList, func(b *parse.Binding) bool {
			return b.Kind == parse.Key && b.Type.List
		})
	}
	return false
}

// isKeyValues reports whether all values of an expression at the end of a call are keys.
func (c *checker) isKeyValues(e parse.Expr) bool {
	call, ok := e.(*parse.CallExpr)
	if !ok {
		return false
	}
	if isGlobal(call.Fn, "unpack") && len(call.Args) > 0 {
		return c.isKeyList(call.Args[0])
	}
	return c.isKey(call) // a function that returns a key
}

// quality is what is asked of an expression: isKey, isPrefix or isKeyList.
type quality func(*checker, parse.Expr) bool

// holds reports whether whatever a name may hold is as asked, or is declared as declared says.
func (c *checker) holds(x *parse.Var, is quality, declared func(*parse.Binding) bool) bool {
	switch {
	case x == nil || x.Kind == parse.IncludedVar:
		return false
	case x.Decl != nil:
		return declared(x.Decl)
	}
	if arg, ok := c.bound[x]; ok {
		return arg.expr != nil && is(arg.from, arg.expr)
	}
	return c.once(x, func() bool {
		p, isParam := c.flow.params[x]
		if isParam && !c.everyCall(p, is) || !isParam && len(c.flow.sources[x]) == 0 {
			return false
		}
		return !slices.ContainsFunc(c.flow.sources[x], func(s source) bool {
			return !c.sourceIs(s, is)
		})
	})
}

// sourceIs reports whether one thing that a name may hold is as asked. Nil is, since it fails.
func (c *checker) sourceIs(s source, is quality) bool {
	switch {
	case s.in != nil:
		return !s.index && c.isKeyList(s.in)
	case s.expr == nil || s.nth > 0:
		return false
	}
	_, isNil := s.expr.(*parse.NilExpr)
	return isNil || is(c, s.expr)
}

// everyCall reports whether every call of a local function passes what is asked. What a library's
// functions get is seen where they are called.
func (c *checker) everyCall(p param, is quality) bool {
	if c.s.Header.Library {
		return true
	}
	calls := c.flow.called[p.owner]
	if len(calls) == 0 || !c.flow.onlyCalled(p.owner) {
		return false
	}
	return !slices.ContainsFunc(calls, func(call *parse.CallExpr) bool {
		return p.n >= len(call.Args) || !is(c, call.Args[p.n])
	})
}

// returns reports whether every return of a local or included function that is called is as asked.
func (c *checker) returns(call *parse.CallExpr, is quality) bool {
	name, ok := call.Fn.(*parse.NameExpr)
	if !ok || name.Var == nil || call.Method != "" {
		return false
	}
	in, body := c, c.flow.bodies[name.Var]
	if name.Var.Kind == parse.IncludedVar {
		in, body = c.enter(call)
	}
	if body == nil || len(in.flow.returned[body]) == 0 {
		return false
	}
	return c.once(name.Var, func() bool {
		return !slices.ContainsFunc(in.flow.returned[body], func(e parse.Expr) bool {
			return e == nil || !is(in, e)
		})
	})
}

// declaredKey returns the binding that an expression surely is, if it is one alone.
func (c *checker) declaredKey(e parse.Expr) *parse.Binding {
	switch e := e.(type) {
	case *parse.ParenExpr:
		return c.declaredKey(e.X)
	case *parse.IndexExpr:
		return c.declaredKey(e.X)
	case *parse.BinaryExpr:
		if e.Op == ".." {
			return c.declaredKey(e.L)
		}
	case *parse.NameExpr:
		if e.Var == nil {
			return nil
		}
		if e.Var.Decl != nil {
			return e.Var.Decl
		}
		if sources := c.flow.sources[e.Var]; len(sources) == 1 && sources[0].in != nil {
			return c.declaredKey(sources[0].in)
		}
		if only, ok := c.flow.only(e.Var); ok && len(c.flow.stores[e.Var]) == 0 {
			var b *parse.Binding
			c.once(e.Var, func() bool { b = c.declaredKey(only); return true })
			return b
		}
	}
	return nil
}
