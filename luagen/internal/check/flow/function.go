package flow

import (
	"cmp"
	"slices"
	"strings"

	"github.com/hasp-go/hasp/luagen/internal/parse"
	"github.com/hasp-go/hasp/luagen/internal/units"
)

// function follows the body of a function, once. When it runs, each variable that is assigned anywhere may have another value.
func (m *Machine) function(f *parse.FuncExpr) {
	if m.Quiet > 0 || m.Frames[f] != nil {
		return
	}
	outer, start := *m, NewState()
	for x, v := range joinAll(m.here).vars {
		if len(x.Writes) == 0 {
			start.vars[x] = v
		}
	}
	m.branch++
	start.At = m.branch
	m.Frame, m.broken, m.Depth = newFrame(), nil, m.Depth+1
	m.Frames[f] = m.Frame
	m.closes(m.block([]*state{start}, f.Body))
	m.Frame.yields = m.Frame.yields.elsewhere()
	outer.Frame.calls += m.Frame.calls
	outer.branch = m.branch
	*m = outer
}

// yield notes a value that the function that is followed returns, if control comes here.
func (m *Machine) yield(v Value) {
	if !m.State.Dead {
		m.Frame.yields = Join(m.Frame.yields, v)
	}
}

// elsewhere returns what of a value still holds where another time or place may be.
func (v Value) elsewhere() Value {
	kept := Value{Is: v.Is, Number: v.Number, Word: v.Word, Known: v.Known, Role: v.Role, Endless: v.Endless, listed: v.listed, hollow: v.hollow,
		Missing: v.Missing, Decoded: v.Decoded, Paired: v.Paired, ByName: v.ByName, Rows: v.Rows}
	kept.Least, kept.Low = 0, false
	if v.Closed {
		kept.Is |= IsStatus | IsFailed // The caller may put more into it.
	} else if v.Elem != nil {
		element := v.Elem.elsewhere()
		element.Missing = ""
		kept.Elem, kept.Items = &element, v.Items
	}
	return kept.orUnknown()
}

// numbered returns which argument of a call a local function makes a number, if it does nothing else, or -1.
func (m *Machine) numbered(e *parse.CallExpr) int {
	body := m.C.Flow.Bodies[parse.VarOf(e.Fn)]
	if body == nil || len(body.Body.Stmts) != 1 || len(m.C.Flow.Returned[body]) != 1 || m.C.Flow.Returned[body][0] == nil {
		return -1
	}
	x := parse.VarOf(m.Passed(m.C.Flow.Returned[body][0], "tonumber"))
	return slices.IndexFunc(body.Params[:min(len(body.Params), len(e.Args))], func(p *parse.Var) bool { return p == x })
}

// resultOf returns what is known of the result of a local function, unknown if it was not followed yet.
func (m *Machine) resultOf(e *parse.CallExpr, args []Value) Value {
	name, ok := e.Fn.(*parse.NameExpr)
	if !ok || e.Method != "" {
		return unknown()
	}
	if i := m.numbered(e); i >= 0 {
		return toNumber(args[i], e.P)
	}
	f := m.Frames[m.C.Flow.Bodies[name.Var]]
	if f == nil || f == m.Frame {
		return unknown()
	}
	v := f.yields
	v.Missing = m.passedOn(v.Missing, m.C.Flow.Bodies[name.Var], e)
	return v.In(m.C.Hears(name.Name, units.InName))
}

