package check

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// function follows the body of a function, once. When it runs, each variable that is assigned anywhere may have another
// value.
func (m *machine) function(f *parse.FuncExpr) {
	if m.quiet > 0 || m.frames[f] != nil {
		return
	}
	outer, start := *m, newState()
	for x, v := range joinAll(m.here, m.state.at).vars {
		if len(x.Writes) == 0 {
			start.vars[x] = v
		}
	}
	m.branch++
	start.at = m.branch
	m.frame, m.broken, m.depth = newFrame(), nil, m.depth+1
	m.frames[f], m.frame.params = m.frame, maps.Clone(outer.frame.params)
	for _, p := range f.Params {
		if !m.c.volatile[p] && len(p.Writes) == 0 {
			start.set(p, value{is: anything, missing: anArgument + p.Name})
			m.frame.params[anArgument+p.Name] = p
		}
	}
	m.closes(m.block([]*state{start}, f.Body))
	m.frame.yields = m.frame.yields.elsewhere()
	outer.frame.calls += m.frame.calls
	outer.branch, outer.helps = m.branch, m.helps || len(m.frame.given) > 0
	*m = outer
}

// plainly reports whether a function calls no command, and nothing that is not known.
func (m *machine) plainly(f *parse.FuncExpr) bool {
	frame := m.frames[f]
	return frame != nil && frame.calls == 0
}

// yield notes a value that the function that is followed returns, if control comes here.
func (m *machine) yield(v value) {
	if !m.state.dead {
		m.frame.yields = join(m.frame.yields, v, 0)
	}
}

// elsewhere returns what of a value still holds where another time or place may be.
func (v value) elsewhere() value {
	kept := value{is: v.is, number: v.number, word: v.word, known: v.known, most: v.most, pairs: v.pairs, role: v.role, endless: v.endless, listed: v.listed, hollow: v.hollow,
		missing: v.missing, decoded: v.decoded}
	kept.least, kept.low, kept.by = 0, false, nil
	if v.closed {
		kept.is |= isStatus | isFailed // The caller may put more into it.
	} else if v.elem != nil {
		element := v.elem.elsewhere()
		element.missing = ""
		kept.elem, kept.items = &element, v.items
	}
	return kept.orUnknown()
}

// numbered returns which argument of a call a local function makes a number, if it does nothing else, or -1.
func (m *machine) numbered(e *parse.CallExpr) int {
	body := m.c.flow.bodies[varOf(e.Fn)]
	if body == nil || len(body.Body.Stmts) != 1 || len(m.c.flow.returned[body]) != 1 || m.c.flow.returned[body][0] == nil {
		return -1
	}
	x := varOf(m.passed(m.c.flow.returned[body][0], "tonumber"))
	return slices.IndexFunc(body.Params[:min(len(body.Params), len(e.Args))], func(p *parse.Var) bool { return p == x })
}

// resultOf returns what is known of the result of a local function, unknown if it was not followed yet.
func (m *machine) resultOf(e *parse.CallExpr, args []value) value {
	name, ok := e.Fn.(*parse.NameExpr)
	if !ok || e.Method != "" {
		return unknown()
	}
	if i := m.numbered(e); i >= 0 {
		return toNumber(args[i], e.P)
	}
	f := m.frames[m.c.flow.bodies[name.Var]]
	if f == nil || f == m.frame {
		return unknown()
	}
	v := f.yields
	v.missing = m.passedOn(v.missing, m.c.flow.bodies[name.Var], e)
	return m.named(name.Name, said(name.Name, inName), v, e.P)
}

// passedOn returns what a value is a reply about that a function has returned, in the words of a call of the function.
func (m *machine) passedOn(missing string, f *parse.FuncExpr, e *parse.CallExpr) string {
	parts := strings.Split(missing, "\n")
	for i, p := range f.Params[:min(len(f.Params), len(e.Args))] {
		for j, part := range parts {
			if part == fixed(&parse.NameExpr{Var: p}) {
				parts[j] = m.keyText(e.Args, i)
			}
		}
	}
	missing = strings.Join(parts, "\n")
	if !strings.HasPrefix(missing, "KEYS ") || slices.Contains(parts, "") || strings.Contains(missing, "@") ||
		slices.ContainsFunc(answers(missing), func(what any) bool { return m.state.knows(later(what.(string))) }) {
		return ""
	}
	return missing
}

