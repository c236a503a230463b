// Package check finds what a script can get wrong beyond its syntax and its header. A finding needs certainty: where
// something is not known, nothing is found.
//
// Package flow reads the code twice: what each name may hold at any time, and then, statement by statement, in each of a set of
// states (states.go). It finds nothing: it passes on each use of a value as a sight. The judge finds what is wrong in a sight, by
// the rules that judge calls below, if all states that come there show it, or one does; and what is wrong in the code as a
// whole: compare.go, precision.go and so on. habits.txt has what calls of one key say of each other.
package check

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hasp-go/hasp/luagen/internal/check/flow"
	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// The rules of this package, by the names that "---@allow" takes.
const (
	Unused      = "unused"      // a name that is never read
	Undeclared  = "undeclared"  // a global that the server does not have
	SetGlobal   = "global"      // an assignment to a global
	Assign      = "assign"      // an assignment to a declared name
	Index       = "index"       // KEYS or ARGV themselves
	Unreachable = "unreachable" // code that never runs
	Optional    = "optional"    // an absent argument compared with an empty text
	Command     = "command"     // unknown, refused in scripts, or with a wrong number of arguments
	ReadOnly    = "readonly"    // a write in a read-only script, or a script that could be one
	Key         = "key"         // an undeclared key
	Field       = "field"       // a field that a hash is declared without
	Kind        = "kind"        // a command for another kind of key
	Channel     = "channel"     // an undeclared channel
	Precision   = "precision"   // digits of a number that are lost
	Time        = "time"        // microseconds that are not padded; times of different units
	Compare     = "compare"     // a comparison that fails, is always the same, or is of letters
	Nil         = "nil"         // what is nil, or may be, where that fails
	JSON        = "json"        // a list that may be empty, in JSON
	Result      = "result"      // a reply that is not what the script declares
	Expire      = "expire"      // a key without an expiry; an expiry that is 0 or has a fraction
	Refused     = "refused"     // a key that a refused EXPIRE leaves without an expiry: in strict runs
	uselessRule = "allow"       // an allow that allows nothing
	Note        = "note"        // what may be meant, and so is no finding
)

// Rules lists what "---@allow" may name.
var Rules = []string{
	Unused, Undeclared, SetGlobal, Assign, Index, Unreachable, Optional, Command, ReadOnly, Key, Field, Kind,
	Channel, Precision, Time, Compare, Nil, JSON, Result, Expire, Refused,
}

// Script returns the findings of a script that parsed, those allowed left out. In a strict run they
// are also of what is wrong only for users who may not call every command.
func Script(s *parse.Script, tables *flow.Tables, strict bool) []parse.Finding {
	j := &judge{
		Machine: flow.NewCode(s, tables).Machine(), seen: map[flow.UseAt]int{}, verdicts: map[string]*verdict{}, settled: map[parse.Expr]bool{},
		noted: map[string]bool{},
	}
	j.names()
	j.globals()
	j.expressions()
	j.commands()
	j.includedCalls()
	j.Watch = j.sees
	j.Follow()
	j.unending()
	j.compareTouches()
	for _, find := range j.unproven {
		find()
	}
	j.settle()
	return j.allowed(strict)
}

// judge finds what is wrong in what the machine sees, and in the code.
type judge struct {
	*flow.Machine
	findings []parse.Finding
	at       flow.UseAt         // the use that the machine sees
	seen     map[flow.UseAt]int // in how many states uses were seen
	verdicts map[string]*verdict
	order    []*verdict
	settled  map[parse.Expr]bool // words of commands: whether each is equal to a declared key in all states, or a table
	unproven []func()            // finds keys, or too few words, unless they are such words; and what all the code may show
	keyFound bool                // a raw script has no further finding of rule key
	noted    map[string]bool     // a script has one note of a text
	refused  []refusal           // the last conditions before it says no
}