// passedOn returns what a value is a reply about that a function has returned, in the words of a call of the function.
func (m *Machine) passedOn(missing string, f *parse.FuncExpr, e *parse.CallExpr) string {
	parts := strings.Split(missing, "\n")
	for i, p := range f.Params[:min(len(f.Params), len(e.Args))] {
		for j, part := range parts {
			if part == fixed(&parse.NameExpr{Var: p}) {
				parts[j] = m.KeyText(e.Args, i)
			}
		}
	}
	missing = strings.Join(parts, "\n")
	if !strings.HasPrefix(missing, "KEYS ") || slices.Contains(parts, "") || strings.Contains(missing, "@") ||
		slices.ContainsFunc(answers(missing), func(what any) bool { return m.State.Knows(later(what.(string))) }) {
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
	name := c.Callee(call)
	return isCommand && name != "pcall" || name != "string.gsub" && Is(name, "functions of texts") ||
		slices.Contains([]string{"cjson.decode", "math.abs", "math.ceil", "math.floor", "math.max", "math.min", "tonumber"}, name)
}

// Callee returns the name of a function of the server that is called, such as "string.sub".
func (c *code) Callee(call *parse.CallExpr) string {
	if call.Method != "" {
		return ""
	}
	switch fn := c.Origin(call.Fn).(type) {
	case *parse.NameExpr:
		if fn.Var == nil {
			return fn.Name
		}
	case *parse.IndexExpr:
		lib, isName := c.Origin(fn.X).(*parse.NameExpr)
		key, isString := fn.Key.(*parse.StringExpr)
		if isName && isString && lib.Var == nil {
			return lib.Name + "." + key.Value
		}
	}
	return ""
}

func (m *Machine) call(e *parse.CallExpr) Value {
	if words, ok := m.C.words(e); ok {
		v := m.command(e, words)
		v.of = m.KeyText(words, 1)
		return v
	}
	if _, isName := e.Fn.(*parse.NameExpr); !isName || e.Method != "" {
		m.uses(Called, e.Fn, m.eval(e.Fn))
	}
	name, args := m.C.Callee(e), m.arguments(e)
	if name == "" && m.Quiet == 0 && m.numbered(e) < 0 && !m.straight(m.C.Flow.Bodies[parse.VarOf(e.Fn)]) {
		m.asks(m.State.At, e)
	}
	v := m.outcome(name, e, args)
	for _, arg := range args { // It is about what the function got.
		if v.of == "" && arg.of != "" {
			v.of, v.mixed = arg.of, arg.mixed || name != "tonumber" && name != "tostring"
		}
	}
	return v
}

// straight reports whether a function has no condition, and so shows nothing about what it reads.
func (m *Machine) straight(f *parse.FuncExpr) bool {
	return f != nil && !slices.ContainsFunc(f.Body.Stmts, func(s parse.Stmt) bool { return len(parse.Blocks(s)) > 0 })
}

func (m *Machine) arguments(e *parse.CallExpr) []Value {
	args := make([]Value, len(e.Args))
	for i, arg := range e.Args {
		args[i] = m.eval(arg)
	}
	return args
}

func (m *Machine) outcome(name string, e *parse.CallExpr, args []Value) Value {
	if len(args) > 0 {
		if v, ok := m.numeric(name, e, args); ok {
			return v
		}
		m.given(name, e, args)
	}
	switch {
	case name == "math.random":
		return Value{Is: IsNumber, Number: Number{Frac: len(args) == 0, Whole: len(args) > 0}}
	case name == "redis.error_reply":
		return Value{Is: IsFailed}
	case name == "redis.status_reply":
		return Value{Is: IsStatus}
	case name == "tostring" && len(args) > 0:
		if args[0].Is == IsText {
			return args[0]
		}
		return Value{Is: IsText, Number: Number{Unit: args[0].Unit}}
	case name == "cjson.decode" && len(args) > 0:
		v := Value{Is: anything, Decoded: true}
		if b, ok := m.C.Origin(e.Args[0]).(*parse.BinaryExpr); ok && parse.IsLiteral(b.R, "[]") {
			v.hollow, v.listed = true, anyReply
		}
		return v
	case Is(name, "functions of texts"):
		return textValue()
	}
	return m.resultOf(e, args)
}

// given passes on what a function of the server gets.
func (m *Machine) given(name string, e *parse.CallExpr, args []Value) {
	m.see(Sight{Use: Given, E: e, Name: name, Args: args})
	if strings.HasPrefix(name, "string.") {
		m.uses(Passed, e.Args[0], args[0])
	}
	switch last := len(args) - 1; name {
	case "ipairs", "pairs", "table.concat", "cjson.decode", "cmsgpack.unpack":
		m.uses(Passed, e.Args[0], args[0])
	case "string.format":
		for i, v := range args[1:] {
			m.uses(Passed, e.Args[i+1], v)
		}
	case "unpack":
		m.unpacked(e.Args, args[0])
	case "table.insert":
		m.put(e.Args[0], &parse.NumberExpr{Text: "1"}, args[last], e.Args[last])
	}
}

func (m *Machine) returns(s *parse.ReturnStmt) {
	first := Value{Is: IsNil}
	for i, e := range s.Values {
		if v := m.eval(e); i == 0 {
			first = v
		}
	}
	m.leaves(s.P, first)
	m.see(Sight{Use: Returned, Stmt: s, V: first})
	if m.Depth == 0 {
		m.Frame.Returned = append(m.Frame.Returned, first)
		return
	}
	if len(s.Values) > 0 {
		if first.hollow = m.MayBeEmpty(s.Values[0], first); first.hollow {
			first.listed = cmp.Or(first.listed, anyReply)
		}
	}
	m.yield(first)
}
