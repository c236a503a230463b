package check

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/hasp-go/hasp/luagen/internal/check/flow"
	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// from reports whether an expression is made of another, such as a call.
func (j *judge) from(e, of parse.Expr) bool { return j.C.Flow.Within(e, same(of)) }

// same returns the question whether an expression is this very one.
func same(this parse.Expr) func(parse.Expr) bool {
	return func(e parse.Expr) bool { return e == this }
}

// refusal is a condition because of which the script says no, and whether it is true then.
type refusal struct {
	cond  parse.Expr
	truth bool
}

// says notes the condition because of which the script says no, if it does so here.
func (j *judge) says(e parse.Expr, v flow.Value) {
	why := refusal{}
	why.cond, why.truth = j.State.Last()
	or := parse.Operands(e, "or")
	if and := parse.Operands(or[0], "and"); len(or) == 2 && len(and) == 2 { // cond and yes or no
		if why, v = (refusal{and[0], true}), j.Peek(and[1]); !no(v) {
			why.truth, v = false, j.Peek(or[1])
		}
	}
	text, _ := parse.ConstantText(e)
	if table, ok := e.(*parse.TableExpr); ok && len(table.Fields) > 1 {
		text, _ = parse.ConstantText(table.Fields[0].Value)
	}
	if (no(v) || saysNo.MatchString(text)) && !slices.Contains(j.refused, why) {
		j.refused = append(j.refused, why)
	}
}

var saysNo = regexp.MustCompile(`(?i)lock|block|den(?:y|ied)|refus|limit|reject|busy|full|over|exceed|wait|^no\b`)

// no reports whether a reply says no: it is 0 or less, nil, an error, or a list that begins so.
func no(v flow.Value) bool {
	return v.Is&^flow.Absent == 0 || v.Is == flow.IsFailed || v.Is == flow.IsNumber && v.Low || v.Closed && len(v.Items) > 0 && no(v.Items[0])
}

// reread has the commands that read what another has just changed, and dated names of keys that begin again by themselves.
var reread = map[string]string{"incr": "get", "incrby": "get", "zadd": "zcard", "sadd": "scard", "rpush": "llen", "lpush": "llen"}
var dated = regexp.MustCompile(`\b(?:window|bucket|second|minute|hour|day|today|daily|hourly|date|month|period|slot)\b`)

// stays finds a count, or a member that is counted, which stays though the script says no because of it; and an expiry that
// each such call puts off.
func (j *judge) stays(t touch, why refusal, all []touch) {
	last := j.C.Origin(t.call.Words[len(t.call.Words)-1])
	_, minus := last.(*parse.UnaryExpr)
	down := strings.HasPrefix(t.name, "decr") || flow.Is(t.name, "stepping") && minus
	about, ends, isCount, takes := t, t, flow.Is(t.name, "stepping"), down || t.name != "incr"
	for _, u := range all {
		switch after := u.call.Expr.P.Offset > t.call.Expr.P.Offset; {
		case u.key != t.key:
			takes = takes || after && j.C.Writes(u.call.Expr)
		case after && u.name == reread[t.name]:
			about = u
		case after && isCount && u.gives && j.block(u) == j.block(t) && strings.HasPrefix(u.key, "KEYS ") && len(u.call.Words) == 3 && !strings.HasSuffix(u.name, "at"):
			ends = u
		case isCount && u.gives, after && (isCount || flow.Is(u.name, "removing") || strings.HasPrefix(u.name, "zrem")) && j.C.Writes(u.call.Expr):
			return
		}
	}
	r, ok := j.C.Origin(why.cond).(*parse.BinaryExpr)
	r = cmp.Or(r, new(parse.BinaryExpr))
	if left, isLeft := j.C.Origin(r.L).(*parse.BinaryExpr); isLeft && left.Op == "-" && parse.Bound(r.R) == 0 && j.from(left.R, about.call.Expr) {
		turned := *r // limit - count < 0 is count > limit
		r, turned.L, turned.Op, turned.R = &turned, left.R, flow.Mirrored[r.Op], left.L
	}
	if !ok || !isCount && about.name == t.name || t.key == "" || !j.from(r.L, about.call.Expr) || j.from(r.R, about.call.Expr) || about.call.Expr.P.Offset > r.P.Offset || !strings.ContainsAny(r.Op, "<>") ||
		!down && (r.Op[0] == '>') != why.truth || down && (r.Op != "<" || !why.truth) && (r.Op != ">=" || why.truth) || down && parse.Bound(r.R) != 0 {
		return
	}
	switch {
	case ends.name == t.name && takes:
		j.find(t.call.Expr.P, Command, "this stays if line %d says no, so refused calls count, too: take it back there, or ask first", r.P.Line)
	case ends.name == t.name:
		j.note(t.call.Expr.P, "this counts refused calls, too, and the key never expires: take it back there, or give it an expiry")
	case ends.call.Expr.P.Offset < r.P.Offset && !dated.MatchString(j.C.NamesOf("KEYS", j.C.Nth(t.call.Words[1], "KEYS"))):
		j.find(ends.call.Expr.P, Expire, "calls to which line %d says no put this expiry off, too: call it only if the count is new, or with NX", r.P.Line)
	}
}

var successes = regexp.MustCompile(`\bsuccess\w*|\boks\b`)

// shortest notes an expiry of a set of holders that is the lease of one of them.
func (j *judge) shortest(t touch, all []touch) {
	words := t.call.Words
	n := j.C.Nth(words[len(words)-1], "ARGV")
	if n > 0 && flow.Is(t.name, "ending") && slices.ContainsFunc(all, func(u touch) bool {
		return u.key == t.key && u.name == "zadd" && !u.call.Open && slices.ContainsFunc(parse.Operands(j.C.Origin(u.call.Words[len(u.call.Words)-2]), "+")[1:], func(e parse.Expr) bool { return j.C.Nth(e, "ARGV") == n })
	}) {
		j.note(t.call.Expr.P, "the set goes with the lease of the last that came, and others may be longer: let it live as long as the longest")
	}
}

// carried notes a hash that gets a new state while a count of another state goes on, which the script compares.
func (j *judge) carried(t touch, all []touch) {
	if !slices.ContainsFunc(t.call.Words[2:], func(e parse.Expr) bool { return parse.IsLiteral(e, "state") || parse.IsLiteral(e, "status") }) || t.name != "hset" {
		return
	}
	if success := slices.IndexFunc(j.C.S.Comments, func(c parse.Comment) bool { return successes.MatchString(c.Text) }); success >= 0 && slices.ContainsFunc(t.call.Words, func(e parse.Expr) bool { return parse.Bound(e) == 0 }) && !slices.ContainsFunc(t.call.Words, func(e parse.Expr) bool {
		text, _ := parse.ConstantText(e)
		return successes.MatchString(text)
	}) {
		j.note(t.call.Expr.P, "the count of successes goes on in the new state: set it to 0, too")
	}
	for _, u := range all {
		if u.key == t.key && u.name == "hincrby" && j.C.InCondition(u.call.Expr) && !parse.Inside(j.block(u), j.block(t)) && !slices.ContainsFunc(all, func(w touch) bool {
			return w.key == t.key && w.name != u.name && (flow.Is(w.name, "erasing") || j.mentions(w, j.KeyText(u.call.Words, 2))) && parse.Inside(j.block(w), j.block(t))
		}) {
			j.note(t.call.Expr.P, "the count of line "+flow.Itoa(u.call.Expr.P.Line)+" goes on in the new state: set it to 0, too")
		}
	}
}