// judge finds what is wrong in a use: each rule about uses is called here.
func (j *judge) judge(s flow.Sight) {
	if s.Use <= flow.Called { // for which nil fails
		j.present(s.V, s.E.Pos())
	}
	switch s.Use {
	case flow.InArithmetic:
		j.exact(s.V, s.E.Pos())
	case flow.InText:
		j.scalar(s.V, s.E.Pos(), "..", ": join its elements with table.concat")
		j.shown(s.V, s.E.Pos())
	case flow.AsWord:
		j.word(s)
	case flow.Indexed:
		j.elementOf(s)
	case flow.Ordered:
		j.failing(s.V, s.E.Pos())
	case flow.Asked:
		j.condition(s.E)
	case flow.Either:
		j.operand(s.E.(*parse.BinaryExpr))
	case flow.Equal, flow.Less, flow.Sum:
		j.pair(s.Use, s.E.(*parse.BinaryExpr), s.V, s.W)
	case flow.Chained:
		j.padded(s)
	case flow.Given:
		j.gets(s.Name, s.E.(*parse.CallExpr), s.Args)
	case flow.Sent:
		j.checkWords(s.Call, s.Name)
	case flow.Refusable:
		j.find(s.Call.Expr.P, Refused, "if this is refused, the key that line %d creates never expires: "+
			"before that line, too, call %s with NX, which changes no existing expiry", s.Pos.Line, strings.ToUpper(s.Name))
	case flow.Put:
		if x := parse.VarOf(s.F); x != nil && slices.ContainsFunc(j.C.Flow.Returned[nil], func(e parse.Expr) bool { return parse.VarOf(e) == x }) {
			j.hole(s.V, s.E.Pos())
		}
	case flow.Returned:
		j.returns(s.Stmt.(*parse.ReturnStmt), s.V)
		j.says(append(s.Stmt.(*parse.ReturnStmt).Values, &parse.NilExpr{})[0], s.V)
	case flow.Dropped:
		if call := s.E.(*parse.CallExpr); s.V.Is == flow.IsFailed || strings.HasSuffix(j.C.Callee(call), "_reply") {
			j.find(call.P, Result, "this makes a reply, and the script goes on: write return before it")
		}
	case flow.Entered:
		j.skips(s.In)
	case flow.Ended:
		j.nothing(s.Stmt.Pos())
	case flow.Unreached:
		j.find(s.Stmt.Pos(), Unreachable, "this is never reached")
	}
}

// word notes in which of the states a word of a command certainly is a declared key, or no word.
func (j *judge) word(s flow.Sight) {
	j.use(s.V)
	j.turns(s.V, s.E.Pos())
	before, seen := j.settled[s.E]
	is := j.scalar(s.V, s.E.Pos(), "a command", ": pass its elements, as unpack gives them") || j.State.Sure[flow.DeclaredKey+j.KeyName(s.E, flow.MaxKeyParts)]
	j.settled[s.E] = is && (before || !seen)
}

// verdict is a finding in a place, as far as the states show it there.
type verdict struct {
	parse.Finding
	at   flow.UseAt
	hits int  // in how many states it is so
	some bool // one is enough
}

// sees finds what is wrong in what the machine sees.
func (j *judge) sees(s flow.Sight) {
	j.at = s.Place(j.State.Never)
	j.seen[j.at]++
	j.judge(s)
	j.at = flow.UseAt{}
}

// find notes what is wrong if all states show it.
func (j *judge) find(pos parse.Pos, rule, format string, args ...any) {
	j.verdict(false, pos, rule, format, args...)
}

// may notes what is wrong if one state shows it.
func (j *judge) may(pos parse.Pos, rule, format string, args ...any) {
	j.verdict(true, pos, rule, format, args...)
}

