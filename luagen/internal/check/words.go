package check

import (
	"slices"
	"strings"

	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// checkWords checks that a call has the form of its command.
func (j *judge) checkWords(call commandCall, name string) {
	for _, word := range call.words[:len(call.words)-1] {
		if fn, ok := word.(*parse.CallExpr); ok && j.c.callee(fn) == "unpack" {
			j.find(word.Pos(), Command, "unpack gives one value here, as it is not the last word: put all words into a table")
		}
	}
	switch match := j.formOf(call, name); {
	case match.cmd == nil:
	case match.as == nil:
		j.misses(call, match)
	default:
		j.places(match)
		j.useless(call, match)
	}
}

// misses finds a call that does not have the form of its command.
func (j *judge) misses(call commandCall, match *matching) {
	cmd := match.cmd
	form := shown(cmd.name) + " " + strings.NewReplacer(",", " ", "#", "").Replace(cmd.form)
	if match.furthest >= len(call.words) {
		j.find(call.words[len(call.words)-1].Pos(), Command, "%s lacks a word behind this: its form is %s", shown(cmd.name), form)
		return
	}
	j.find(call.words[match.furthest].Pos(), Command, "%s does not take this word here: its form is %s", shown(cmd.name), form)
}

// places checks the values of a call whose words have these places.
func (j *judge) places(match *matching) {
	cmd := match.cmd
	for i, f := range match.as {
		word := match.words[i]
		j.field(match, word, f)
		j.pattern(cmd, word, f)
		if v := j.peek(word); f.number {
			j.member(v, word.Pos())
			if slices.Contains(counting, cmd.name) && (v.frac || v.split && !j.state.knows(someWhole)) {
				j.may(word.Pos(), Command, "%s fails if this has a fraction: write math.ceil", shown(cmd.name))
			}
		}
		_, chosen := j.c.origin(match.words[max(i, 1)-1]).(*parse.StringExpr)
		if chosen || i > 0 && !match.as[i-1].isToken() { // else the caller chooses the unit
			j.expiry(cmd, word, f, match.words[len(match.words)-1])
		}
		j.keeps(match, i)
		if !f.number {
			j.rounded(word)
		}
	}
}

// counting are the commands that add whole numbers only.
var counting = []string{"decrby", "hincrby", "incrby"}

// useless finds a call that does nothing, or whose reply is always the same, as it lacks an option or has another one.
func (j *judge) useless(call commandCall, match *matching) {
	options, written := match.options()
	has, last, key, says := options.has, match.words[len(match.words)-1], j.keyText(match.words, 1), ""
	set, zadd := match.cmd.name == "set", match.cmd.name == "zadd"
	switch first, tested := set && !j.follows(call, "", key), (set || zadd) && j.c.inCondition(call.expr); {
	case first && has("xx"):
		says = "with XX stores nothing if the key is missing, and no call before asks for it: NX is for a key that is missing"
	case first && tested && written && !call.open && j.raises(call.expr) && !has("nx") && !has("get") && !has("ifeq"):
		says = "without NX always stores, so its reply is always true: write NX"
	case zadd && key != "" && has("nx") && j.c.nth(last, "ARGV") == 0 && j.follows(call, "zr", key):
		says = "with NX changes no member that is there, and this one was read from the same key: write XX"
	case zadd && tested && has("xx") && !has("ch") && !has("incr"):
		says = "with XX always replies 0, as it counts new members: write CH, too"
	default:
		return
	}
	j.find(match.words[0].Pos(), Command, "%s %s", shown(match.cmd.name), says)
}

// follows reports whether a call before this one is on the same key, of a command that begins so; in a long script one may.
func (j *judge) follows(call commandCall, begin, key string) bool {
	all := j.c.flow.calls
	return len(all) > maxWithin && begin == "" || slices.ContainsFunc(all[:min(maxWithin, slices.Index(all, call.expr))], func(e *parse.CallExpr) bool {
		c, _ := j.c.commandCall(e)
		return len(c.names) > 0 && strings.HasPrefix(c.names[0], begin) && j.keyText(c.words, 1) == key
	})
}

// pattern finds a word of SORT that makes it read keys which are not declared.
func (j *judge) pattern(cmd *command, e parse.Expr, f form) {
	text, literal := j.c.origin(e).(*parse.StringExpr)
	reads := literal && strings.Contains(text.Value, "*") || !literal && !j.c.s.Raw
	if reads && strings.HasPrefix(cmd.name, "sort") && strings.HasSuffix(f.word, "pattern") {
		j.find(e.Pos(), Key, "%s reads keys by this pattern that luagen cannot check: read them by their names",
			strings.ToUpper(cmd.name))
	}
}

// field finds a field that the key of a call is declared without.
func (j *judge) field(match *matching, e parse.Expr, f form) {
	name, literal := j.c.origin(e).(*parse.StringExpr)
	if !literal || f.word != "field" {
		return
	}
	if key := j.c.declaredKey(match.words[1]); key != nil && key.Fields != nil {
		if _, msg := key.Field(name.Value); msg != "" {
			j.find(e.Pos(), Field, "%s", msg)
		}
	}
}

const manyGiven = "unpack fails from 8000 elements on: if callers may pass as many, go through ARGV in parts"

// unpacked finds the first unpack of a reply that has no bound, or one above what unpack takes.
func (j *judge) unpacked(args []parse.Expr, v value) {
	if !j.whole(args, v) {
		return
	}
	if v.given {
		j.note(args[0].Pos(), manyGiven)
	}
	if j.unpacks[varOf(unparen(args[0]))] = true; v.long() {
		j.may(args[0].Pos(), Command, "unpack fails from 8000 elements on, and this list may have as many: go through it in parts")
	}
}
