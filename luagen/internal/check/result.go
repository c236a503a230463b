package check

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// returns checks a return statement.
func (m *machine) returns(s *parse.ReturnStmt) {
	results := m.c.s.Header.Returns
	var first value
	for i, e := range s.Values {
		if v := m.eval(e); i == 0 {
			first = v
		}
	}
	if m.way != nil {
		m.leaves(s.P, first)
	}
	switch {
	case m.c.s.Raw && m.depth == 0:
		m.rawReturn(first, s.Values)
	case m.depth > 0 && len(s.Values) == 0:
		m.yield(value{is: isNil})
	case m.depth > 0:
		if first.hollow = m.mayBeEmpty(s.Values[0], first); first.hollow {
			first.listed = cmp.Or(first.listed, anyReply)
		}
		m.yield(first)
	case len(results) == 0:
	case len(s.Values) == 0:
		m.nothing(s.P)
	case len(results) == 1:
		m.use(first)
		m.result(results[0], first, s.Values[0].Pos())
	default:
		m.tuple(results, first, s.Values[0].Pos())
	}
}

// rawReturn checks what a raw script returns: only a nil before a value in a table is certainly wrong.
func (m *machine) rawReturn(v value, list []parse.Expr) {
	if len(list) == 0 {
		v = value{is: isNil}
	}
	if m.returned = append(m.returned, v); len(list) == 0 {
		return
	}
	table, ok := m.c.origin(list[0]).(*parse.TableExpr)
	if ok && !m.resp3 {
		m.namesIn(table)
	}
	if x := varOf(list[0]); ok && x != nil && len(x.Reads) == 1 { // It was made before, and is only returned.
		v = m.peek(table)
	}
	if !v.closed && len(list) == 1 {
		m.rawResult(1, 1, v, list[0])
	} else if v.closed && ok {
		m.rawElements(table.Fields, v)
	}
}

// namesIn finds the first field with a name in a table that is returned. Of those a reply has one alone, which says its kind.
func (m *machine) namesIn(table *parse.TableExpr) {
	for _, f := range table.Fields {
		name, ok := f.Key.(*parse.StringExpr)
		if ok && (len(table.Fields) > 1 || !slices.Contains([]string{"ok", "err", "double", "map", "set", "big_number"}, name.Value)) &&
			name.Value != "err" && name.Value != "format" && name.Value != "string" {
			m.find(name.Pos(), Result, "a reply has no names, so this is lost: return a list, or what cjson.encode makes of the table")
			return
		}
	}
}

// rawElements checks the elements of a table that a raw script returns.
func (m *machine) rawElements(fields []parse.Field, v value) {
	for i, item := range v.items {
		m.rawResult(len(v.items), i+1, item, fields[i].Value)
		last := i+1 == len(v.items) || v.items[i+1].is == isNil
		short := item.is == isNil|isNumber && m.inReturn(len(v.items), i+1, m.defaulted)
		if unset := m.unset(fields[i].Value); !last || i > 0 && (unset || short) {
			found := m.hole(item, v.places[i])
			m.unclear = m.unclear || unset && !found && item.is&isNil != 0
		}
	}
}

// appended finds a nil that is appended to a list, or that ends a list inside the reply.
func (m *machine) appended(list parse.Expr, item value, pos parse.Pos) {
	for i := 0; i+1 < len(item.places) && m.c.flow.replied[varOf(list)]; i++ {
		m.hole(item.items[i], item.places[i])
	}
	if item.is&isNil != 0 && m.mayMiss(item) {
		m.find(pos, Result, "this may be nil, and then nothing is inserted: insert false in its place")
	}
}

// rawResult checks one of the results of a raw script, of which another return may have the text, or in another unit.
func (m *machine) rawResult(of, i int, v value, e parse.Expr) {
	place := root{"result " + itoa(i) + " of " + itoa(of), 1}
	m.meet(e.Pos(), value{number: number{roots: []root{place}}}, v)
	m.rounded(e)
	if v.surely(isNumber) && m.fraction(e, v) && !m.called(e, restName) {
		m.find(e.Pos(), Result, lostFraction)
	}
}