func (j *judge) verdict(some bool, pos parse.Pos, rule, format string, args ...any) {
	key, msg := fmt.Sprint(j.at, pos, rule, format), fmt.Sprintf(format, args...)
	v := j.verdicts[key]
	if v == nil {
		v = &verdict{Finding: parse.Finding{File: j.C.S.File, Pos: pos, Rule: rule}, at: j.at, some: some}
		j.verdicts[key] = v
		j.order = append(j.order, v)
	}
	if v.hits++; len(msg) > len(v.Msg) { // the one that says most
		v.Msg = msg
	}
}

// settle makes findings of what enough states show, one of each rule in a place. States that never are count where no other comes.
func (j *judge) settle() {
	found := map[string]bool{}
	for _, v := range j.order {
		key, at := fmt.Sprint(v.Pos, v.Rule), v.at
		at.Never = false
		if (v.some || v.hits >= j.seen[v.at]) && !found[key] && !(v.at.Never && j.seen[at] > 0) {
			found[key] = true
			j.findings = append(j.findings, v.Finding)
		}
	}
}

func (j *judge) report(pos parse.Pos, rule, format string, args ...any) {
	j.findings = append(j.findings,
		parse.Finding{File: j.C.S.File, Pos: pos, Msg: fmt.Sprintf(format, args...), Rule: rule})
}

// note notes what may be meant, once for a script.
func (j *judge) note(pos parse.Pos, text string) {
	if !j.noted[text] {
		j.noted[text] = true
		j.report(pos, Note, "%s", text)
	}
}

// expressions checks those that need nothing known of names.
func (j *judge) expressions() {
	for _, e := range j.C.Flow.Exprs {
		switch e := e.(type) {
		case *parse.IndexExpr:
			j.memberOfLibrary(e)
		case *parse.BinaryExpr:
			j.never(e)
		case *parse.TableExpr:
			for _, f := range e.Fields[:max(0, len(e.Fields)-1)] {
				j.cut(f.Value)
			}
		case *parse.CallExpr:
			for _, arg := range e.Args[:max(0, len(e.Args)-1)] {
				j.cut(arg)
			}
			if j.C.Callee(e) == "tonumber" && len(e.Args) > 0 {
				j.noKey(e.Args[0])
			}
			if n := j.C.Nth(e, "ARGV"); n > 0 && j.C.S.Raw && isID.MatchString(j.C.NamesOf("ARGV", n)) && !isSmall.MatchString(j.C.NamesOf("ARGV", n)) {
				j.note(e.P, "a number has 15 or 16 digits, and ids may have more, of which the last are lost: keep it a text")
			}
			j.magic(e)
			if j.C.Callee(e) == "math.random" && !j.C.Seeds && !j.C.Assembled() && len(j.C.S.Header.Includes) == 0 {
				j.report(e.P, Command, "each run of a script draws the same numbers: call math.randomseed first, as with TIME or an argument")
			}
		}
	}
	for _, cond := range j.C.Flow.Conds {
		j.given(cond)
		for _, part := range parse.Operands(cond, "or")[1:] {
			if flow.ConstantKind(part)&(flow.IsText|flow.IsNumber) != 0 {
				j.report(part.Pos(), Compare, "this is always true: write the comparison again, as in x == 1 or x == 2")
			}
		}
	}
}

// allowed drops the findings that are allowed on their lines, and reports what allows nothing.
func (j *judge) allowed(strict bool) []parse.Finding {
	var kept []parse.Finding
	used := map[*parse.Allow]bool{}
	for _, f := range j.findings {
		allowed := !strict && f.Rule == Refused
		for _, a := range j.C.S.Header.Allows {
			if a.Rule == f.Rule && a.Line == f.Pos.Line {
				used[a], allowed = true, true
			}
		}
		if !allowed {
			kept = append(kept, f)
		}
	}
	j.findings = kept
	for _, a := range j.C.S.Header.Allows {
		if !used[a] && a.Reason != "" {
			j.report(a.Pos, uselessRule, "allow %s: line %d has no such finding", a.Rule, a.Line)
		}
	}
	return j.findings
}
