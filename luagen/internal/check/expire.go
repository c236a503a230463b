package check

import (
	"cmp"
	"slices"
	"strings"

	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// creation is a write that creates a key which has no expiry yet.
type creation struct {
	pos   parse.Pos
	name  string // of the command
	value string // a literal that was written
	drops bool   // it takes away an expiry that the key had
	tried bool   // it may fail, and the script goes on
	turn  int    // how many turns the way had taken before
}

// creating are the commands that create a key without an expiry.
var creating = strings.Fields(`append bitfield decr decrby geoadd getset hincrby hincrbyfloat hmset hset
	hsetnx incr incrby incrbyfloat lpush pfadd rpush sadd set setbit setnx setrange xadd zadd
	zincrby`)

// ending are the commands that give a key an expiry.
var ending = []string{"expire", "expireat", "pexpire", "pexpireat"}

// replacing are the commands that give a key an expiry with its value.
var replacing = []string{"getex", "psetex", "set", "setex"}

// dropping are the commands that take away the expiry of their key.
var dropping = []string{"getset", "set"}

// removing are the commands that may delete their key, with its last element, or mean it to stay.
var removing = strings.Fields("del getdel hdel lpop lrem persist rename rpop spop srem unlink zpopmax zpopmin zrem")

// command evaluates a call of a command.
func (m *machine) command(e *parse.CallExpr, words []parse.Expr) value {
	call, _ := m.c.commandCall(e)
	m.frame.calls++
	m.evalWords(call)
	defer m.wrote(call)
	if len(call.names) != 1 || m.c.resp3 || !slices.ContainsFunc(m.c.tables.all, func(t *table) bool { return t.of(call, call.names[0]) != nil }) {
		return unknown()
	}
	name := call.names[0]
	if m.quiet == 0 {
		m.see(sight{use: sent, call: call, name: name})
		m.ending(call, name)
		m.lifetime(call, name)
	}
	v := m.replyOf(call, name)
	if isGlobal(e.Fn, "pcall") {
		return unknown()
	}
	if !m.raises(e) {
		v.is |= isFailed
	}
	return v
}

// evalWords evaluates the words of a call.
func (m *machine) evalWords(call commandCall) {
	for i, word := range call.words {
		if v := m.eval(word); i > 0 && !(i == len(call.words)-1 && call.open) {
			m.uses(asWord, word, v)
		} else {
			m.see(sight{use: used, e: word, v: v})
		}
	}
}

// ending notes that a key has an expiry, which a call gives it.
func (m *machine) ending(call commandCall, name string) {
	match := m.formOf(call, name)
	for i, f := range match.as {
		_, chosen := m.c.origin(match.words[max(i, 1)-1]).(*parse.StringExpr)
		if (chosen || i > 0 && !match.as[i-1].isToken()) && match.cmd.writes && units[f.word].per != 0 {
			m.state.sure[lives+m.keyText(match.words, 1)] = true
		}
	}
}

// replyOf returns the reply to a command.
func (m *machine) replyOf(call commandCall, name string) value {
	words, known := call.words, call.least()
	v := m.loads(name, words, m.added(name, call.expr, words, m.maybe(call, m.reply(call, name, known))))
	v.most, v.role = cmp.Or(v.most, v.atMost(call, name)), cmp.Or(v.role, aReply)
	if (name == "hgetall" || name == "hmget") && known > 1 {
		v.from = call.expr
	}
	v = m.listing(name, words, v)
	if name == "exists" && m.state.sure[exists+m.keyText(words, 1)] {
		v = numeral("1")
	}
	v.made, v.mixed = m.creator(call, name), name == "type"
	return v
}

// raises reports whether a failing command ends the script.
func (m *machine) raises(e *parse.CallExpr) bool {
	index, ok := m.c.origin(e.Fn).(*parse.IndexExpr)
	return ok && isLiteral(index.Key, "call")
}

// keyText returns a text by which a key is known: that of its names and literals, "" if there is
// more to it.
func (m *machine) keyText(words []parse.Expr, i int) string {
	if i >= len(words) {
		return ""
	}
	return m.keyName(words[i], maxKeyParts)
}

// maxKeyParts is how deep the text of a key is looked into.
const maxKeyParts = 20

func (m *machine) keyName(e parse.Expr, left int) string {
	if left == 0 {
		return ""
	}
	origin := m.c.origin(e)
	if _, isCall := origin.(*parse.CallExpr); isCall {
		origin = unparen(e)
	}
	switch x := origin.(type) {
	case *parse.NameExpr:
		return fixed(x)
	case *parse.StringExpr:
		return "'" + x.Value + "'"
	case *parse.IndexExpr:
		n, isNumber := x.Key.(*parse.NumberExpr)
		list := varOf(x.X)
		switch {
		case !isNumber:
			return fixed(unparen(e))
		case m.c.isList(x.X, "KEYS"):
			return "KEYS " + n.Text
		case m.c.isList(x.X, "ARGV"):
			return "ARGV " + n.Text
		case list != nil && len(list.Writes) == 0 && len(m.c.flow.stores[list]) == 0: // of a reply, say
			return list.Name + "@" + itoa(list.Pos.Line) + " " + n.Text
		}
	case *parse.BinaryExpr:
		if x.Op != ".." {
			return fixed(e)
		}
		l, r := m.keyName(x.L, left-1), m.keyName(x.R, left-1)
		if l != "" && r != "" {
			return l + ".." + r
		}
	}
	return ""
}

// fixed returns a text for a local name that always is the same, "" for everything else.
func fixed(e parse.Expr) string {
	x := varOf(unparen(e))
	if x == nil || len(x.Writes) > 0 {
		return ""
	}
	if x.Decl != nil {
		return x.Name
	}
	return x.Name + "@" + itoa(x.Pos.Line)
}

// lifetime follows which keys were created without an expiry.
func (m *machine) lifetime(call commandCall, name string) {
	key := m.keyText(call.words, 1)
	written, _ := m.formOf(call, name).options()
	switch {
	case slices.Contains(ending, name):
		m.ends(call, name, key)
	case m.expires(call, name):
		m.gives(call, key)
	case units[shapes[name]].per != 0 && m.c.inCondition(call.expr): // the script itself looks
		m.state.sure[looked+key] = true
	case slices.Contains(removing, name):
		for i := range call.words {
			delete(m.state.fresh, m.keyText(call.words, i))
			delete(m.state.sure, exists+m.keyText(call.words, i))
			delete(m.state.sure, looked+m.keyText(call.words, i))
		}
	}
	if key == "" || !slices.Contains(creating, name) {
		return
	}
	drops := slices.Contains(dropping, name) && !written.has("nx")
	if m.state.fresh[key] == nil && (drops || !m.state.sure[exists+key]) && m.creates(call, name) {
		m.state.fresh[key] = &creation{pos: call.expr.P, name: name, value: m.keyText(call.words, 2), drops: drops, tried: !m.raises(call.expr), turn: m.state.trail.turns()}
	}
	m.state.sure[exists+key] = true
}

// expires reports whether a call gives its key an expiry, as far as that is known. With XX or GT it gives none to a key that
// has none.
func (m *machine) expires(call commandCall, name string) bool {
	written, ok := m.formOf(call, name).options()
	if slices.Contains(ending, name) {
		return !written.has("gt", "xx")
	}
	return slices.Contains(replacing, name) && (strings.HasSuffix(name, "setex") || !ok || written.has(expiring...))
}

// ends follows a call that gives a key an expiry. A server may refuse it, by its ACL or because the
// command was renamed. The same call before the key was created would have been refused there.
func (m *machine) ends(call commandCall, name, key string) {
	made, probe, gives := m.state.fresh[key], name+" "+key, m.expires(call, name)
	if gives && made != nil && m.raises(call.expr) && !m.state.sure[probe] {
		m.see(sight{use: refusable, call: call, name: name, pos: made.pos})
	}
	if gives {
		m.gives(call, key)
	}
	m.state.sure[probe] = m.state.sure[probe] || m.raises(call.expr)
}

// creates reports whether a call of a creating command certainly may create a key without an expiry: a
// step down is for what is there.
func (m *machine) creates(call commandCall, name string) bool {
	written, ok := m.formOf(call, name).options()
	if !ok && name == "set" || written.has(expiring...) || written.has("ifeq", "keepttl", "nomkstream", "xx") ||
		name == "bitfield" && !written.has("incrby", "set") {
		return false
	}
	last := call.words[len(call.words)-1]
	text, _ := constantText(last)
	return !strings.Contains(name, "incr") || !negative(last) && !strings.HasPrefix(text, "-")
}

// counted notes what a comparison of a value shows of the key about which it is: that the key was there before, unless
// the comparison may be true of a key that was missing. Then a reply is nothing or 0, or 1 of a command that creates it.
func (m *machine) counted(v value, op string, w value) {
	missing, reply := false, 0.0
	if v.made != "" {
		reply = 1
	}
	switch {
	case w.is&^absent == 0:
		missing = (op == "==") == (v.made == "" || v.made == afterwards)
	case op == "~=" && v.made == afterwards: // It is not what the first write leaves.
	case w.constant() || w.low:
		missing = compares(reply, op, w.least)
	default:
		missing = op == "<" || op == "<=" || op == "~=" && v.made == ""
	}
	switch {
	case v.made == lifetime && (op == "<" || op == "<=") && (w.constant() || w.low): // -1 is, of a new key
		delete(m.state.sure, looked+v.of)
	case v.of == "" || missing && !v.mixed:
	case v.mixed:
		m.state.sure[looked+v.of] = true
	default:
		m.wasThere(v.of)
	}
}

// first notes what a comparison shows of a key of whose value nothing else is known: what is not equal to what was added
// to it, or not 0, was there before. It reports whether the comparison is with what was added.
func (m *machine) first(e parse.Expr, op string, other parse.Expr) (added bool) {
	whole := (op == "~=" || op == ">") && m.peek(other).size == zeroSize && m.peek(e).of == ""
	for _, call := range m.c.commandsIn(e) {
		adds := m.adds(call.words, other)
		if added = added || adds; whole || adds && op == "~=" {
			m.wasThere(m.keyText(call.words, 1))
		}
	}
	return added
}

// adds reports whether a command adds a number to its key.
func (m *machine) adds(words []parse.Expr, number parse.Expr) bool {
	if !slices.ContainsFunc(m.c.commandNames(words[0]), func(name string) bool { return strings.HasSuffix(name, "incrby") }) {
		return false
	}
	last := words[len(words)-1]
	v, w := m.peek(last), m.peek(number)
	return m.c.shares(last, number) || v.constant() && w.constant() && v.least == w.least
}

// wasThere notes that a key may have been there before, and so has an expiry, if the script has not taken it away.
func (m *machine) wasThere(key string) {
	if made := m.state.fresh[key]; made != nil && !made.drops {
		delete(m.state.fresh, key)
	}
	m.state.sure[exists+key] = true
}

// showing are the commands whose reply shows whether they have created their key.
var showing = []string{"hincrby", "hset", "hsetnx", "incr", "lpush", "pfadd", "rpush", "sadd", "setnx", "zadd"}

// afterwards stands for a key that was written before the call that replies about it, lifetime for one if the reply says when
// it ends.
const (
	afterwards = "afterwards"
	lifetime   = "lifetime"
)

// creator returns the key that a call of a command has created if its reply is 1, or true.
func (m *machine) creator(call commandCall, name string) string {
	words := call.words
	one := name == "incrby" && m.peek(words[len(words)-1]).size == 1
	if slices.Contains(showing, name) && len(words) <= 4 || one || name == "set" && m.creates(call, name) {
		return m.keyText(words, 1)
	}
	switch {
	case m.state.fresh[m.keyText(words, 1)] == nil || slices.Contains(creating, name):
		return ""
	case units[shapes[name]].per != 0:
		return lifetime
	}
	return afterwards
}
