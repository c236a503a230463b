package flow

import (
	"cmp"
	"math"

	"github.com/hasp-go/hasp/luagen/internal/parse"
	"github.com/hasp-go/hasp/luagen/internal/units"
)

// Kinds is a set of what a value may be.
type Kinds uint16

const (
	IsNil        Kinds = 1 << iota // nil
	IsFalseValue                   // false
	IsTrueValue                    // true
	IsText                         // a text
	IsNumber                       // a number
	IsTable                        // but for these two
	IsStatus                       // {ok = 'text'}, as a status reply arrives
	IsFailed                       // {err = 'text'}
	isOther                        // a function, say
	anything     Kinds = 1<<iota - 1
)

const (
	Absent  = IsNil | IsFalseValue       // false for a condition
	Boolean = IsTrueValue | IsFalseValue // true or false
)

const (
	MaxExact = 1 << 53 // a Lua number holds every integer so far
	MaxShown = 1e14    // from here on tostring of a number rounds
	maxInt64 = 1 << 63
	MaxLife  = 9.3e12 // milliseconds
	Now      = 1.7e9  // seconds since 1970
)

// Value is what is known of what an expression stands for. Its zero but for is says nothing more. What is true or false stands
// together, since states have many values.
type Value struct {
	Is      Kinds
	Word    bool   // it certainly is a text that is no number
	free    bool   // it is a declared string
	mixed   bool   // it is made of other things, too, than what it is of
	Closed  bool   // it has the elements of Items and no others
	Rows    bool   // there may be something by numbers in it, or by a name that means something to a reply
	hollow  bool   // it is a table that is empty in some cases
	Decoded bool   // it came from JSON,
	doubted bool   // of which the script is not sure that it is any
	Endless bool   // it is a reply with any number of elements
	Paired  bool   // it is a name by turns, and what belongs to it, or the number of such elements
	Missing string // what it is a reply about, or an argument: it is nil, false or 0 if that is missing

	Number
	Wide  string     // the declared int, of any size, that it is the text of
	Lossy *parse.Pos // where such a text was made a number, which has not been found yet

	From *parse.CallExpr // the call of HGETALL or HMGET that replied with it

	Role   Role
	of     string  // the key about which it is, or is made of what is
	made   string  // the key that was created if this is 1, or a status
	Elem   *Value  // of a list: an element
	Known  int     // how many elements there are at least,
	Items  []Value // of a table constructor: its elements
	Places []parse.Pos

	listed string     // the key of which it has the elements
	Empty  parse.Expr // a list was put into it that is empty in some cases
	ByName *Value     // of a table that the script makes: what is in it by names
}

// Number is what is known of a number, or of the number that a text holds.
type Number struct {
	Size  float64    // how large it may well be, 0: unknown
	Large float64    // how large it is in some cases, 0: unknown
	Least float64    // it certainly is no less, 0: unknown
	Whole bool       // it certainly has no fraction
	Frac  bool       // it may well have one
	Split bool       // it is divided by a number that is written out, and may well have a fraction then
	Low   bool       // it may well be 0 or less
	Unit  units.Unit // of a time,
}

func countUpTo(size float64) Value {
	return Value{Is: IsNumber, Number: Number{Whole: true, Size: size}}
}

func aCount() Value { return countUpTo(1 << 40) }

func unknown() Value { return Value{Is: anything} }

func textValue() Value { return Value{Is: IsText} }

func listOf(elem Value, known int) Value {
	return Value{Is: IsTable, Elem: &elem, Known: known}
}

// or returns a value that may be of other kinds, too.
func (v Value) or(k Kinds) Value {
	v.Is |= k
	return v
}

// Surely reports whether a value is of a kind, if it is not nil or false.
func (v Value) Surely(k Kinds) bool { return v.Is&^Absent == k }

// Constant reports whether a value is a number that is written out.
func (v Value) Constant() bool { return v.Is == IsNumber && v.Least > 0 && v.Least == v.Size }

// falsy returns the part of a value that is false for a condition.
func (v Value) falsy() Value {
	return Value{Is: v.Is & Absent, Missing: v.Missing, of: v.of}
}

// orUnknown is for what cannot be by what is known: then too little is.
func (v Value) orUnknown() Value {
	if v.Is == 0 {
		return unknown()
	}
	return v
}

