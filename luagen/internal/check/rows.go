package check

import (
	_ "embed"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/hasp-go/hasp/luagen/internal/check/flow"
	"github.com/hasp-go/hasp/luagen/internal/parse"
)

//go:embed habits.txt
var habitsText string

// row is one of habits.txt: an earlier call and its words, how they are related, and a call and its words.
type row struct {
	rule, relation, says string
	first, last          []string
}

var rows = sync.OnceValue(func() (all []row) {
	for line := range strings.Lines(habitsText) {
		if r := strings.Split(strings.TrimSpace(line), " | "); len(r) == 5 {
			all = append(all, row{r[0], r[2], r[4], strings.Fields(r[1]), strings.Fields(r[3])})
		}
	}
	return all
})

// rows finds what habits.txt says of the last of some calls, and of those before it on the same key.
func (j *judge) rows(all []touch) {
	for _, r := range rows() {
		if u, fits := j.first(r, all); fits {
			t := all[len(all)-1]
			if r.relation == "ahead" {
				t, u = u, t
			}
			line := "line " + flow.Itoa(u.call.Expr.P.Line)
			j.find(t.call.Expr.P, r.rule, "%s", strings.NewReplacer("LINE", line, "CALL", flow.Shown(t.name)).Replace(r.says))
		}
	}
}

// first returns the first call of a row whose last one is the last of some calls. A row of one call has the same for both.
func (j *judge) first(r row, all []touch) (touch, bool) {
	i := len(all) - 1
	t := all[i]
	if !j.is(t, r.last[0], all[:i]) {
		return t, false
	}
	if len(r.first) == 0 {
		return t, j.has(t, r.last, map[string]parse.Expr{}) && (r.relation == "" || j.C.S.Raw && !j.within(t, r.relation))
	}
	for k := i - 1; k >= 0 && t.key != ""; k-- {
		u, names := all[k], map[string]parse.Expr{}
		if u.key == t.key && j.is(u, r.first[0], all[:k]) && j.related(r.relation, all[k:]) && j.has(u, r.first, names) && j.has(t, r.last, names) {
			return u, true
		}
	}
	return t, false
}

// within reports whether a call is in a loop that ends by a condition, or, if it must not be asked for, in an if that asks a command.
func (j *judge) within(t touch, relation string) bool {
	return slices.ContainsFunc(parse.Statements(j.C.S.Body), func(stmt parse.Stmt) bool {
		is := relation == "once"
		switch s := stmt.(type) {
		case *parse.RepeatStmt, *parse.WhileStmt:
		case *parse.IfStmt:
			is = relation == "unasked" && len(j.C.CommandsIn(s.Conds[0])) > 0
		default:
			return false
		}
		return is && slices.ContainsFunc(parse.Blocks(stmt), func(b *parse.Block) bool { return parse.Inside(b, j.block(t)) })
	})
}

func (j *judge) block(t touch) *parse.Block { return j.C.Flow.Blocks[t.call.Expr] }

// related reports whether the last of some calls follows the first as a row wants.
func (j *judge) related(relation string, all []touch) bool {
	u, t := all[0], all[len(all)-1]
	switch relation {
	case "with":
		return j.block(u) == j.block(t)
	case "always": // whatever the first has replied
		return j.block(u) == j.block(t) && !slices.ContainsFunc(j.C.Flow.Conds, func(e parse.Expr) bool { return e.Pos().Offset < t.call.Expr.P.Offset && j.from(e, u.call.Expr) })
	case "before": // the script adds what it has counted in the same block
		return parse.Inside(j.block(t), j.block(u)) || parse.Inside(j.block(u), j.block(t)) && slices.ContainsFunc(j.C.Calls(), func(call flow.CommandCall) bool {
			return slices.Equal(call.Names, []string{"zadd"}) && j.C.Flow.Blocks[call.Expr] == j.block(t)
		})
	}
	return relation == "ahead" || parse.Inside(j.block(u), j.block(t)) && (relation == "then" || !slices.ContainsFunc(all[1:len(all)-1], func(w touch) bool {
		return j.C.Writes(w.call.Expr) && (flow.AnyOf(w.key) || j.mentions(w, t.key))
	}))
}

