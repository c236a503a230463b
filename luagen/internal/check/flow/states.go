package flow

import (
	"maps"
	"slices"
	"strings"

	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// branch is a condition on the way to a state, and whether it was true.
type branch struct {
	Cond  parse.Expr // nil: several ways have joined
	truth bool
	Up    *branch // the one before
	n     int     // how many there are
}

// Turns returns how many conditions lead to a branch, itself counted.
func (b *branch) Turns() int {
	if b == nil {
		return 0
	}
	return b.n
}

// Turns returns how many conditions have led to a state.
func (s *state) Turns() int { return s.trail.Turns() }

// Last returns the last condition on the way to a state, and whether it was true there.
func (s *state) Last() (cond parse.Expr, truth bool) {
	if s.trail == nil {
		return nil, false
	}
	return s.trail.Cond, s.trail.truth
}

// each does something in each state, and returns those from which control goes on.
func (m *Machine) each(all []*state, do func()) []*state {
	m.here = all
	for _, s := range all {
		m.State = s
		do()
	}
	return real(slices.DeleteFunc(all, func(s *state) bool { return s.Dead }))
}

// limit joins states until there are no more than may be: first those that leave the same keys without an expiry.
func limit(all []*state) []*state {
	all = real(all)
	for len(all) > maxStates {
		i := len(all) - 2
		for k := range i {
			if maps.Equal(all[k].fresh, all[k+1].fresh) {
				i = k
				break
			}
		}
		s := merge(all[i], all[i+1])
		s.trail = &branch{Up: s.trail, n: s.trail.Turns() + 1}
		all = slices.Replace(all, i, i+2, s)
	}
	return all
}

func joinAll(all []*state) *state {
	s := all[0].clone()
	for _, other := range all[1:] {
		s = merge(s, other)
	}
	return s
}

// together returns the states of ways that join.
func together(sides [][]*state, at int) []*state {
	all := real(slices.Concat(sides...))
	sides = slices.DeleteFunc(sides, func(side []*state) bool {
		return !slices.ContainsFunc(side, func(s *state) bool { return slices.Contains(all, s) })
	})
	if len(sides) < 2 {
		return limit(all)
	}
	for _, s := range all {
		s.At = at
	}
	for i := len(all) - 2; i >= 0; i-- {
		if a, b := all[i], all[i+1]; maps.Equal(a.vars, b.vars) && maps.Equal(a.fresh, b.fresh) && maps.Equal(a.Sure, b.Sure) {
			all = slices.Replace(all, i, i+2, merge(a, b))
		}
	}
	return limit(all)
}

// real returns the states that may be, or all if there are no such.
func real(all []*state) []*state {
	kept := slices.DeleteFunc(slices.Clone(all), func(s *state) bool { return s.Never })
	if len(kept) == 0 {
		return all
	}
	return kept
}

func (m *Machine) ifs(all []*state, s *parse.IfStmt) []*state {
	at, sides := all[0].At, [][]*state{}
	for i, cond := range s.Conds {
		m.here = all
		yes, no := m.part(all, cond, maxParts)
		m.Conds = append(m.Conds, cond)
		sides, all = append(sides, m.block(limit(yes), s.Blocks[i])), limit(no)
	}
	if s.Else != nil {
		all = m.block(all, s.Else)
	}
	m.Conds = m.Conds[:len(m.Conds)-len(s.Conds)]
	return together(append(sides, all), at)
}

// part evaluates a condition, and returns the states in which it is true, and those in which it is not.
func (m *Machine) part(all []*state, cond parse.Expr, left int) (yes, no []*state) {
	for _, s := range all {
		y, n := m.ways(s, cond, left)
		yes, no = append(yes, y...), append(no, n...)
	}
	return yes, no
}

// ways evaluates a condition in a state, and returns the states in which it is true, and in which it is not.
func (m *Machine) ways(s *state, cond parse.Expr, left int) (yes, no []*state) {
	m.State = s
	m.see(Sight{Use: Asked, E: cond})
	switch e := parse.Unparen(cond).(type) {
	case *parse.UnaryExpr:
		if e.Op == "not" && left > 0 {
			no, yes = m.ways(s, e.X, left-1)
			return yes, no
		}
	case *parse.BinaryExpr:
		if (e.Op == "and" || e.Op == "or") && left > 0 {
			return m.parts(s, e, left)
		}
	}
	return m.turn(s, cond, left)
}

// parts returns the states in which "x and y" or "x or y" is true, and in which it is not.
func (m *Machine) parts(s *state, e *parse.BinaryExpr, left int) (yes, no []*state) {
	yes, no = m.ways(s, e.L, left-1)
	if e.Op == "and" {
		right, wrong := m.part(real(yes), e.R, left-1)
		return limit(right), limit(append(no, wrong...))
	}
	right, wrong := m.part(real(no), e.R, left-1)
	return limit(append(yes, right...)), limit(wrong)
}

// turn parts two ways at a condition that has no parts. That which the state has decided otherwise never is, but its code is seen.
func (m *Machine) turn(s *state, cond parse.Expr, left int) (yes, no []*state) {
	v := m.eval(cond)
	m.Quiet++
	defer func() { m.Quiet-- }()
	truth, decided := m.decided(cond, v)
	follow := func(to bool) []*state {
		if decided && to == truth {
			return []*state{s}
		}
		m.branch++
		w := s
		if to || decided {
			w = s.clone()
		}
		w.At, w.Never = m.branch, w.Never || decided
		w.trail = &branch{cond, to, w.trail, w.trail.Turns() + 1}
		if m.State = w; left > 0 {
			m.refine(cond, to)
		} else { // too much to follow
			w.vars, w.Sure = map[*parse.Var]*Value{}, map[string]bool{}
			w.ask(w.At, everything)
		}
		return []*state{w}
	}
	return follow(true), follow(false)
}

// assume notes that a condition that was evaluated is true, or is not: where it is by several ways, they join.
func (m *Machine) assume(cond parse.Expr, truth bool) {
	m.Quiet++
	defer func() { m.Quiet-- }()
	s := m.State
	yes, no := m.ways(s.clone(), cond, maxParts)
	if !truth {
		yes = no
	}
	trail, at := s.trail, s.At
	*s = *joinAll(real(yes))
	m.State, s.trail, s.At = s, trail, at
}

// loop follows a loop's body once, with nothing known of the names that it assigns to.
func (m *Machine) loop(all []*state, stmt parse.Stmt) []*state {
	body, at, outer := parse.Blocks(stmt)[0], all[0].At, m.broken
	repeat, isRepeat := stmt.(*parse.RepeatStmt)
	while, isWhile := stmt.(*parse.WhileStmt)
	m.broken = nil
	head := m.branch + 1
	m.branch += 2
	var before []*state
	m.each(all, func() {
		if !isRepeat && !isWhile {
			m.head(stmt)
		}
		m.forget(body, true)
		m.grow(stmt, body)
		before = append(before, m.State.clone())
		for _, e := range parse.Exprs(stmt) {
			if !m.overAll(stmt) {
				m.asks(head, e)
			}
		}
		m.State.line, m.State.At = len(before), m.branch
	})
	all = m.turns(stmt, all, body)
	if isRepeat {
		all = m.each(all, func() { m.eval(repeat.Cond) })
	}
	endless := isRepeat && parse.IsBool(repeat.Cond, false) || isWhile && parse.IsBool(while.Cond, true)
	switch {
	case endless && !parse.Breaks(body):
		all = nil
	case len(all)+len(m.broken) == 0 && !isRepeat: // It returns in its first turn, if it has one.
		all = before
	default:
		all = m.leave(real(append(all, m.broken...)), before, head, stmt)
	}
	m.broken = outer
	return limit(m.each(all, func() {
		m.forget(body, false)
		m.State.At = at
	}))
}

func (m *Machine) turns(stmt parse.Stmt, all []*state, body *parse.Block) []*state {
	switch s := stmt.(type) {
	case *parse.WhileStmt:
		m.here = all
		all, _ = m.part(all, s.Cond, maxParts)
		all = limit(all)
	case *parse.RepeatStmt:
		return m.statements(all, s.Body)
	case *parse.GenForStmt:
		m.each(all, func() { m.elements(s) })
	}
	return m.block(all, body)
}

// leave returns the states behind a loop, with what was known of names before it. What its head asked says nothing there.
func (m *Machine) leave(ends, before []*state, head int, stmt parse.Stmt) []*state {
	counts, _ := stmt.(*parse.NumForStmt)
	turns := counts != nil && parse.Bound(counts.From) <= parse.Bound(counts.To)
	var all *state
	in := joinAll(ends)
	for i, end := range ends {
		if end.line == 0 && all == nil {
			all = joinAll(before)
		}
		from := all
		if end.line > 0 {
			from = before[end.line-1]
		}
		after := from.clone()
		for id, at := range end.asked {
			if at != 0 && at != head {
				after.ask(at, end.facts.all[id])
			}
		}
		for x, v := range after.vars {
			if w := end.vars[x]; w != nil {
				table := *v
				table.hollow = v.hollow && (w.hollow || !turns)
				if w := in.vars[x]; w != nil {
					table.ByName, table.Rows = w.ByName, w.Rows
				}
				after.vars[x] = &table
			}
		}
		after.fresh, after.Sure, after.trail, after.Never = end.fresh, end.Sure, end.trail, end.Never
		maps.DeleteFunc(after.Sure, func(fact string, _ bool) bool { return strings.HasPrefix(fact, DeclaredKey) && !from.Sure[fact] })
		ends[i] = after
	}
	return ends
}

// Common returns the last branch that two ways have in common, none if that is too far away.
func Common(a, b *branch) *branch {
	for left := 4 * MaxNames; a != b; left-- {
		if left == 0 {
			return nil
		}
		if a.Turns() >= b.Turns() {
			a = a.Up
		} else {
			b = b.Up
		}
	}
	return a
}