// Join returns what is known of a value that is a or b.
func Join(a, b Value) Value {
	if a.Is == 0 {
		return b
	}
	v := Value{Is: a.Is | b.Is, Word: a.Word && b.Word, Paired: a.Paired && b.Paired}
	whole := a.Whole && b.Whole
	if v.Missing = b.Missing; a.Missing != "" && a.Is&Absent != 0 || b.Is&Absent == 0 {
		v.Missing = a.Missing
	}
	a, b = neutral(a, b), neutral(b, a)
	v.Number = joinNumbers(a.Number, b.Number)
	v.Whole = whole
	v.Wide, v.Lossy, v.Empty = cmp.Or(a.Wide, b.Wide), cmp.Or(a.Lossy, b.Lossy), cmp.Or(a.Empty, b.Empty)
	v.hollow, v.Decoded, v.Endless, v.doubted = a.hollow || b.hollow, a.Decoded || b.Decoded, a.Endless || b.Endless, a.doubted || b.doubted
	v.listed, v.Role, v.made = same(a.listed, b.listed), same(a.Role, b.Role), same(a.made, b.made)
	if a.of == b.of || v.Is&^Boolean == 0 {
		v.of, v.mixed = cmp.Or(a.of, b.of), a.mixed || b.mixed
	}
	if v.Rows = a.Rows || b.Rows; a.ByName != nil || b.ByName != nil {
		nothing := &Value{Is: IsNil}
		named := Join(*cmp.Or(a.ByName, nothing), *cmp.Or(b.ByName, nothing))
		v.ByName = &named
	}
	if a.Elem != nil && b.Elem != nil {
		element := Join(*a.Elem, *b.Elem)
		v.Elem, v.Known = &element, min(a.Known, b.Known)
	}
	return v
}

func joinNumbers(a, b Number) Number {
	n := Number{
		Large: max(a.Large, b.Large), Least: min(a.Least, b.Least), Whole: a.Whole && b.Whole, Frac: a.Frac || b.Frac,
		Split: a.Split || b.Split, Low: a.Low || b.Low,
	}
	if a.Size > 0 && b.Size > 0 {
		n.Size = max(a.Size, b.Size)
	}
	switch { // A number that is written out takes the unit of the other.
	case a.Unit == b.Unit, b.timeless():
		n.Unit = a.Unit
	case a.timeless():
		n.Unit = b.Unit
	}
	return n
}

// timeless reports whether a number is written out.
func (n Number) timeless() bool {
	return n.Unit.Per == 0 && n.Size > 0 && n.Whole
}

// same returns what two have in common, nothing if they differ.
func same[T comparable](a, b T) (both T) {
	if a == b {
		return a
	}
	return both
}

// neutral returns a, or b if a is no number or text: then it does not weaken what is known.
func neutral(a, b Value) Value {
	if a.Is&^Absent == 0 {
		return b
	}
	return a
}

// declared returns what is known of a declared name.
func declared(b *parse.Binding) Value {
	v := scalar(b)
	if b.Type.List {
		return listOf(v, 0)
	}
	return v
}

func scalar(b *parse.Binding) Value {
	v := textValue()
	t := b.Type
	v.Unit = units.ByType[t.Name]
	if t.Bounded {
		v.Least = float64(max(t.Min, 0))
		v.Low = t.Min > math.MinInt64 && t.Min <= 0
	}
	if most := largest[t.Name]; most > 0 {
		if v.Whole, v.Size = true, most; t.Bounded {
			v.Size = min(most, max(float64(t.Max), -float64(t.Min), 1))
		}
	}
	switch t.Name {
	case "string":
		v.free = b.Kind == parse.Arg
	case "bool":
		return Value{Is: Boolean}
	case "int":
		if !t.Bounded || t.Max > MaxExact || t.Min < -MaxExact {
			v.Wide = b.Name
		} else {
			v.Large = v.Size
		}
	case "unixmilli":
		v.Large = Now * 1000
	case "float":
		v.Frac = true
	}
	if t.Optional {
		v.Is, v.Missing = v.Is|IsNil, AnArgument+b.Name
	}
	return v
}

// largest are how large whole numbers of a type may be: a time.Duration, and a time up to the year 4000.
var largest = map[string]float64{"int": maxInt64, "milliseconds": MaxLife, "seconds": MaxLife / 1000, "unixmilli": 6.5e13}

// Named reports whether a text is a name, which need not be a number.
func (v Value) Named() bool {
	return v.free || v.Role == AMember
}

var kindTexts = map[Kinds]string{
	IsText: "a text", IsNumber: "a number", IsText | IsNumber: "a text or a number", IsTrueValue: "true or false",
	IsStatus: "a status reply (a table with the field ok)", IsFailed: "an error", isOther: "a function",
}

// String says in words what a value may be, nil and false left out if there is more.
func (k Kinds) String() string {
	switch rest := k &^ Absent; {
	case kindTexts[rest] != "":
		return kindTexts[rest]
	case k == IsNil:
		return "nil"
	case rest == 0:
		return "false"
	case rest&^(IsTable|IsStatus|IsFailed) == 0:
		return "a table"
	}
	return "a value of another kind"
}
