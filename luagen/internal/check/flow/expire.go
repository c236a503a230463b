package flow

import (
	"slices"
	"strings"

	"github.com/hasp-go/hasp/luagen/internal/parse"
	"github.com/hasp-go/hasp/luagen/internal/units"
)

// creation is a write that creates a key which has no expiry yet.
type creation struct {
	Pos   parse.Pos
	Name  string // of the command
	Value string // a literal that was written
	Drops bool   // it takes away an expiry that the key had
	tried bool   // it may fail, and the script goes on
	Turn  int    // how many turns the way had taken before
}

func (m *Machine) command(e *parse.CallExpr, words []parse.Expr) Value {
	call, _ := m.C.CommandCall(e)
	m.Frame.calls++
	for i, word := range words {
		if v := m.eval(word); i > 0 && !(i == len(words)-1 && call.Open) {
			m.uses(AsWord, word, v)
		}
	}
	defer m.wrote(call)
	if len(call.Names) != 1 || m.C.Resp3 || !slices.ContainsFunc(m.C.Tables.all, func(t *Table) bool { return t.Of(call, call.Names[0]) != nil }) {
		return unknown()
	}
	name := call.Names[0]
	if m.Quiet == 0 {
		m.see(Sight{Use: Sent, Call: call, Name: name})
		m.lifetime(call, name)
	}
	v := m.replyOf(call, name)
	if parse.IsGlobal(e.Fn, "pcall") {
		return unknown()
	}
	if !m.Raises(e) {
		v.Is |= IsFailed
	}
	return v
}

func (m *Machine) replyOf(call CommandCall, name string) Value {
	words, known := call.Words, call.Least()
	v := m.maybe(call, m.reply(call, name, known))
	if (name == "hgetall" || name == "hmget") && known > 1 {
		v.From = call.Expr
	}
	v = m.listing(name, words, v)
	if name == "exists" && m.State.Sure[exists+m.KeyText(words, 1)] {
		v = Numeral("1")
	}
	v.made, v.mixed = m.creator(call, name), name == "type"
	return v
}

// Raises reports whether a failing command ends the script.
func (m *Machine) Raises(e *parse.CallExpr) bool {
	index, ok := m.C.Origin(e.Fn).(*parse.IndexExpr)
	return ok && parse.IsLiteral(index.Key, "call")
}

// KeyText returns a text by which a key is known: that of its names and literals, "" if there is more to it.
func (m *Machine) KeyText(words []parse.Expr, i int) string {
	if i >= len(words) {
		return ""
	}
	return m.KeyName(words[i], MaxKeyParts)
}

// KeyName returns what KeyText does, of one expression, as far as there is something left.
func (m *Machine) KeyName(e parse.Expr, left int) string {
	if left == 0 {
		return ""
	}
	origin := m.C.Origin(e)
	if _, isCall := origin.(*parse.CallExpr); isCall {
		origin = parse.Unparen(e)
	}
	switch x := origin.(type) {
	case *parse.NameExpr:
		return fixed(x)
	case *parse.StringExpr:
		return "'" + x.Value + "'"
	case *parse.IndexExpr:
		n, isNumber := x.Key.(*parse.NumberExpr)
		list := parse.VarOf(x.X)
		switch {
		case !isNumber:
			return fixed(parse.Unparen(e))
		case m.C.IsList(x.X, "KEYS"):
			return "KEYS " + n.Text
		case m.C.IsList(x.X, "ARGV"):
			return "ARGV " + n.Text
		case list != nil && len(list.Writes) == 0 && len(m.C.Flow.Stores[list]) == 0: // of a reply, say
			return list.Name + "@" + Itoa(list.Pos.Line) + " " + n.Text
		}
	case *parse.BinaryExpr:
		if x.Op != ".." {
			return fixed(e)
		}
		l, r := m.KeyName(x.L, left-1), m.KeyName(x.R, left-1)
		if l != "" && r != "" {
			return l + ".." + r
		}
	}
	return ""
}

// fixed returns a text for a local name that always is the same, "" for everything else.
func fixed(e parse.Expr) string {
	x := parse.VarOf(parse.Unparen(e))
	if x == nil || len(x.Writes) > 0 {
		return ""
	}
	if x.Decl != nil {
		return x.Name
	}
	return x.Name + "@" + Itoa(x.Pos.Line)
}

// lifetime follows which keys were created without an expiry.
func (m *Machine) lifetime(call CommandCall, name string) {
	key := m.KeyText(call.Words, 1)
	written, _ := m.FormOf(call, name).Options()
	switch {
	case Is(name, "ending"):
		m.ends(call, name, key)
	case m.Expires(call, name):
		m.gives(call, key)
	case units.ByType[Shapes[name]].Per != 0 && m.C.InCondition(call.Expr): // the script itself looks
		m.State.Sure[looked+key] = true
	case Is(name, "removing"):
		for i := range call.Words {
			delete(m.State.fresh, m.KeyText(call.Words, i))
			delete(m.State.Sure, exists+m.KeyText(call.Words, i))
		}
	}
	if key == "" || !Is(name, "creating") {
		return
	}
	drops := Is(name, "dropping") && !written.Has("nx")
	if m.State.fresh[key] == nil && (drops || !m.State.Sure[exists+key]) && m.Creates(call, name) {
		m.State.fresh[key] = &creation{Pos: call.Expr.P, Name: name, Value: m.KeyText(call.Words, 2), Drops: drops, tried: !m.Raises(call.Expr), Turn: m.State.trail.Turns()}
	}
	m.State.Sure[exists+key] = true
}

