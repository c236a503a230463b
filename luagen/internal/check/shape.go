package check

import (
	"math"
	"slices"
	"strconv"

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
	aLoneScore // the reply of ZSCORE, which may be a name, too
)

// lists are the replies that have elements of several kinds.
var lists = map[string]value{
	"time": tuple( // to the year 2106
		value{is: isText, role: aSecond, number: number{whole: true, size: 1 << 32, large: now, unit: units["unix-time-seconds"]}},
		value{is: isText, role: aMicro, number: number{whole: true, size: 999_999, large: 999_999, unit: units["microseconds"]}},
	),
	"hgetall": pairs, "zpopmax": scores, "zpopmin": scores,
	"scan": page(listOf(textValue(), 0)), "sscan": page(listOf(textValue(), 0)), "hscan": page(pairs), "zscan": page(scores),
	"xrange": entries, "xrevrange": entries, "xread": listOf(tuple(textValue(), entries), 0),
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

// byOne is the turn of a loop that goes on by one.
const byOne = 2

// turnOf returns for which of two elements that take turns an index is: 0 or 1; byOne, or -1 if that is not known.
func (m *machine) turnOf(index parse.Expr) int {
	switch e := unparen(index).(type) {
	case *parse.NumberExpr:
		if n, err := strconv.Atoi(e.Text); err == nil {
			return (n + 1) % 2
		}
	case *parse.NameExpr:
		switch loop := m.c.flow.loops[e.Var]; {
		case loop == nil:
		case loop.Step == nil:
			return byOne
		case math.Mod(bound(loop.Step), 2) == 0 && bound(loop.From) > 0:
			return int(math.Mod(bound(loop.From)+1, 2))
		}
	case *parse.BinaryExpr:
		switch l, r := m.turnOf(e.L), m.turnOf(e.R); {
		case e.Op != "+" && e.Op != "-" || min(l, r) < 0:
		case max(l, r) == byOne:
			return byOne
		default:
			return (l + r + 1) % 2
		}
	}
	return -1
}

// beyond finds an index into a list of pairs that a loop by two takes out of the list, in its first turn or in its last.
func (m *machine) beyond(e *parse.IndexExpr) {
	b, sum := unparen(e.Key).(*parse.BinaryExpr)
	if !sum || m.c.flow.loops[varOf(b.L)] == nil {
		return
	}
	r, loop := m.rankOf(b), m.c.flow.loops[varOf(b.L)]
	from, whole := bound(loop.From), varOf(e.X) != nil && varOf(m.lengthOf(loop.To)) == varOf(e.X)
	if bound(loop.Step) == 2 && (from+r.n < 1 || whole && r.n > math.Mod(from, 2)) {
		m.find(e.Key.Pos(), Nil, "this is nil in the first turn of the loop, or in the last: the reply begins with element 1, and belongs together by two")
	}
}

// inTurn returns an element of two that take turns. It finds the second of them where a loop goes on by one.
func (m *machine) inTurn(list value, index parse.Expr) value {
	turn, names := m.turnOf(index), namesIn(index)
	if turn == 0 || turn == 1 {
		return list.items[turn]
	}
	if _, sum := unparen(index).(*parse.BinaryExpr); sum && turn == byOne &&
		!slices.ContainsFunc(m.conds, func(cond parse.Expr) bool { return mentions(cond, names...) }) {
		m.find(index.Pos(), Nil, "the elements of this reply belong together by two, and this loop goes on by one: write a step of 2")
	}
	return *list.elem
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
