package check

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/hasp-go/hasp/luagen/internal/check/flow"
	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// from reports whether an expression is made of the reply of a call.
func (j *judge) from(e parse.Expr, t touch) bool {
	return j.C.Flow.Within(e, func(e parse.Expr) bool { return e == parse.Expr(t.call.Expr) })
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
	if no(v) && !slices.Contains(j.refused, why) {
		j.refused = append(j.refused, why)
	}
}

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
	down := strings.HasPrefix(t.name, "decr") || flow.Is(t.name, "stepping") && parse.Bound(j.C.Origin(t.call.Words[len(t.call.Words)-1])) < 0
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
	if left, isLeft := j.C.Origin(r.L).(*parse.BinaryExpr); isLeft && left.Op == "-" && parse.Bound(r.R) == 0 && j.from(left.R, about) {
		turned := *r // limit - count < 0 is count > limit
		r, turned.L, turned.Op, turned.R = &turned, left.R, flow.Mirrored[r.Op], left.L
	}
	if !ok || !isCount && about.name == t.name || t.key == "" || !j.from(r.L, about) || j.from(r.R, about) || about.call.Expr.P.Offset > r.P.Offset || !strings.ContainsAny(r.Op, "<>") ||
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
