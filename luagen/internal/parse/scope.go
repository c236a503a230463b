package parse

// function is what the parser knows of a function that it is inside of.
type function struct {
	outer    *function
	vararg   bool
	active   []*Var // nil for a loop's hidden variables
	pending  int    // declared and not yet visible
	scopes   []scope
	upvalues map[*Var]bool
}

type scope struct {
	active int // how many names are visible outside it
	loop   bool
}

func (p *parser) open(loop bool) { p.fn.scopes = append(p.fn.scopes, scope{len(p.fn.active), loop}) }

func (p *parser) close() {
	last := len(p.fn.scopes) - 1
	p.fn.active, p.fn.scopes = p.fn.active[:p.fn.scopes[last].active], p.fn.scopes[:last]
}

// declare makes a name that becomes visible by activate.
func (p *parser) declare(name Token, kind VarKind) *Var {
	p.hidden(1, name.Pos)
	v := &Var{Name: name.Text, Pos: name.Pos, Kind: kind, owner: p.fn}
	p.vars = append(p.vars, v)
	return v
}

// hidden counts n names that are about to become visible.
func (p *parser) hidden(n int, pos Pos) {
	p.fn.pending += n
	if len(p.fn.active)+p.fn.pending > maxLocals {
		refuse(RuleLimit, pos, "more than %d local names in one function: the server refuses it", maxLocals)
	}
}

func (p *parser) activate(vars ...*Var) {
	p.fn.active = append(p.fn.active, vars...)
	p.fn.pending -= len(vars)
}

func (p *parser) use(name Token) *NameExpr {
	n := &NameExpr{at: at{name.Pos}, Name: name.Text}
	for fn := p.fn; fn != nil && n.Var == nil; fn = fn.outer {
		for i := len(fn.active) - 1; i >= 0 && n.Var == nil; i-- {
			if fn.active[i] != nil && fn.active[i].Name == name.Text {
				n.Var = fn.active[i]
			}
		}
	}
	if n.Var == nil {
		p.globals = append(p.globals, n)
		return n
	}
	for fn := p.fn; fn != n.Var.owner; fn = fn.outer { // It is an upvalue of each function on the way to its owner.
		fn.upvalues[n.Var] = true
		if len(fn.upvalues) > maxUpvalues {
			refuse(RuleLimit, n.P, "more than %d outer names in one function: the server refuses it", maxUpvalues)
		}
	}
	n.Var.Reads = append(n.Var.Reads, n)
	return n
}

// assigned marks the last use of a name as an assignment.
func (n *NameExpr) assigned() {
	n.Set = true
	if v := n.Var; v != nil {
		v.Reads, v.Writes = v.Reads[:len(v.Reads)-1], append(v.Writes, n)
	}
}