// single reports whether a call certainly has one value: that of a command has.
func (c *code) single(e parse.Expr) bool {
	call, ok := e.(*parse.CallExpr)
	if !ok {
		return false
	}
	_, isCommand := c.words(call)
	name := c.callee(call)
	return isCommand && name != "pcall" || name != "string.gsub" && slices.Contains(textFunctions, name) ||
		slices.Contains([]string{"cjson.decode", "math.abs", "math.ceil", "math.floor", "math.max", "math.min", "tonumber"}, name)
}

// ofDigits is a pattern whose first capture is a number.
var ofDigits = regexp.MustCompile(`^[^(]*\(%d\+\)|^\^?%d\+\$?$`)

// textFunctions return a text.
var textFunctions = []string{
	"string.char", "string.format", "string.gsub", "string.lower", "string.rep", "string.reverse",
	"string.sub", "string.upper", "table.concat", "cjson.encode", "cmsgpack.pack", "struct.pack",
	"redis.sha1hex", "type", "tostring",
}

// callee returns the name of a function of the server that is called, such as "string.sub".
func (c *code) callee(call *parse.CallExpr) string {
	if call.Method != "" {
		return ""
	}
	switch fn := c.origin(call.Fn).(type) {
	case *parse.NameExpr:
		if fn.Var == nil {
			return fn.Name
		}
	case *parse.IndexExpr:
		lib, isName := c.origin(fn.X).(*parse.NameExpr)
		key, isString := fn.Key.(*parse.StringExpr)
		if isName && isString && lib.Var == nil {
			return lib.Name + "." + key.Value
		}
	}
	return ""
}

func (m *machine) call(e *parse.CallExpr) value {
	if words, ok := m.c.words(e); ok {
		v := m.command(e, words)
		v.of = m.keyText(words, 1)
		return v
	}
	if name, isName := e.Fn.(*parse.NameExpr); !isName || e.Method != "" {
		m.uses(called, e.Fn, m.eval(e.Fn).itself())
	} else if name.Var != nil && name.Var.Decl != nil {
		m.see(sight{use: called, e: name})
	}
	name, args := m.c.callee(e), m.arguments(e)
	if name == "" && m.quiet == 0 && m.numbered(e) < 0 {
		if !m.straight(m.c.flow.bodies[varOf(e.Fn)]) {
			m.asks(m.state.at, e)
		}
		if m.helps { // it may give keys an expiry
			clear(m.state.fresh)
		}
	}
	v := m.outcome(name, e, args)
	v.about(name, args)
	return v
}

// straight reports whether a function has no condition, and so shows nothing about what it reads.
func (m *machine) straight(f *parse.FuncExpr) bool {
	return f != nil && !slices.ContainsFunc(statements(f.Body), func(s parse.Stmt) bool {
		call, isCall := s.(*parse.CallStmt)
		_, isReturn := s.(*parse.ReturnStmt)
		return len(parse.Blocks(s)) > 0 || isCall && !m.isSent(call.Call) || !isReturn && !isCall && declaredBy(s) == nil
	}) && !slices.ContainsFunc(m.c.flow.calls, func(e *parse.CallExpr) bool {
		return m.c.flow.blocks[e] == f.Body && m.c.callee(e) == "" && !m.isSent(e)
	})
}

// isSent reports whether a call is one of a command.
func (m *machine) isSent(e *parse.CallExpr) bool {
	_, ok := m.c.words(e)
	return ok
}

