package check

import (
	"cmp"
	"regexp"
	"slices"

	"github.com/hasp-go/hasp/luagen/internal/check/flow"
	"github.com/hasp-go/hasp/luagen/internal/parse"
	"github.com/hasp-go/hasp/luagen/internal/units"
)

// habits finds what a call of a command on a key shows by its words, or by the calls around it, wherever it stands.
func (j *judge) habits(all []touch) {
	for i, t := range all {
		if t.name == "zadd" && len(t.call.Words) == 4 {
			j.oneMember(t, all)
		}
		if t.name == "zadd" && len(t.call.Words) == 4 || t.name == "hset" || t.name == "hmset" {
			j.idle(t, all)
		}
		j.words(t)
		j.rows(all[:i+1])
		j.overwritten(t, all)
		j.owned(t, all)
		j.carried(t, all)
		j.shortest(t, all)
		for _, why := range j.refused {
			j.stays(t, why, all)
		}
	}
	j.overdrawn(all)
	parse.EachStmt(j.C.S.Body, func(stmt parse.Stmt) {
		j.overfull(stmt, all)
		j.undone(stmt, all)
		j.mapped(stmt)
	})
	for _, e := range j.C.Flow.Calls {
		if j.C.Callee(e) == "math.floor" && len(e.Args) == 1 {
			j.refills(e, all)
		}
	}
}

// mentions reports whether a key is among the words of a call.
func (j *judge) mentions(t touch, key string) bool {
	return slices.ContainsFunc(t.call.Words, func(e parse.Expr) bool { return j.KeyName(e, flow.MaxKeyParts) == key })
}

// amounts is of names of arguments that say how many.
var amounts = regexp.MustCompile(`\b(?:limit|count|size|max|batch|capacity|keep|top|length|len|items|entries)$`)

// spoken returns the words of the name of an expression, or of the argument that it is.
func (j *judge) spoken(e parse.Expr) string {
	return units.Spoken(j.C.NameOf(e)) + " " + j.C.NamesOf("ARGV", j.C.Nth(e, "ARGV"))
}

// words finds what a call shows by its words alone.
func (j *judge) words(t touch) {
	if j.C.S.Header.Repeat && flow.Is(t.name, "adding") && j.block(t) == j.C.S.Body {
		j.find(t.call.Expr.P, Command, "%s does more if it runs twice, so this script is not safe to retry: leave ---@retry out", flow.Shown(t.name))
	}
	match := j.FormOf(t.call, t.name)
	words := t.call.Words // A script that compares a length with the limit may read one more, to know whether there are others.
	asksMore := func(b *parse.BinaryExpr) bool { return j.LengthOf(b.L) != nil && j.C.Shares(b.R, words[3]) }
	if len(words) > 3 && (t.name == "ltrim" || flow.Is(t.name, "by rank")) && parse.Bound(j.C.Origin(words[2])) == 0 &&
		amounts.MatchString(j.C.NamesOf("ARGV", j.C.Nth(words[3], "ARGV"))) && !slices.ContainsFunc(j.C.Flow.Binaries, asksMore) {
		j.find(words[3].Pos(), Command, "this is the last index, and it counts, too, so that is one more: write - 1 behind it")
	}
	for i, f := range match.As {
		if f.Number || f.Word == "field" || f.Word == "member" || f.Word == "element" {
			j.noKey(match.Words[i])
		}
	}
}

// isBrief is of names of what mostly expires.
var isBrief = regexp.MustCompile(`\b(?:session|token|otp|csrf|ticket|nonce|cache|invitation|login)\b`)

