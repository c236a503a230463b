package flow

import (
	"slices"
	"strings"

	"github.com/hasp-go/hasp/luagen/internal/parse"
	"github.com/hasp-go/hasp/luagen/internal/units"
)

// Is reports whether a command or a function is in a list of words.txt.
func Is(name, list string) bool { return slices.Contains(parse.Words(list), name) }

// Shapes are the replies of commands as scripts get them in RESP2, if no word of a call changes them.
var Shapes = func() map[string]string {
	all := map[string]string{}
	for _, shape := range parse.Listed("shape ") {
		all[shape] = strings.Join(parse.Words("shape "+shape), " ")
	}
	return ByName(all)
}()

// ByName turns a map of texts to names around.
func ByName(text map[string]string) map[string]string {
	all := map[string]string{}
	for shape, names := range text {
		for _, name := range strings.Fields(names) {
			all[name] = shape
		}
	}
	return all
}

// replies are those of some shapes.
var replies = map[string]Value{
	"count": aCount(), "integer": countUpTo(0), "text": textValue(), "maybe": {Is: IsText | IsFalseValue},
	"status": {Is: IsStatus}, "numbers": listOf(aCount(), 0), "bits": listOf(Value{Is: IsNumber | IsNil}, 0), "scores": listOf(Value{Is: IsText | IsFalseValue}, 0),
	"texts": listOf(textValue(), 0), "members": listOf(Value{Is: IsText, Role: AMember}, 0),
}

// reply returns what is known of the reply of a command; known is how many words there are certainly.
func (m *Machine) reply(call CommandCall, name string, known int) Value {
	options, _ := m.FormOf(call, name).Options()
	v, found := lists[name]
	shape := Shapes[name]
	if !found {
		v, found = replies[shape]
	}
	switch {
	case shape == "members" && options.Has("withscores") && parse.Bound(call.Words[2]) == parse.Bound(call.Words[3]): // of one member
		return listOf(textValue(), 0)
	case shape == "members" && options.Has("withscores"):
		return pairs
	case found:
		return v
	case units.ByType[shape].Per != 0:
		v = countUpTo(MaxLife)
		v.Low, v.Unit = strings.HasSuffix(name, "ttl") && !m.State.Sure[lives+m.KeyText(call.Words, 1)], units.ByType[shape]
		return v
	case shape == "rank" && known == len(call.Words) && known == 3:
		return Value{Is: IsNumber | IsFalseValue, Number: aCount().Number}
	case shape == "maybes":
		v = listOf(Value{Is: IsText | IsFalseValue}, known-1)
		v.Items = slices.Repeat([]Value{*v.Elem}, max(v.Known, 0))
		return v
	}
	return m.optionReply(call, name, known)
}

// optionReply returns the reply of commands that have another with some options.
func (m *Machine) optionReply(call CommandCall, name string, known int) Value {
	options, ok := m.FormOf(call, name).Options()
	switch has := options.Has; {
	case known < len(call.Words) || !ok && name != "zadd":
		return unknown()
	case name == "zadd" && has("incr") && has("gt", "lt", "nx", "xx"), name == "set" && has("get"):
		return Value{Is: IsText | IsFalseValue}
	case name == "zadd" && has("incr"):
		return textValue()
	case name == "zadd":
		return aCount()
	case name == "set" && has("ifeq", "nx", "xx"):
		return Value{Is: IsStatus | IsFalseValue}
	case name == "set":
		return Value{Is: IsStatus}
	case known == 2 && Is(name, "popping"):
		return Value{Is: IsText | IsFalseValue}
	case known == 3 && (name == "lpop" || name == "rpop"):
		return listOf(textValue(), 0).or(IsFalseValue)
	case known == 3 && Is(name, "popping"):
		return listOf(textValue(), 0)
	}
	return unknown()
}

// expiring are the options by which SET gives its key an end.
var expiring = []string{"ex", "px", "exat", "pxat"}

// Role is which part of a reply a value is.
type Role int

const (
	AMember Role = iota + 1 // an element of a set, or a field of a hash
	ASecond                 // of TIME
	AMicro                  // behind it
)

// lists are the replies that have elements of several kinds.
var lists = map[string]Value{
	"time": tuple( // to the year 2106
		Value{Is: IsText, Role: ASecond, Number: Number{Whole: true, Size: 1 << 32, Large: Now, Unit: units.ByType["unix-time-seconds"]}},
		Value{Is: IsText, Role: AMicro, Number: Number{Whole: true, Size: 999_999, Large: 999_999, Unit: units.ByType["microseconds"]}},
	),
	"incrbyfloat": decimal, "hincrbyfloat": decimal,
	"hgetall": pairs, "zpopmax": pairs, "zpopmin": pairs,
	"scan": page(listOf(textValue(), 0)), "sscan": page(listOf(textValue(), 0)), "hscan": page(pairs), "zscan": page(pairs),
	"xrange": entries, "xrevrange": entries, "xread": listOf(tuple(textValue(), entries), 0).or(IsFalseValue),
}

var (
	decimal = Value{Is: IsText, Number: Number{Frac: true}}
	pairs   = listOf(Value{Is: IsText, Paired: true}, 0) // names or members, and what belongs to each behind it
	entries = listOf(tuple(textValue(), pairs), 0)       // each an ID, and fields with their values
)

// tuple returns a list of these elements and no others.
func tuple(items ...Value) Value {
	v := listOf(Value{}, len(items))
	for _, item := range items {
		*v.Elem = Join(*v.Elem, item)
	}
	v.Items = items
	return v
}

func page(list Value) Value {
	return tuple(Value{Is: IsText, Number: Number{Whole: true}}, list)
}