// Expires reports whether a call gives its key an expiry. With XX or GT it gives none to a key that has none.
func (m *Machine) Expires(call CommandCall, name string) bool {
	written, ok := m.FormOf(call, name).Options()
	if Is(name, "ending") {
		return !written.Has("gt", "xx")
	}
	return Is(name, "with expiry") && (strings.HasSuffix(name, "setex") || !ok || written.Has(expiring...))
}

// ends follows a call that gives a key an expiry. A server may refuse it, by its ACL or because the
// command was renamed. The same call before the key was created would have been refused there.
func (m *Machine) ends(call CommandCall, name, key string) {
	made, probe, gives := m.State.fresh[key], name+" "+key, m.Expires(call, name)
	if gives && made != nil && m.Raises(call.Expr) && !m.State.Sure[probe] {
		m.see(Sight{Use: Refusable, Call: call, Name: name, Pos: made.Pos})
	}
	if gives {
		m.gives(call, key)
	}
	m.State.Sure[probe] = m.State.Sure[probe] || m.Raises(call.Expr)
}

// Creates reports whether a call certainly may create a key without an expiry: a step down is for what is there.
func (m *Machine) Creates(call CommandCall, name string) bool {
	written, ok := m.FormOf(call, name).Options()
	if !ok && name == "set" || written.Has(expiring...) || written.Has("ifeq", "keepttl", "nomkstream", "xx") ||
		name == "bitfield" && !written.Has("incrby", "set") {
		return false
	}
	last := call.Words[len(call.Words)-1]
	text, _ := parse.ConstantText(last)
	minus, negative := parse.Unparen(last).(*parse.UnaryExpr)
	return !strings.Contains(name, "incr") || !(negative && minus.Op == "-") && !strings.HasPrefix(text, "-")
}

// counted notes what a comparison of a value shows of the key about which it is: that the key was there before, unless
// the comparison may be true of a key that was missing. Then a reply is nothing or 0, or 1 of a command that creates it.
func (m *Machine) counted(v Value, op string, w Value) {
	missing, reply := false, 0.0
	if v.made != "" {
		reply = 1
	}
	switch {
	case w.Is&^Absent == 0:
		missing = (op == "==") == (v.made == "" || v.made == afterwards)
	case op == "~=" && v.made == afterwards: // It is not what the first write leaves.
	case w.Constant() || w.Low:
		missing = Compares(reply, op, w.Least)
	default:
		missing = op == "<" || op == "<=" || op == "~=" && v.made == ""
	}
	switch {
	case v.made == lifetime && (op == "<" || op == "<=") && (w.Constant() || w.Low): // -1 is, of a new key
		delete(m.State.Sure, looked+v.of)
	case v.of == "" || missing && !v.mixed:
	case v.mixed:
		m.State.Sure[looked+v.of] = true
	default:
		m.wasThere(v.of)
	}
}

// first notes what a comparison shows of a key of whose value nothing else is known: what is not equal to what was added
// to it, or not 0, was there before. It reports whether the comparison is with what was added.
func (m *Machine) first(e parse.Expr, op string, other parse.Expr) (added bool) {
	whole := (op == "~=" || op == ">") && m.Peek(other).Size == ZeroSize && m.Peek(e).of == ""
	for _, call := range m.C.CommandsIn(e) {
		adds := m.adds(call.Words, other)
		if added = added || adds; whole || adds && op == "~=" {
			m.wasThere(m.KeyText(call.Words, 1))
		}
	}
	return added
}

// adds reports whether a command adds a number to its key.
func (m *Machine) adds(words []parse.Expr, number parse.Expr) bool {
	last := words[len(words)-1]
	v, w := m.Peek(last), m.Peek(number)
	return m.C.Shares(last, number) || v.Constant() && w.Constant() && v.Least == w.Least
}

// wasThere notes that a key may have been there before, and so has an expiry, if the script has not taken it away.
func (m *Machine) wasThere(key string) {
	if made := m.State.fresh[key]; made != nil && !made.Drops {
		delete(m.State.fresh, key)
	}
	m.State.Sure[exists+key] = true
}

// afterwards stands for a key that was written before the call that replies about it, lifetime for one whose end it says.
const (
	afterwards = "afterwards"
	lifetime   = "lifetime"
)

// creator returns the key that a call of a command has created if its reply is 1, or true.
func (m *Machine) creator(call CommandCall, name string) string {
	words := call.Words
	one := name == "incrby" && m.Peek(words[len(words)-1]).Size == 1
	if Is(name, "showing") && len(words) <= 4 || one || name == "set" && m.Creates(call, name) {
		return m.KeyText(words, 1)
	}
	switch {
	case m.State.fresh[m.KeyText(words, 1)] == nil || Is(name, "creating"):
		return ""
	case units.ByType[Shapes[name]].Per != 0:
		return lifetime
	}
	return afterwards
}
