package check

import (
	"cmp"
	"math"

	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// kinds is a set of what a value may be.
type kinds uint16

const (
	isNil kinds = 1 << iota
	isFalseValue
	isTrueValue
	isText
	isNumber
	isTable        // but for these two
	isStatus       // {ok = 'text'}, as a status reply arrives
	isFailed       // {err = 'text'}
	isOther        // a function, say
	anything kinds = 1<<iota - 1
)

const (
	absent  = isNil | isFalseValue
	boolean = isTrueValue | isFalseValue
)

const (
	maxExact = 1 << 53 // a Lua number holds every integer so far
	maxShown = 1e14    // from here on tostring of a number rounds
	maxInt64 = 1 << 63
	maxLife  = 9.3e12 // milliseconds
	now      = 1.7e9  // seconds since 1970
)

// value is what is known of what an expression stands for. Its zero but for is says nothing more.
type value struct {
	is    kinds
	nilAt int // if it certainly may be nil: the way on which that was so; 0: that is not certain

	since int // and how many turns the way had taken then

	missing string // what it is a reply about, or an argument: it is nil, false or 0 if that is missing

	number
	word  bool       // it certainly is a text that is no number
	wide  string     // the declared int, of any size, that it is the text of
	lossy *parse.Pos // where such a text was made a number, which has not been found yet

	from *parse.CallExpr // the call of HGETALL or HMGET that replied with it

	free   bool // it is a declared string
	role   role
	of     string  // the key about which it is, or is made of what is
	mixed  bool    // with other things
	made   string  // the key that was created if this is 1, or a status
	elem   *value  // of a list: an element
	known  int     // how many elements there are at least,
	most   int     // and at most, 0: unknown
	pairs  bool    // its elements take turns as the first two of items
	items  []value // of a table constructor: its elements
	closed bool    // and there are no others
	places []parse.Pos

	hollow  bool       // it is a table that is empty in some cases
	listed  string     // the key of which it has the elements
	empty   parse.Expr // a list was put into it that is empty in some cases
	decoded bool       // it came from JSON,
	doubted bool       // of which the script is not sure that it is any
	endless bool       // it is a reply with any number of elements
	given   bool       // likewise of arguments
	digits  *parse.Pos // of a table: where a number of more than 14 digits stands that was put into it
}

// number is what is known of a number, or of the number that a text holds.
type number struct {
	size  float64    // how large it may well be, 0: unknown
	large float64    // how large it is in some cases, 0: unknown
	least float64    // it certainly is no less, 0: unknown
	whole bool       // it certainly has no fraction
	frac  bool       // it may well have one
	split bool       // it is divided by a number that is written out, and may well have a fraction then
	low   bool       // it may well be 0 or less
	unit  unit       // of a time,
	roots []root     // from where it comes
	by    *parse.Pos // the call that added an int of any size, of which it is the reply
}

// countUpTo returns a whole number.
func countUpTo(size float64) value {
	return value{is: isNumber, number: number{whole: true, size: size}}
}

// aCount returns a number of elements.
func aCount() value { return countUpTo(1 << 40) }

// nothing returns nil, as it is from here on.
func (m *machine) nothing() value {
	return value{is: isNil, nilAt: m.state.at, since: m.state.trail.turns()}
}

func unknown() value { return value{is: anything} }

func textValue() value { return value{is: isText} }

func listOf(elem value, known int) value {
	return value{is: isTable, elem: &elem, known: known}
}

// surely reports whether a value is of a kind, if it is not nil or false.
func (v value) surely(k kinds) bool { return v.is&^absent == k }

// numeric reports whether a value, if there is any, certainly is a number or the text of one.
func (v value) numeric() bool {
	return v.surely(isNumber) || v.surely(isText) && (v.whole || v.frac)
}

// constant reports whether a value is a number that is written out.
func (v value) constant() bool { return v.is == isNumber && v.least > 0 && v.least == v.size }

// small reports whether a value is a number that Lua certainly holds exactly.
func (v value) small() bool { return v.size > 0 && v.size <= maxExact && v.wide == "" }

// truthy returns the part of a value that is true for a condition.
func (v value) truthy() value {
	v.is &^= absent
	return v.orUnknown()
}

// falsy returns the part of a value that is false for a condition.
func (v value) falsy() value {
	return value{is: v.is & absent, nilAt: v.nilAt, since: v.since, missing: v.missing, of: v.of}
}

// orUnknown is for what cannot be by what is known: then too little is.
func (v value) orUnknown() value {
	if v.is == 0 {
		return unknown()
	}
	return v
}

// join returns what is known of a value that is a or b; at is when that is decided.
func join(a, b value, at int) value {
	if a.is == 0 {
		return b
	}
	v := value{is: a.is | b.is, word: a.word && b.word}
	whole := a.whole && b.whole
	if v.missing = b.missing; a.missing != "" && a.is&absent != 0 || b.is&absent == 0 {
		v.missing = a.missing
	}
	v.nilAt, v.since = joinNil(a, b, at), min(a.since, b.since)
	a, b = neutral(a, b), neutral(b, a)
	v.number = joinNumbers(a.number, b.number)
	v.whole = whole
	v.wide, v.lossy, v.digits, v.empty = cmp.Or(a.wide, b.wide), cmp.Or(a.lossy, b.lossy), cmp.Or(a.digits, b.digits), cmp.Or(a.empty, b.empty)
	v.hollow, v.decoded, v.endless, v.doubted, v.given = a.hollow || b.hollow, a.decoded || b.decoded, a.endless || b.endless, a.doubted || b.doubted, a.given || b.given
	v.listed, v.role, v.made = same(a.listed, b.listed), same(a.role, b.role), same(a.made, b.made)
	if a.of == b.of || v.is&^boolean == 0 {
		v.of, v.mixed = cmp.Or(a.of, b.of), a.mixed || b.mixed
	}
	if a.elem != nil && b.elem != nil {
		element := join(*a.elem, *b.elem, 0)
		v.elem, v.known = &element, min(a.known, b.known)
	}
	return v
}

func joinNumbers(a, b number) number {
	n := number{
		large: max(a.large, b.large), least: min(a.least, b.least), whole: a.whole && b.whole, frac: a.frac || b.frac,
		split: a.split || b.split, low: a.low || b.low, by: cmp.Or(a.by, b.by), roots: joined(a.roots, b.roots),
	}
	if a.size > 0 && b.size > 0 {
		n.size = max(a.size, b.size)
	}
	switch { // A number that is written out takes the unit of the other.
	case a.unit == b.unit, b.timeless():
		n.unit = a.unit
	case a.timeless():
		n.unit = b.unit
	}
	return n
}

// timeless reports whether a number is written out.
func (n number) timeless() bool {
	return n.unit.per == 0 && n.size > 0 && n.whole && len(n.roots) == 0
}

// same returns what two have in common, nothing if they differ.
func same[T comparable](a, b T) (both T) {
	if a == b {
		return a
	}
	return both
}

// neutral returns a, or b if a is no number or text: then it does not weaken what is known.
func neutral(a, b value) value {
	if a.is&^absent == 0 {
		return b
	}
	return a
}

// joinNil returns since when the join of two values may be nil.
func joinNil(a, b value, at int) int {
	switch {
	case a.is == isNil && a.nilAt > 0 || b.is == isNil && b.nilAt > 0:
		return at
	case a.is&isNil != 0 && b.is&isNil != 0:
		return min(a.nilAt, b.nilAt)
	case a.is == isNil || b.is == isNil:
		return at
	case a.is&isNil != 0:
		return a.nilAt
	}
	return b.nilAt
}

// declared returns what is known of a declared name.
func declared(b *parse.Binding) value {
	v := scalar(b)
	if b.Type.List {
		return listOf(v, 0)
	}
	return v
}

func scalar(b *parse.Binding) value {
	v := textValue()
	t := b.Type
	v.unit = units[t.Name]
	if t.Bounded {
		v.least = float64(max(t.Min, 0))
		v.low = t.Min > math.MinInt64 && t.Min <= 0
	} else if t.IsTime() {
		v.least = 1
	}
	if most := largest[t.Name]; most > 0 {
		v.whole, v.size = true, bounded(t, most)
	}
	switch t.Name {
	case "string":
		v.free = b.Kind == parse.Arg
	case "bool":
		return value{is: boolean}
	case "int":
		if !t.Bounded || t.Max > maxExact || t.Min < -maxExact {
			v.wide = b.Name
		} else {
			v.large = v.size
		}
	case "unixmilli":
		v.large = now * 1000
	case "float":
		v.frac = true
	}
	if t.Optional {
		v.is, v.missing = v.is|isNil, anArgument+b.Name
	}
	return v
}

// largest are how large whole numbers of a type may be: a time.Duration, and a time up to the year 4000.
var largest = map[string]float64{"int": maxInt64, "milliseconds": maxLife, "seconds": maxLife / 1000, "unixmilli": 6.5e13}

// bounded returns how large a number of a type may be: most, or less by its bounds.
func bounded(t parse.Type, most float64) float64 {
	if !t.Bounded {
		return most
	}
	return min(most, max(float64(t.Max), -float64(t.Min), 1))
}

// named reports whether a text is a name, which need not be a number.
func (v value) named() bool {
	return v.free || v.role == aMember || v.role == aScored
}

var kindTexts = map[kinds]string{
	isText: "a text", isNumber: "a number", isText | isNumber: "a text or a number", isTrueValue: "true or false",
	isStatus: "a status reply (a table with the field ok)", isFailed: "an error", isOther: "a function",
}

// String says in words what a value may be, nil and false left out if there is more.
func (k kinds) String() string {
	switch rest := k &^ absent; {
	case kindTexts[rest] != "":
		return kindTexts[rest]
	case k == isNil:
		return "nil"
	case rest == 0:
		return "false"
	case rest&^(isTable|isStatus|isFailed) == 0:
		return "a table"
	}
	return "a value of another kind"
}