// restName is of numbers of which a script returns the whole part.
var restName = regexp.MustCompile(`\b(?:remaining|tokens?|count|cost|bucket|slots?)$`)

// defaulted reports whether an expression is a constant, or has a constant in the place of what is missing.
func (m *machine) defaulted(e parse.Expr) bool {
	return constantKind(e) == isNumber || m.c.flow.within(e, func(e parse.Expr) bool {
		b, ok := e.(*parse.BinaryExpr)
		return ok && b.Op == "or" && constantKind(b.R)&(isNumber|isText) != 0
	})
}

// inReturn reports whether something is so of the i-th of as many elements that a script returns.
func (m *machine) inReturn(of, i int, is func(parse.Expr) bool) bool {
	returned := m.c.flow.returned[nil]
	return slices.ContainsFunc(returned[:min(len(returned), 50)], func(e parse.Expr) bool {
		table, ok := e.(*parse.TableExpr)
		return ok && len(table.Fields) == of && is(table.Fields[i-1].Value)
	})
}

// unset reports whether an expression is a name that is made without a value, and never set to nil: that it is nil is not meant.
func (m *machine) unset(e parse.Expr) bool {
	x := varOf(e)
	return x != nil && x.Decl == nil && len(x.Writes) > 0 && len(x.Writes) == len(m.c.flow.sources[x]) && !slices.ContainsFunc(m.c.flow.sources[x], func(s source) bool {
		return s.expr == nil || isFalsy(s.expr)
	})
}

// end checks that control does not come to the end of a script that has a result.
func (m *machine) end() {
	stmts := m.c.s.Body.Stmts
	if !m.state.dead && len(stmts) > 0 && len(m.c.s.Header.Returns) > 0 {
		m.nothing(stmts[len(stmts)-1].Pos())
	}
}

// nothing finds a path that returns nothing.
func (m *machine) nothing(pos parse.Pos) {
	results := m.c.s.Header.Returns
	switch {
	case m.c.s.Header.None != nil:
	case len(results) > 1:
		m.find(pos, Result, "a path ends here without the results %s and so on", results[0].Name)
	case !mayBeNil(results[0].Type):
		m.find(pos, Result, "a path ends here without a result: %s", declares(results[0]))
	}
}

func mayBeNil(t parse.Type) bool { return (t.Optional || t.Name == "bool") && !t.List }

func typeText(t parse.Type) string {
	if t.List {
		return t.String() + "[]"
	}
	return t.String()
}

// declares says of which type a result is.
func declares(r *parse.Result) string { return r.Name + " is declared " + typeText(r.Type) }

// tuple checks the value of a script that returns several results.
func (m *machine) tuple(results []*parse.Result, v value, pos parse.Pos) {
	switch {
	case v.is == isFailed, v.is&^absent == 0 && m.c.s.Header.None != nil:
		return
	case v.is&(isTable|isFailed) == 0:
		m.find(pos, Result, "this is %s, and %d results are a table", v.is, len(results))
		return
	case v.is != isTable || !v.closed:
		return
	case len(v.items) != len(results):
		m.find(pos, Result, "this is a table of %d, and there are %d results", len(v.items),
			len(results))
		return
	}
	for i, item := range v.items {
		if !m.hole(item, v.places[i]) {
			m.result(results[i], item, v.places[i])
		}
	}
}

// hole finds an element of a reply that is nil, or certainly may be: what follows it is cut off.
func (m *machine) hole(item value, pos parse.Pos) bool {
	m.hints++
	since := item.nilAt > 0 && item.nilAt == m.state.at
	if item.is != isNil && (item.is&isNil == 0 || m.way != nil || !since && !m.mayMiss(item)) {
		return false
	}
	is := map[bool]string{true: "is nil", false: "may be nil"}[item.is == isNil && m.way == nil]
	if m.way == nil || m.independent(item.nilAt) {
		m.findAlways(pos, Result, "this %s, which ends the array: put false in its place", is)
	}
	return true
}