// overwritten notes a SET of what a GET of the same key has given, changed by a number or in JSON, and a GETSET of a key of
// which the script asks whether it is there: it takes the key's expiry away.
func (j *judge) overwritten(t touch, all []touch) {
	if !flow.Is(t.name, "dropping") || len(t.call.Words) != 3 || t.key == "" || slices.ContainsFunc(all, func(u touch) bool {
		return u.key == t.key && (u.gives || units.ByType[flow.Shapes[u.name]].Per != 0)
	}) {
		return
	}
	if value := t.call.Words[2]; j.C.Flow.Within(value, func(e parse.Expr) bool {
		sum, ok := e.(*parse.BinaryExpr)
		return ok && (sum.Op == "+" || sum.Op == "-" || sum.Op == "..") || j.Passed(e, "cjson.encode") != nil
	}) && j.C.Flow.Within(value, func(e parse.Expr) bool {
		words := j.C.Sent(e, "get")
		return len(words) > 1 && j.KeyText(words, 1) == t.key
	}) || isBrief.MatchString(units.Spoken(j.C.NameOf(t.call.Words[1]))+" "+j.C.NamesOf("KEYS", j.C.Nth(t.call.Words[1], "KEYS"))) && slices.ContainsFunc(all, func(u touch) bool {
		return u.key == t.key && u.name == "get" && j.C.InCondition(u.call.Expr)
	}) || t.name == "getset" && slices.ContainsFunc(all, func(u touch) bool { return u.key == t.key && u.name == "exists" }) {
		j.note(t.call.Expr.P, "SET and GETSET take an expiry away that this key may have: INCRBY keeps it, and SET with KEEPTTL")
	}
}

// oneMember finds a member that is its own score, in a set whose members are counted: events of one moment count once. A member
// that ends with the number of members is a note.
func (j *judge) oneMember(t touch, all []touch) {
	score := j.bare(t.call.Words[2])
	isCounted := func(u touch) bool { return u.key == t.key && (u.name == "zcard" || u.name == "zcount") }
	is, counts := false, false
	for _, part := range parse.Operands(j.bare(t.call.Words[3]), "..") {
		part = j.bare(part)
		name := j.KeyName(part, flow.MaxKeyParts)
		switch _, written := parse.ConstantText(part); {
		case written:
		case part == score || name != "" && name == j.KeyName(score, flow.MaxKeyParts):
			is = true
		case slices.ContainsFunc(all, func(u touch) bool { return isCounted(u) && part == parse.Expr(u.call.Expr) }):
			counts = true
		default:
			return
		}
	}
	if counts {
		j.note(t.call.Words[3].Pos(), "two calls may make this same member if one is removed between them: INCR a counter, or pass an id")
	} else if is && slices.ContainsFunc(all, isCounted) {
		j.find(t.call.Words[3].Pos(), Command, "the score is the member, too, so what comes at one moment counts once: put an id or a counter behind it")
	}
}

// bare returns what an expression is made of, without tostring and tonumber.
func (j *judge) bare(e parse.Expr) parse.Expr {
	for range 2 {
		e = cmp.Or(j.Passed(e, "tostring"), j.Passed(e, "tonumber"), e)
	}
	return j.C.Origin(e)
}

var isNow = regexp.MustCompile(`^(?:.* )?(?:now|time|ts|timestamp)(?: (?:ms|millis|sec|seconds))?$`)

// clocked reports whether an expression is the time, by its name or by TIME.
func (j *judge) clocked(e parse.Expr) bool {
	if sum := parse.Operands(j.C.Origin(e), "+"); len(sum) > 1 {
		return j.clocked(sum[0]) || j.clocked(sum[1])
	}
	return isNow.MatchString(units.Spoken(j.C.NameOf(e))) || j.C.Flow.Within(e, func(e parse.Expr) bool { return j.C.Sent(e, "time") != nil })
}

