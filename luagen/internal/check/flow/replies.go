package flow

import (
	_ "embed"
	"slices"
	"strings"
	"sync"

	"github.com/hasp-go/hasp/luagen/internal/parse"
)

//go:embed words.txt
var wordsText string

// words returns the lists of words.txt by their names.
var words = sync.OnceValue(func() map[string][]string { return parse.Lists(wordsText) })

// Words returns a list of words.txt.
func Words(name string) []string { return words()[name] }

// Shapes are the replies of commands as scripts get them in RESP2. A command that is not here, or
// that takes words which change its reply, has an unknown one.
var Shapes = byShape()

// byShape returns the shapes of words.txt by the names of commands.
func byShape() map[string]string {
	all := map[string]string{}
	for name, words := range words() {
		if shape, ok := strings.CutPrefix(name, "shape "); ok {
			all[shape] = strings.Join(words, " ")
		}
	}
	return ByName(all)
}

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
	"status": {Is: IsStatus}, "texts": listOf(textValue(), 0), "members": listOf(Value{Is: IsText, Role: AMember}, 0),
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
	case shape == "members" && options.Has("withscores"):
		return scores
	case found:
		return v
	case Units[shape].Per != 0:
		v = countUpTo(MaxLife)
		v.Low, v.Unit = strings.HasSuffix(name, "ttl") && !m.State.Sure[lives+m.KeyText(call.Words, 1)], Units[shape]
		return v
	case shape == "rank" && known == len(call.Words) && known == 3:
		return Value{Is: IsNumber | IsFalseValue, Number: aCount().Number}
	case shape == "maybes":
		v = listOf(Value{Is: IsText | IsFalseValue}, manyReplies(name, known))
		v.Items = slices.Repeat([]Value{*v.Elem}, max(v.Known, 0))
		return v
	}
	return m.optionReply(call, name, known)
}

// manyReplies returns how many elements the reply of MGET or HMGET has at least.
func manyReplies(name string, known int) int {
	if name == "hmget" {
		return known - 2
	}
	return known - 1
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
	case known == 2 && slices.Contains(popping, name):
		return Value{Is: IsText | IsFalseValue}
	case known == 3 && slices.Contains(popping[1:3], name):
		return listOf(textValue(), 0).or(IsFalseValue)
	}
	return unknown()
}

// popping are the commands that reply with one element, or with a list if an argument says how many.
var popping = Words("popping")

// expiring are the options by which SET gives its key an end.
var expiring = []string{"ex", "px", "exat", "pxat"}