// accepted has, by the name of a type, the kinds of replies from which the wrapper reads a result.
var accepted = map[string]kinds{
	"string": isText | isNumber | isTrueValue | isStatus,
	"bytes":  isText | isNumber | isTrueValue | isStatus,
	"bool":   isNumber | boolean | isNil,
	"scores": isTable,
}

func accepts(t parse.Type) kinds {
	if t.List || t.Hash != nil {
		return isTable
	}
	if k, ok := accepted[t.Name]; ok {
		return k
	}
	return isText | isNumber | isTrueValue
}

// result checks one result of a script.
func (m *machine) result(r *parse.Result, v value, pos parse.Pos) {
	rest := v.is &^ (absent | isFailed)
	m.meet(pos, value{number: number{unit: units[r.Type.Name]}}, v)
	switch {
	case v.is&^absent == 0 && !mayBeNil(r.Type):
		m.find(pos, Result, "this is nil for the wrapper, and %s", declares(r))
	case rest != 0 && rest&accepts(r.Type) == 0:
		m.find(pos, Result, "this is %s, and %s%s", rest, declares(r), remedy(rest, r.Type))
	case v.is&^isFailed == boolean && !mayBeNil(r.Type):
		m.find(pos, Result, "false arrives as nil, and %s: write (...) and 1 or 0", declares(r))
	case rest == isText && (v.word && numeric(r.Type) || v.frac && numeric(r.Type) && r.Type.Name != "float"):
		m.find(pos, Result, "this text is no whole number, and %s", declares(r))
	case r.Type.Name == "scores" && v.elem != nil && v.elem.role == aMember:
		m.find(pos, Result, "these are members without their scores, and %s: write WITHSCORES", declares(r))
	case r.Type.Hash != nil && v.from != nil:
		m.hash(r, v, pos)
	case r.Type.List && v.is == isTable:
		m.elementsOf(r, v, pos)
	case rest == isNumber:
		m.sum(v, r)
		m.cut(r, v, pos)
	}
}

// remedy says what to write for a status reply that is declared a bool.
func remedy(k kinds, t parse.Type) string {
	if k == isStatus && t.Name == "bool" {
		return "; write (...) and 1 or 0"
	}
	return ""
}

// numeric reports whether a wrapper reads a number.
func numeric(t parse.Type) bool { return accepts(t) == isText|isNumber|isTrueValue }

// elementsOf checks the elements of a list that is returned.
func (m *machine) elementsOf(r *parse.Result, v value, pos parse.Pos) {
	element := *r
	element.Type.List = false
	if v.elem != nil && v.elem.is == isText|isFalseValue && !mayBeNil(element.Type) {
		m.find(pos, Result, "an element of this is nil if there is none, and %s: write %s?[]",
			declares(r), element.Type)
	}
	for i, item := range v.items {
		if i < len(v.places) && !m.hole(item, v.places[i]) {
			m.result(&element, item, v.places[i])
		}
	}
}

const lostFraction = "a number loses its fraction in a reply: return a text, as string.format('%%.17g', ...) makes it"

// cut finds a number whose fraction does not arrive.
func (m *machine) cut(r *parse.Result, v value, pos parse.Pos) {
	if r.Type.Name == "float" && !v.whole || r.Type.Name != "bool" && v.frac {
		m.find(pos, Result, lostFraction)
	}
}

// errorReply finds redis.error_reply('CODE'): without a message behind it that is no code.
func (m *machine) errorReply(e *parse.CallExpr) {
	s, ok := m.c.origin(e.Args[0]).(*parse.StringExpr)
	if ok && errorCode.MatchString(s.Value) {
		m.find(e.Args[0].Pos(), Result, "a code without a message arrives as ERR %s: "+
			"write a message behind it", strings.TrimPrefix(s.Value, "-"))
	}
}

var errorCode = regexp.MustCompile(`^-?[A-Z][A-Z0-9_]*$`)