// idle notes a window or a bucket whose key never expires, in a script that has no other key, and times that it counts and never removes.
func (j *judge) idle(t touch, all []touch) {
	aged, removes, count := false, false, t
	for _, u := range all {
		if u.key != t.key || t.key == "" {
			return
		}
		if u.name == "zcard" && j.C.InCondition(u.call.Expr) || u.name == "zcount" || u.name == "zrangebyscore" {
			count = u
		}
		removes = removes || j.C.Writes(u.call.Expr) && u.name != "zadd" && !flow.Is(u.name, "ending")
		aged = aged || slices.ContainsFunc(j.C.Flow.Binaries, func(b *parse.BinaryExpr) bool {
			return b.Op == "-" && j.clocked(b.L) && (t.name != "zadd" && (u.name == "hget" || u.name == "hmget") && j.from(b.R, u.call.Expr) ||
				t.name == "zadd" && u.name == "zremrangebyscore" && j.from(u.call.Words[len(u.call.Words)-1], b))
		})
	}
	if aged && !slices.ContainsFunc(all, func(u touch) bool {
		return flow.Is(u.name, "ending") || u.name == "persist" || units.ByType[flow.Shapes[u.name]].Per != 0
	}) {
		j.note(t.call.Expr.P, "this key stays when its callers are gone, as nothing here gives it an expiry: call PEXPIRE with the time for which it is needed")
	} else if count.name != t.name && count.name != "zcard" && !removes && t.name == "zadd" && j.clocked(t.call.Words[2]) {
		j.note(t.call.Expr.P, "none of these is removed here: if they end by time, the set grows without end, so call ZREMRANGEBYSCORE, too")
	} else if count.name == "zcard" && !removes && t.name == "zadd" && j.clocked(t.call.Words[2]) {
		j.note(count.call.Expr.P, "none of these is removed here: if they end by time, they count still, so call ZREMRANGEBYSCORE first, or ZCOUNT")
	}
}

// noKey finds an element of KEYS that no command takes for a key.
func (j *judge) noKey(e parse.Expr) {
	if n := j.C.Nth(e, "KEYS"); j.C.S.Raw && n > 0 && !j.C.Keyed[n] && !j.noted["KEYS "+flow.Itoa(n)] {
		j.noted["KEYS "+flow.Itoa(n)] = true
		j.find(j.C.Origin(e).Pos(), Key, "KEYS[%d] is no key here, and a cluster sends the script to the node of all keys: pass it in ARGV", n)
	}
}

// isPattern matches names of arguments that are meant for patterns.
var isPattern = regexp.MustCompile(`pattern|regexp?|glob|match|filter|sep|delim`)

// magic finds an argument that is taken for a pattern.
func (j *judge) magic(e *parse.CallExpr) {
	name, args := j.C.Callee(e), e.Args
	if e.Method != "" {
		name, args = "string."+e.Method, append([]parse.Expr{nil}, e.Args...)
	}
	if !flow.Is(name, "patterns") || len(args) < 2 || len(args) > 3 && name == "string.find" {
		return
	}
	for _, e := range parse.Operands(j.C.Origin(args[1]), "..") {
		n := j.C.Nth(e, "ARGV")
		if n > 0 && !isPattern.MatchString(units.Spoken(j.C.NameOf(args[1])+" "+j.C.NameOf(e)+" "+j.C.Said["ARGV["+flow.Itoa(n)+"]"])) {
			j.find(args[1].Pos(), Compare, "this is taken for a pattern, in which - . %% and others mean something else: "+
				"write string.find(text, this, 1, true)")
		}
	}
}

// cut finds an unpack before another value, which gives one element there.
func (j *judge) cut(e parse.Expr) {
	call, ok := e.(*parse.CallExpr)
	if !ok || j.C.Callee(call) != "unpack" || len(call.Args) == 0 || len(call.Args) > 2 {
		return
	}
	if list, ok := j.C.Origin(call.Args[0]).(*parse.TableExpr); !ok || len(list.Fields) != 1 {
		j.report(call.P, Command, "this gives one element alone, as another value is behind it: put it last")
	}
}

// mapped finds a loop over the reply of HGETALL by pairs that takes its places for the names.
func (j *judge) mapped(stmt parse.Stmt) {
	loop, ok := stmt.(*parse.GenForStmt)
	if !ok || len(loop.Vars) < 2 || len(loop.Values) != 1 {
		return
	}
	list := j.Passed(loop.Values[0], "pairs")
	counts := func(b *parse.BinaryExpr) bool { return b.Op != ".." && parse.Mentions(b, loop.Vars[0]) }
	if list != nil && j.C.Sent(list, "hgetall") != nil && len(loop.Vars[0].Reads) > 0 && !slices.ContainsFunc(j.C.Flow.Binaries, counts) {
		j.find(list.Pos(), Command, "this is a list, so pairs gives 1, 2, 3 and not the names, which stand by turns with the values: go in steps of 2")
	}
}