// arguments evaluates what a function gets.
func (m *machine) arguments(e *parse.CallExpr) []value {
	args := make([]value, len(e.Args))
	for i, arg := range e.Args {
		args[i] = m.eval(arg)
	}
	if body := m.c.flow.bodies[varOf(e.Fn)]; body != nil {
		for i := range min(len(args), len(body.Params)) {
			m.named(body.Params[i].Name, m.c.says(body.Params[i]), args[i], e.Args[i].Pos())
			m.see(sight{use: taken, e: e.Args[i], f: &parse.NameExpr{Var: body.Params[i]}, v: args[i]})
		}
	}
	return args
}

// outcome returns the result of a function.
func (m *machine) outcome(name string, e *parse.CallExpr, args []value) value {
	if len(args) > 0 {
		if v, ok := m.numeric(name, e, args); ok {
			return v
		}
		m.given(name, e, args)
	}
	switch {
	case name == "math.random":
		return value{is: isNumber, number: number{frac: len(args) == 0, whole: len(args) > 0}}
	case name == "redis.error_reply":
		return value{is: isFailed}
	case name == "redis.status_reply":
		return value{is: isStatus}
	case name == "tostring" && len(args) > 0:
		return asText(args[0])
	case name == "cjson.decode" && len(args) > 0:
		v := value{is: anything, decoded: true}
		if b, ok := m.c.origin(e.Args[0]).(*parse.BinaryExpr); ok && isLiteral(b.R, "[]") {
			v.hollow, v.listed = true, anyReply
		}
		return v
	case name == "string.match" && len(args) == 2:
		if pattern, ok := constantText(m.c.origin(e.Args[1])); ok && !strings.Contains(pattern, "()") { // which is a place
			return value{is: isText | isNil, free: !ofDigits.MatchString(pattern)}
		}
	case slices.Contains(textFunctions, name):
		return textValue()
	}
	return m.resultOf(e, args)
}

// given passes on what a function of the server gets.
func (m *machine) given(name string, e *parse.CallExpr, args []value) {
	m.see(sight{use: given, e: e, name: name, args: args})
	if strings.HasPrefix(name, "string.") {
		m.uses(passed, e.Args[0], args[0].itself())
	}
	switch last := len(args) - 1; name {
	case "ipairs", "pairs", "table.concat", "cjson.decode", "cmsgpack.unpack":
		m.uses(passed, e.Args[0], args[0])
	case "string.format":
		m.format(e, args)
	case "unpack":
		m.unpacked(e.Args, args[0])
	case "table.insert":
		m.see(sight{use: inserted, e: e.Args[last], f: e.Args[0], v: args[last]})
		m.put(e.Args[0], args[last], e.Args[last], "")
	}
}

// format passes on what string.format gets.
func (m *machine) format(e *parse.CallExpr, args []value) {
	layout, _ := m.c.origin(e.Args[0]).(*parse.StringExpr)
	if layout == nil {
		return
	}
	for i, verb := range formatVerb.FindAllString(strings.ReplaceAll(layout.Value, "%%", ""), -1) {
		if i+1 >= len(args) {
			return
		}
		v, arg := args[i+1], e.Args[i+1]
		m.see(sight{use: formatted, e: arg, v: v, name: verb})
		if strings.HasSuffix(verb, "s") {
			m.uses(passed, arg, v.itself())
		} else {
			m.uses(inArithmetic, arg, v)
		}
	}
}

var formatVerb = regexp.MustCompile(`%[-+ #0-9.]*[a-zA-Z]`)

// asText returns what tostring makes of a value.
func asText(v value) value {
	if v.is != isText {
		return value{is: isText, number: number{unit: v.unit, roots: v.roots}}
	}
	return v
}

// returns evaluates a return statement.
func (m *machine) returns(s *parse.ReturnStmt) {
	first := m.nothing()
	for i, e := range s.Values {
		if v := m.eval(e); i == 0 {
			first = v
		}
	}
	m.leaves(s.P, first)
	m.see(sight{use: returned, stmt: s, v: first})
	if m.depth == 0 {
		m.frame.returned = append(m.frame.returned, first)
		return
	}
	if len(s.Values) > 0 {
		if first.hollow = m.mayBeEmpty(s.Values[0], first); first.hollow {
			first.listed = cmp.Or(first.listed, anyReply)
		}
	}
	m.yield(first)
}
