package check

import (
	"math"
	"slices"

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
	return tuple(value{is: isText, number: number{whole: true}}, list)
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
