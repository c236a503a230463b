package check

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/hasp-go/hasp/luagen/internal/check/flow"
	"github.com/hasp-go/hasp/luagen/internal/parse"
	"github.com/hasp-go/hasp/luagen/internal/units"
)

var lockName = regexp.MustCompile(`\b(?:un)?(?:lock|lease|mutex|leader|claim)\b`)
var ownerName = regexp.MustCompile(`\b(?:owner|holder|worker|node|instance|token|nonce|uuid|identifier|lock (?:value|id))\b`)
var byForce = regexp.MustCompile(`\b(?:force|admin|reset|steal|break|expired?|stale|clean|clear|reap|remove|delete|destroy)`)

// owned finds a lock that is freed or renewed for any caller, though an owner is passed, or no condition is about an argument; and one
// that is taken for ever. It is a lock by its name, or if the script asks by GET whether it is there, and puts nothing into it.
func (j *judge) owned(t touch, all []touch) {
	key, owner, asks := j.C.Nth(t.call.Words[1], "KEYS"), 0, false
	says := units.Spoken(t.key+" "+j.C.NameOf(t.call.Words[1])+" ") + j.C.NamesOf("KEYS", key)
	if first, _, _ := strings.Cut(j.C.Said["1"], "\n"); key == 1 { // of a script of one lock
		says += units.Spoken(" " + j.C.S.Name + " " + first)
	}
	options, _ := j.FormOf(t.call, t.name).Options()
	named, frees := lockName.MatchString(says), flow.Is(t.name, "erasing") || flow.Is(t.name, "ending") || options.Has("xx")
	isLock, takes := named && (key > 0 || strings.HasPrefix(t.key, "'")), t.name == "setnx" || options.Has("nx")
	for _, u := range all {
		if u.key == t.key && (u.gives && !frees || frees && flow.Is(u.name, "creating") && u.call.Expr != t.call.Expr) {
			return
		}
		asks = asks || u.key == t.key && !j.C.Writes(u.call.Expr) && j.C.InCondition(u.call.Expr)
		isLock = isLock || key > 0 && u.key == t.key && u.name == "get" && j.C.InCondition(u.call.Expr)
	}
	if named && isLock && (takes || asks && t.name == "set" && len(t.call.Words) == 3) {
		j.find(t.call.Expr.P, Expire, "this lock is held for ever if its holder dies: give it an expiry, as SET with NX and PX does")
	}
	compares := func(about func(parse.Expr) bool) bool {
		return slices.ContainsFunc(j.C.Flow.Binaries, func(b *parse.BinaryExpr) bool { return equates(b) && j.C.Flow.Within(b, about) }) ||
			slices.ContainsFunc(j.C.Flow.Conds, func(e parse.Expr) bool {
				b, _ := e.(*parse.BinaryExpr)
				return (b == nil || flow.Mirrored[b.Op] == "") && j.C.Flow.Within(e, about)
			})
	}
	for n := 1; n < 10 && isLock && frees; n++ {
		if !ownerName.MatchString(j.C.NamesOf("ARGV", n)) {
			continue
		}
		if compares(func(e parse.Expr) bool { return j.C.Nth(e, "ARGV") == n }) {
			return
		}
		owner = cmp.Or(owner, n)
	}
	switch {
	case owner > 0:
		j.find(t.call.Expr.P, Compare, "this is done for any caller: compare ARGV[%d] with what the key holds, or with its field, first", owner)
	case named && isLock && frees && (asks || !flow.Is(t.name, "ending")) && !byForce.MatchString(says) && !compares(func(e parse.Expr) bool { return j.C.Nth(e, "ARGV") > 0 }):
		j.find(t.call.Expr.P, Compare, "this is done for any caller: pass what the owner has put there, and compare it with what the key holds first")
	}
}

// begins finds a count that is raised by an amount, and compared with 1 to know the call that gives it an expiry.
func (j *judge) begins(e *parse.BinaryExpr) {
	if parse.Bound(e.R) == 1 && j.C.Flow.Within(e.L, func(e parse.Expr) bool {
		words := append(j.C.Sent(e, "incrby"), j.C.Sent(e, "hincrby")...)
		return len(words) > 2 && !j.Peek(words[len(words)-1]).Written() && j.ends(words)
	}) {
		j.find(e.P, Expire, "this is so only if the first call adds 1, else the key never expires: compare it with what is added")
	}
}

// ends reports whether the script gives the key of some words of a command an expiry.
func (j *judge) ends(words []parse.Expr) bool {
	return slices.ContainsFunc(j.C.Calls(), func(call flow.CommandCall) bool {
		return len(call.Names) == 1 && flow.Is(call.Names[0], "ending") && j.KeyText(call.Words, 1) == j.KeyText(words, 1)
	})
}

// refills finds a time that is set to now where whole parts alone of the time since then are given: the rest is lost.
func (j *judge) refills(floor *parse.CallExpr, all []touch) {
	var now, last parse.Expr
	at := floor.P
	parts, _ := parse.Unparen(floor.Args[0]).(*parse.BinaryExpr)
	if parts == nil || parts.Op != "/" && parts.Op != "*" || !j.C.Flow.Within(parts.L, parse.Of(func(b *parse.BinaryExpr) bool {
		if b.Op == "-" && slices.ContainsFunc(all, func(t touch) bool { return !j.C.Writes(t.call.Expr) && j.from(b.R, t.call.Expr) }) {
			now, last = cmp.Or(j.Passed(b.L, "tonumber"), b.L), b.R
		}
		return now != nil
	})) {
		return
	}
	stores := func(of func(parse.Expr) bool) bool {
		return slices.ContainsFunc(all, func(t touch) bool { return j.C.Writes(t.call.Expr) && slices.ContainsFunc(t.call.Words[2:], of) })
	}
	if stores(func(e parse.Expr) bool {
		all := j.C.Flow.Sources[parse.VarOf(e)] // The last is what is stored; a first may be for a bucket that is new.
		if len(all) > 0 && j.isTime(all[len(all)-1].Expr, now) {
			at = all[len(all)-1].Expr.Pos()
		}
		return j.isTime(e, now) || len(all) > 0 && j.isTime(all[len(all)-1].Expr, now)
	}) && stores(func(e parse.Expr) bool { return j.from(e, floor) }) && !stores(parse.Of(func(sum *parse.BinaryExpr) bool {
		return parse.VarOf(last) != nil && parse.VarOf(sum.L) == parse.VarOf(last) && j.from(sum.R, floor)
	})) {
		j.find(at, Time, "whole parts alone of the time until now are given, and the rest is lost here: store the time up to which they were given")
	}
}

// isTime reports whether an expression is the local name or the argument that another is.
func (j *judge) isTime(e, now parse.Expr) bool {
	x, n := parse.VarOf(now), j.C.Nth(now, "ARGV")
	return x != nil && parse.VarOf(e) == x || n > 0 && j.C.Nth(e, "ARGV") == n
}
