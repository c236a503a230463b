package flow

import (
	"slices"

	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// Role is which part of a reply a value is.
type Role int

const (
	AReply  Role = iota + 1 // the whole
	AMember                 // an element of a set, or a field of a hash
	AScored                 // a member with its score behind it
	aScore
	ASecond // of TIME
	AMicro  // behind it
)

// lists are the replies that have elements of several kinds.
var lists = map[string]Value{
	"time": tuple( // to the year 2106
		Value{Is: IsText, Role: ASecond, Number: Number{Whole: true, Size: 1 << 32, Large: Now, Unit: Units["unix-time-seconds"]}},
		Value{Is: IsText, Role: AMicro, Number: Number{Whole: true, Size: 999_999, Large: 999_999, Unit: Units["microseconds"]}},
	),
	"incrbyfloat": decimal, "hincrbyfloat": decimal,
	"hgetall": pairs, "zpopmax": scores, "zpopmin": scores,
	"scan": page(listOf(textValue(), 0)), "sscan": page(listOf(textValue(), 0)), "hscan": page(pairs), "zscan": page(scores),
	"xrange": entries, "xrevrange": entries, "xread": listOf(tuple(textValue(), entries), 0).or(IsFalseValue),
}

var (
	decimal = Value{Is: IsText, Number: Number{Frac: true}}
	pairs   = paired(textValue(), textValue())
	scores  = paired(Value{Is: IsText, Role: AScored}, Value{Is: IsText, Role: aScore})
	entries = listOf(tuple(textValue(), pairs), 0) // each an ID, and fields with their values
)

// tuple returns a list of these elements and no others.
func tuple(items ...Value) Value {
	v := listOf(Value{}, len(items))
	for _, item := range items {
		*v.Elem = join(*v.Elem, item)
	}
	v.Items, v.Most = items, len(items)
	return v
}

// paired returns a list in which two elements take turns.
func paired(first, second Value) Value {
	v := tuple(first, second)
	v.Known, v.Most, v.Items, v.Pairs = 0, 0, nil, true
	return v
}

// page returns the reply of a scan.
func page(list Value) Value {
	return tuple(Value{Is: IsText, Number: Number{Whole: true}}, list)
}

// atMost returns how many elements the reply of a call has at most, 0 if that is not known.
func (v Value) atMost(call CommandCall, name string) int {
	words, n := call.Words, 0.0
	switch limit := slices.IndexFunc(words, func(e parse.Expr) bool { return IsLiteral(e, "limit") }); {
	case call.Open || v.Elem == nil || limit+2 >= len(words):
	case limit > 0:
		n = Bound(words[limit+2])
	case name == "hmget" || name == "mget":
		n = float64(manyReplies(name, len(words)))
	case name == "zpopmin" || name == "zpopmax":
		if n = 1; len(words) > 2 {
			n = Bound(words[2])
		}
	case slices.Contains(byRank, name) && (len(words) == 4 || IsLiteral(words[4], "withscores")):
		if from, to := Bound(words[2]), Bound(words[3]); from*to >= 0 {
			n = to - from + 1
		}
	}
	if v.Pairs {
		n *= 2
	}
	if n > 0 && n < MaxExact {
		return int(n)
	}
	return 0
}

// byRank are the commands whose reply has the elements from one rank to another.
var byRank = []string{"lrange", "zrange", "zrevrange"}

// Added returns what an expression adds a number to, and the number.
func Added(e parse.Expr) (parse.Expr, float64) {
	b, ok := Unparen(e).(*parse.BinaryExpr)
	if n := 0.0; ok && (b.Op == "+" || b.Op == "-") {
		if n = Bound(b.R); b.Op == "-" {
			n = -n
		}
		return b.L, n
	}
	return e, 0
}