// is reports whether a call is of a command, or of a list of them: with ? if a condition asks for its reply, with ~ if none does,
// with ^ if it raises its errors, and no call before it is about its key.
func (j *judge) is(t touch, command string, before []touch) bool {
	name := strings.TrimRight(command, "?^~")
	list, isList := strings.CutPrefix(name, "@")
	is := name == t.name || isList && flow.Is(t.name, list) || list == "reading" && !j.C.Writes(t.call.Expr) && flow.Shapes[t.name] != ""
	return is && (!strings.ContainsAny(command, "?~") || j.C.InCondition(t.call.Expr) == strings.Contains(command, "?")) &&
		!(strings.Contains(command, "^") && (!j.Raises(t.call.Expr) || t.key == "" || slices.ContainsFunc(before, func(u touch) bool { return flow.AnyOf(u.key) || j.mentions(u, t.key) })))
}

// has reports whether a call has the words of a row. It notes those that have names.
func (j *judge) has(t touch, want []string, names map[string]parse.Expr) bool {
	words, more, texts := t.call.Words[2:], false, []string{}
	for _, e := range words {
		text, _ := parse.ConstantText(j.C.Origin(e))
		texts = append(texts, strings.ToUpper(text))
	}
	for _, w := range want[1:] {
		token := strings.TrimLeft(w, "!")
		switch {
		case w == "...":
			more = true
		case token[0] >= 'A' && token[0] <= 'Z':
			if slices.ContainsFunc(strings.Split(token, "|"), func(t string) bool { return slices.Contains(texts, t) }) == (w != token) {
				return false
			}
		case len(words) == 0 || !j.fits(words[0], w, names):
			return false
		default:
			words = words[1:]
		}
	}
	return (more || len(words) == 0) && !t.call.Open
}

// fits reports whether a word is as a row wants it.
func (j *judge) fits(e parse.Expr, want string, names map[string]parse.Expr) bool {
	origin := j.C.Origin(e)
	minus, isUnary := origin.(*parse.UnaryExpr)
	text, _ := parse.ConstantText(origin)
	switch n := parse.Bound(origin); {
	case want == "-" || want == "-n":
		return isUnary && minus.Op == "-" && !j.C.Flow.Within(minus.X, func(e parse.Expr) bool { _, sum := e.(*parse.BinaryExpr); return sum }) && (want == "-" || math.IsNaN(n))
	case want == "i":
		loop := j.C.Flow.Loops[parse.VarOf(e)]
		return loop != nil && loop.Step == nil
	case want == "0": // or it is so at first
		all := j.C.Flow.Sources[parse.VarOf(e)]
		return n == 0 || len(all) > 0 && parse.Bound(all[0].Expr) == 0
	case want == "?":
		return text == "" && math.IsNaN(n)
	case want == ">=0":
		return n >= 0
	case want == "!<0":
		return !(n < 0)
	case want[0] == '=':
		return slices.Contains(strings.Split(want[1:], "|"), strings.ToLower(text)) || !math.IsNaN(n) && want[1:] == strconv.FormatFloat(n, 'f', -1, 64)
	case strings.HasSuffix(want, "+1"):
		read := names[strings.TrimSuffix(want, "+1")]
		last, m := parse.Added(j.C.Origin(read))
		base, k := parse.Added(e)
		return parse.Bound(read) > 0 && n == parse.Bound(read)+1 || k == m+1 && parse.VarOf(last) != nil && parse.VarOf(last) == parse.VarOf(base)
	case want != "_" && names[want] != nil:
		other, _ := parse.ConstantText(j.C.Origin(names[want]))
		return text != "" && text == other || parse.VarOf(e) != nil && parse.VarOf(e) == parse.VarOf(names[want]) || j.KeyName(e, flow.MaxKeyParts) != "" && j.KeyName(e, flow.MaxKeyParts) == j.KeyName(names[want], flow.MaxKeyParts)
	}
	names[want] = e
	return true
}
