package check

import (
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/hasp-go/hasp/luagen/internal/check/flow"
	"github.com/hasp-go/hasp/luagen/internal/parse"
	"github.com/hasp-go/hasp/luagen/internal/units"
)

const tooWide = "%s may pass 2^53, and a Lua number is exact no further: give it bounds, as in " +
	"int(0..1000), or leave the arithmetic to a command"

// exact finds a number of which the last digits are lost in arithmetic, and what may be no number.
func (j *judge) exact(v flow.Value, pos parse.Pos) {
	j.scalar(v, pos, "arithmetic", ": take its elements, or their number")
	if v.Is != flow.IsNumber {
		j.turns(v, pos)
	}
	switch {
	case v.Lossy != nil:
		j.use(v)
	case v.Surely(flow.IsNumber) && v.Large > flow.MaxExact:
		j.may(pos, Precision, "this may pass 2^53, and a Lua number is exact no further: its last digits are lost")
	case v.Wide != "" && v.Is&flow.IsText != 0:
		j.may(pos, Precision, tooWide, v.Wide)
	}
}

// use finds the number of an int without bounds, where it is used for anything but a comparison with a small number.
func (j *judge) use(v flow.Value) {
	if v.Lossy != nil {
		j.may(*v.Lossy, Precision, tooWide, v.Wide)
	}
}

// shown finds a number that is made a text by the server's 14 digits.
func (j *judge) shown(v flow.Value, pos parse.Pos) {
	j.use(v)
	shown := map[bool]string{true: "%.6f", false: "%.0f"}[v.Frac]
	if v.Surely(flow.IsNumber) && v.Lossy == nil && (v.Large >= flow.MaxShown || v.Frac && v.Large >= flow.Now) {
		j.may(pos, Precision, "a number of more than 14 digits is rounded when it is made a text: "+
			"write string.format('%s', ...), or use the text that a command gives", shown)
	}
}

// formatted checks what string.format gets for verbs that all are %s, or all others.
func (j *judge) formatted(e *parse.CallExpr, args []flow.Value) {
	layout, _ := parse.ConstantText(j.C.Origin(e.Args[0]))
	for i := 1; i < len(args); i++ {
		if strings.Count(layout, "%s") == strings.Count(layout, "%") {
			j.shown(args[i], e.Args[i].Pos())
		} else if !strings.Contains(layout, "%s") {
			j.exact(args[i], e.Args[i].Pos())
		}
	}
}

// jsonOf finds the first list in what cjson.encode gets that may be empty: an empty table is {} in JSON.
func (j *judge) jsonOf(e parse.Expr, v flow.Value) {
	if v.Empty != nil {
		e, v = v.Empty, j.Peek(v.Empty)
	}
	if j.C.Flow.HasText["[]"] && j.C.Flow.HasText["{}"] {
		return // The script puts one in the place of the other.
	}
	if v.Elem != nil && v.Elem.Paired {
		j.find(e.Pos(), JSON, "this is a list of names and values by turns, and no object in JSON: make a table of it first")
	}
	if v.Decoded {
		j.note(e.Pos(), "this came from JSON and is made JSON again: an empty list in it becomes {}, and a number of more than 14 digits is rounded")
	}
	if j.MayBeEmpty(e, v) {
		j.may(e.Pos(), JSON, "this list may be empty, and then cjson makes {} of it: write '[]' if it has no elements")
	}
}

// mayBeNone is found in comments on a time that may be 0.
var mayBeNone = regexp.MustCompile(`\b0 +(?:=|(?:is|for|means?|stands?|or|if)\b)`)

// isID is of names of what may have more than 14 digits; isSmall of ids that never do.
var isSmall = regexp.MustCompile(`\b(?:bucket|db|level|node|partition|shard|slot|type|worker|zone)\b`)
var isID = regexp.MustCompile(`\b(?:id|u?uid|gid|guid|jid|identifier|snowflake|64-?bit)\b`)

// digits finds numbers of more than 14 digits in a table for cjson.encode: large numbers, and ids that are made numbers.
func (j *judge) digits(e parse.Expr) {
	table, ok := j.C.Origin(e).(*parse.TableExpr)
	for i := 0; ok && i < len(table.Fields); i++ {
		f := table.Fields[i]
		name, _ := parse.ConstantText(f.Key)
		v, says := j.Peek(f.Value), units.Spoken(name+" "+j.C.NameOf(f.Value))
		if made := j.Passed(f.Value, "tonumber"); made != nil && isID.MatchString(says) && !isSmall.MatchString(says) && !j.Peek(made).Surely(flow.IsNumber) {
			v.Large = flow.MaxShown
		}
		j.shown(v, f.Value.Pos())
	}
}

