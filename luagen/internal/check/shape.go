package check

import (
	"math"
	"slices"
	"strings"

	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// role is which part of a reply a value is.
type role int

const (
	aReply  role = iota + 1 // the whole
	aMember                 // an element of a set, or a field of a hash
	aScored                 // a member with its score behind it
	aScore
	aSecond // of TIME
	aMicro
	aCursor // of a scan
	aPage
)

// lists are the replies that have elements of several kinds.
var lists = map[string]value{
	"time": tuple( // to the year 2106
		value{is: isText, role: aSecond, number: number{whole: true, size: 1 << 32, large: now, unit: units["unix-time-seconds"]}},
		value{is: isText, role: aMicro, number: number{whole: true, size: 999_999, large: 999_999, unit: units["microseconds"]}},
	),
	"hgetall": pairs, "zpopmax": scores, "zpopmin": scores,
	"scan": page(listOf(textValue(), 0)), "sscan": page(listOf(textValue(), 0)), "hscan": page(pairs), "zscan": page(scores),
	"xrange": entries, "xrevrange": entries, "xread": orNone(listOf(tuple(textValue(), entries), 0)),
}

var (
	pairs   = paired(textValue(), textValue())
	scores  = paired(value{is: isText, role: aScored}, value{is: isText, role: aScore})
	entries = listOf(tuple(textValue(), pairs), 0) // each an ID, and fields with their values
)

// tuple returns a list of these elements and no others.
func tuple(items ...value) value {
	v := listOf(value{}, len(items))
	for _, item := range items {
		*v.elem = join(*v.elem, item, 0)
	}
	v.items, v.most = items, len(items)
	return v
}

// paired returns a list in which two elements take turns.
func paired(first, second value) value {
	v := tuple(first, second)
	v.known, v.most, v.pairs = 0, 0, true
	return v
}

// orNone returns a reply that is nil instead of an empty list.
func orNone(list value) value {
	list.is |= isFalseValue
	return list
}

// page returns the reply of a scan.
func page(list value) value {
	list.role = aPage
	return tuple(value{is: isText, role: aCursor, number: number{whole: true}}, list)
}

// atMost returns how many elements the reply of a call has at most, 0 if that is not known.
func (v value) atMost(call commandCall, name string) int {
	words, n := call.words, 0.0
	switch limit := slices.IndexFunc(words, func(e parse.Expr) bool { return isLiteral(e, "limit") }); {
	case call.open || v.elem == nil || limit+2 >= len(words):
	case limit > 0:
		n = bound(words[limit+2])
	case name == "hmget" || name == "mget":
		n = float64(manyReplies(name, len(words)))
	case name == "zpopmin" || name == "zpopmax":
		if n = 1; len(words) > 2 {
			n = bound(words[2])
		}
	case slices.Contains(byRank, name) && (len(words) == 4 || isLiteral(words[4], "withscores")):
		if from, to := bound(words[2]), bound(words[3]); from*to >= 0 {
			n = to - from + 1
		}
	}
	if v.pairs {
		n *= 2
	}
	if n > 0 && n < maxExact {
		return int(n)
	}
	return 0
}

// byRank are the commands whose reply has the elements from one rank to another.
var byRank = []string{"lrange", "zrange", "zrevrange"}

// lastRank finds a number of elements as the last rank of a call that begins with the first.
func (m *machine) lastRank(match *matching) {
	words, name := match.words, match.cmd.name
	if len(words) < 4 || bound(words[2]) != 0 || name != "zremrangebyrank" && !slices.Contains(byRank, name) {
		return
	}
	if _, more := added(m.c.origin(words[3])); more == 0 && (m.lengthOf(words[3]) != nil || m.called(words[3], countName)) {
		m.find(words[3].Pos(), Command, "ranks count from 0, and the last one is included, so this is one element too many: write - 1 behind it")
	}
}

// part finds a part of a reply where another is meant: a member's name, or a number. It reports whether it does.
func (m *machine) part(v value, name bool, pos parse.Pos) bool {
	switch {
	case v.role == aScored && !name:
		m.find(pos, Compare, "this is a member, and no number: its score is the next element of the reply")
	case v.role == aScore && name:
		m.find(pos, Compare, "this is a score, and no name: a reply with scores has the member before it")
	default:
		return false
	}
	return true
}

// turnOf returns for which of two elements that take turns an index is: 0 or 1, or -1 if that is not known.
func (m *machine) turnOf(index parse.Expr) int {
	i, k := added(index)
	from := bound(i)
	if loop := m.c.flow.loops[varOf(i)]; loop != nil && loop.Step != nil && math.Mod(bound(loop.Step), 2) == 0 {
		from = bound(loop.From)
	}
	if from+k > 0 {
		return int(math.Mod(from+k+1, 2))
	}
	return -1
}

// inTurn returns an element of two that take turns. It finds the second of them where a loop goes on by one.
func (m *machine) inTurn(list value, index parse.Expr) value {
	if turn := m.turnOf(index); turn >= 0 {
		return list.items[turn]
	}
	i, k := added(index)
	if loop := m.c.flow.loops[varOf(i)]; k != 0 && loop != nil && loop.Step == nil && !m.c.flow.compared[loop.Var] {
		m.find(index.Pos(), Nil, "the elements of this reply belong together by two, and this loop goes on by one: write a step of 2")
	}
	return *list.elem
}

// span finds a loop over the indices of a list that goes beyond its end, or leaves out its first or last element.
func (m *machine) span(s *parse.NumForStmt) {
	to, more := added(m.c.origin(s.To))
	length, from, step := m.lengthOf(to), bound(s.From), 1.0
	if s.Step != nil {
		step = bound(s.Step)
	}
	x := varOf(length)
	all, lengths := m.c.flow.indices[x], m.c.flow.lengths[x]
	if x == nil || step > 2 || len(all) > maxAsked || len(m.c.flow.stores[x])+len(x.Writes) > 0 {
		return
	}
	list, own, least, most, last := m.peek(length), 0, math.Inf(1), math.Inf(-1), parse.Pos{}
	for _, e := range all {
		if i, k := added(e.Key); varOf(i) == s.Var {
			if own, least, most = own+1, min(least, k), max(most, k); math.Abs(k) == max(-least, most) {
				last = e.Key.Pos()
			}
		}
	}
	alone := list.role > 0 && own > 0 && own == len(all) && own+lengths == len(x.Reads)
	switch pairs := step == 2; {
	case list.pairs != pairs:
	case pairs && (from+least < 1 || more-math.Mod(math.Abs(more-from), 2)+most > 0): // the length is even
		m.find(last, Nil, "this is nil in the first turn of the loop, or in the last: the reply begins with element 1, and belongs together by two")
	case !pairs && more+most > 0 && least == most && !m.c.flow.compared[s.Var]:
		m.find(last, Nil, "this is nil in the last turn of the loop: it is beyond the end of the list")
	case alone && from+least > step:
		m.find(s.From.Pos(), Nil, "this loop leaves out the first element of the list, which is 1, and nothing else uses it")
	case alone && more+most < 1-step && lengths == 1:
		m.find(s.To.Pos(), Nil, "this loop leaves out the last element of the list, and nothing else uses it")
	}
}

// twice finds an element of a reply that is used twice, while nothing uses its neighbour, and scores that nothing uses.
// Of TIME the seconds may do.
func (m *machine) twice() {
	for _, x := range m.c.s.Vars {
		at := map[float64][]parse.Pos{}
		for _, e := range m.c.flow.indices[x] {
			at[bound(e.Key)] = append(at[bound(e.Key)], e.Key.Pos())
		}
		call, _ := m.c.flow.only(x)
		if call == nil || len(m.c.flow.indices[x])+m.c.flow.lengths[x] != len(x.Reads) {
			continue
		}
		list := m.peek(call)
		asked := func(e parse.Expr) bool { return isLiteral(e, "withscores") }
		if p := at[1]; len(p) > 0 && len(at) == 1 && list.pairs && parse.Contains(call, asked) {
			m.c.find(p[len(p)-1], Unused, "this is a member, and nothing uses its score, which was asked for: it is element 2")
		}
		for i := 1.0; int(i) <= list.most && list.most == list.known; i++ {
			for _, j := range []float64{i - 1, i + 1} {
				if p := at[j]; len(at[i]) == 0 && len(p) > 1 && (list.items[0].role != aSecond || j == 1 && p[0].Line == p[1].Line) {
					m.c.find(p[1], Unused, "element %.0f of this reply is used again, and element %.0f never: write %.0f, if that is meant", j, i, i)
				}
			}
		}
	}
}

// shifted finds an element of a reply of HMGET in a name that says another field of that call.
func (m *machine) shifted() {
	calls := map[parse.Expr]bool{}
	for _, x := range m.c.s.Vars {
		for _, s := range m.c.flow.sources[x] {
			list, at := m.elementIn(s)
			words := m.c.sent(list, "hmget")
			if at < 1 || at >= len(words)-1 || calls[words[0]] {
				continue
			}
			own, other := m.fieldNamed(x, words[at+1]), slices.IndexFunc(words[2:], func(e parse.Expr) bool { return m.fieldNamed(x, e) })
			if calls[words[0]] = !own && other >= 0; calls[words[0]] {
				m.c.find(s.expr.Pos(), Unused, "this is element %d of the reply, and the field of this name is element %d", at, other+1)
			}
		}
	}
}

// fieldNamed reports whether a name has the name of a field in it.
func (m *machine) fieldNamed(x *parse.Var, field parse.Expr) bool {
	text, _ := constantText(m.c.origin(field))
	name := plain.Replace(strings.ToLower(x.Name))
	text = plain.Replace(strings.ToLower(text))
	return name == text || len(text) > 2 && strings.Contains(name, text)
}

var plain = strings.NewReplacer("_", "", "-", "")

// elementIn returns the list and the index of an element that a name gets: made a number, say, or with a default.
func (m *machine) elementIn(s source) (list parse.Expr, at int) {
	e := unparen(s.expr)
	if index, ok := e.(*parse.IndexExpr); ok {
		return index.X, int(bound(index.Key))
	}
	if b, ok := e.(*parse.BinaryExpr); ok && b.Op == "or" {
		return m.elementIn(source{expr: b.L})
	}
	if call, ok := e.(*parse.CallExpr); ok && len(call.Args) > 0 {
		switch m.c.callee(call) {
		case "tonumber", "tostring":
			return m.elementIn(source{expr: call.Args[0]})
		case "unpack":
			return call.Args[0], s.nth + 1
		}
	}
	return nil, 0
}

// added returns what an expression adds a number to, and the number.
func added(e parse.Expr) (parse.Expr, float64) {
	b, ok := unparen(e).(*parse.BinaryExpr)
	if n := 0.0; ok && (b.Op == "+" || b.Op == "-") {
		if n = bound(b.R); b.Op == "-" {
			n = -n
		}
		return b.L, n
	}
	return e, 0
}

// fieldOf finds what has no such field: a text or a number has none, and a status reply has ok, or an error err.
func (m *machine) fieldOf(x value, key parse.Expr) {
	name, literal := m.c.origin(key).(*parse.StringExpr)
	switch {
	case x.surely(isText) && !literal, x.surely(isNumber):
		m.find(key.Pos(), Nil, "this is an index into %s, which has no elements", x.is)
	case x.role == aReply && literal && x.is&isTable == 0 && x.is&(isStatus|isFailed) != 0 && name.Value != "ok" && name.Value != "err":
		m.find(key.Pos(), Nil, "this is always nil: the one field of a status reply is ok, that of an error err")
	}
}

// unpackedItems returns the values that unpack gives of a list whose elements are known, or pcall of cjson.decode.
func (m *machine) unpackedItems(e parse.Expr) []value {
	call, ok := e.(*parse.CallExpr)
	if ok && len(call.Args) == 2 && m.c.callee(call) == "pcall" && m.c.callee(&parse.CallExpr{Fn: call.Args[0]}) == "cjson.decode" {
		return []value{{is: boolean}, {is: anything, decoded: true, doubted: true}}
	}
	if !ok || m.c.callee(call) != "unpack" || len(call.Args) != 1 {
		return nil
	}
	return m.peek(call.Args[0]).items
}

// again evaluates the condition of a loop after a turn. It leaves out conditions with functions, which would take too long.
func (m *machine) again(cond parse.Expr) {
	if !parse.Contains(cond, func(e parse.Expr) bool { _, ok := e.(*parse.FuncExpr); return ok }) {
		m.eval(cond)
		m.stops(cond)
	}
}

// stops finds a condition by which a scan ends at a page without elements, before its cursor is '0'.
func (m *machine) stops(cond parse.Expr) {
	has := func(r role) bool {
		return parse.Contains(cond, func(e parse.Expr) bool {
			switch e.(type) {
			case *parse.NameExpr, *parse.IndexExpr, *parse.UnaryExpr:
				return m.peek(e).role == r
			}
			return false
		})
	}
	if has(aPage) && !has(aCursor) {
		m.find(cond.Pos(), Compare, "a page of a scan may be empty before its end: go on until the cursor is '0'")
	}
}
