package check

import "github.com/hasp-go/hasp/luagen/internal/parse"

// function follows the body of a function. When it runs, each variable that is assigned anywhere may have another
// value.
func (m *machine) function(f *parse.FuncExpr) {
	if m.quiet > 0 {
		return
	}
	outer, yields := m.state, m.yields
	m.state, m.yields = newState(), &value{}
	for x, v := range outer.vars {
		if len(x.Writes) == 0 {
			inner := *v
			inner.nilAt = min(v.nilAt, 0)
			m.state.set(x, inner)
		}
	}
	m.depth++
	m.block(f.Body)
	m.leaves(parse.Pos{})
	m.yield(value{is: isNil})
	m.yielded[f] = m.yields.elsewhere()
	m.depth--
	m.state, m.yields = outer, yields
}

// yield notes a value that the function that is followed returns, if control comes here.
func (m *machine) yield(v value) {
	if !m.state.dead {
		*m.yields = join(*m.yields, v, 0)
	}
}

// elsewhere returns what of a value still holds where another time or place may be.
func (v value) elsewhere() value {
	kept := value{is: v.is, number: v.number, word: v.word, known: v.known, endless: v.endless}
	kept.least, kept.low, kept.split, kept.by = 0, false, false, nil
	if v.closed {
		kept.is |= isStatus | isFailed // The caller may put more into it.
	} else if v.elem != nil {
		element := v.elem.elsewhere()
		kept.elem = &element
	}
	return kept.orUnknown()
}

// resultOf returns what is known of the result of a local function, unknown if it was not followed yet.
func (m *machine) resultOf(e *parse.CallExpr) value {
	name, ok := e.Fn.(*parse.NameExpr)
	if !ok || e.Method != "" {
		return unknown()
	}
	v, known := m.yielded[m.c.flow.bodies[name.Var]]
	if !known {
		return unknown()
	}
	m.misnamed(name.Name, v, e.P)
	return v
}