// meet finds times of different units in one operation. Those that TIME replies with may be added as a seed.
func (j *judge) meet(pos parse.Pos, l, r flow.Value) {
	u, w := l.Unit, r.Unit
	if u.Per > w.Per {
		u, w, r = w, u, l
	}
	if u.Apart(w) && !(u.Per == 1 && r.Unit == units.ByType["microseconds"] && j.C.Seeds) {
		j.find(pos, Time, "this mixes %s with %s: multiply the %s by %.0f", units.Names[u.Per], units.Names[w.Per],
			units.Names[u.Per], w.Per/u.Per)
	}
}

// padded finds a text that ends with the microseconds of TIME right behind its seconds.
func (j *judge) padded(s flow.Sight) {
	parts := parse.Operands(s.E, "..")
	last, before := len(parts)-1, len(parts)-2
	if before > 0 && parse.IsLiteral(parts[before], ".") {
		before--
	}
	if s.Args[last].Role == flow.AMicro && s.Args[before].Role == flow.ASecond {
		j.find(parts[last].Pos(), Time, "the microseconds of TIME are not padded: write string.format('%%06d', ...)")
	}
}

func (j *judge) expiry(cmd *flow.Command, e parse.Expr, f flow.Form, last parse.Expr) {
	want, v, shown, fails := units.ByType[f.Word], j.Peek(e), strings.ToUpper(cmd.Name), "fails"
	if flow.Is(cmd.Name, "ending") {
		fails = "deletes the key"
	}
	is := v.Unit.Or(j.C.Hears(j.C.Said[flow.Itoa(e.Pos().Line-1)], units.InComment))
	b, ok := j.C.Origin(e).(*parse.BinaryExpr) // so many minutes, hours or days
	minutes := ok && b.Op == "*" && (math.Mod(parse.Bound(b.L), 60) == 0 || math.Mod(parse.Bound(b.R), 60) == 0)
	written := v.Least > 0 && v.Least == v.Size  // the text of a number, too
	if written && !parse.IsLiteral(last, "gt") { // which makes no life shorter
		is = is.Or(meant(v.Size, want))
	}
	if is.Per == 0 && cmd.Writes {
		j.Learn(e, want)
	}
	switch {
	case want.Per == 0 || !cmd.Writes:
	case is.Per >= 1 && is.Apart(want), is.Per == want.Per && is.As+want.As == units.Moment+units.Duration:
		j.may(e.Pos(), Time, "%s takes %s here, and this is in %s: %s", shown, want, is, is.Remedy(want))
	case want.As == units.Moment && (written && v.Size < 1e9*want.Per || is.As == units.Duration || minutes):
		j.find(e.Pos(), Time, "%s takes the time since 1970 here, and this is a duration, or long ago: add the time", shown)
	case v.Frac || v.Split && !j.State.Knows(flow.SomeWhole):
		j.may(e.Pos(), Expire, "%s fails if this has a fraction: write math.ceil", shown)
	case want.As == units.Duration && (v.Low || mayBeNone.MatchString(j.C.Said["ARGV["+flow.Itoa(j.C.Nth(e, "ARGV"))+"]"]) &&
		!slices.ContainsFunc(j.C.Flow.Conds, func(cond parse.Expr) bool { return j.C.Shares(e, cond) })):
		j.may(e.Pos(), Expire, "%s %s if this is 0 or less: write math.max(1, ...)", shown, fails)
	}
}

// meant returns the unit that a number must mean: whole minutes of the other, or so few milliseconds that nobody means them.
func meant(n float64, want units.Unit) units.Unit {
	whole := func(of float64) bool { return math.Mod(n, of) == 0 }
	switch {
	case want == units.ByType["seconds"] && whole(60_000) && (!whole(3600) || whole(3_600_000)):
		return units.Unit{Per: 1000}
	case want == units.ByType["milliseconds"] && (n < 100 || n >= 1800 && whole(60) && !whole(1000)):
		return units.Unit{Per: 1}
	}
	return units.Unit{}
}
