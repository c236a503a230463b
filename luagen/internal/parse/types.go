package parse

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Type is the declared type of an argument or a result.
type Type struct {
	Name     string // string, bytes, int, float, bool, milliseconds, seconds, unixmilli, scores; a key's for a Hash
	Bounded  bool   // an int or a time with Min and Max, of a time in its unit
	Min, Max int64
	Optional bool  // T?; of a list, its elements
	List     bool  // T... of an argument, T[] of a result
	Hash     *Hash // of a result that is a hash
}

// String returns the type as the header writes it, but for the mark of a list.
func (t Type) String() string {
	s := t.Name
	if t.Bounded {
		s += extremes.Replace(fmt.Sprintf("(%d..%d)", t.Min, t.Max))
	}
	if t.Hash != nil && t.Hash.Listed {
		s += "(" + strings.Join(t.Hash.Names(), ",") + ")"
	}
	if t.Optional {
		s += "?"
	}
	return s
}

// extremes are the bounds that the header leaves out.
var extremes = strings.NewReplacer(strconv.FormatInt(math.MinInt64, 10), "", strconv.FormatInt(math.MaxInt64, 10), "")

// MayBeNone reports whether a result may be nil. A list is never, but its elements may be.
func (t Type) MayBeNone() bool { return t.Optional && !t.List }

// IsTime reports whether the type is a time.Duration in Go.
func (t Type) IsTime() bool { return t.Name == "milliseconds" || t.Name == "seconds" }

var typeNames = Words("types")
var keyKinds = []string{"string", "list", "set", "zset", "hash", "stream", "any"}
var typeShape = regexp.MustCompile(`^([A-Za-z0-9_]+)(\(([^()]*)\))?(\?)?(\[\]|\.\.\.)?(.*)$`)

// parseType reads a type; argument says of which side. It returns a message if it is none.
func parseType(word string, argument bool) (t Type, msg string) {
	m := typeShape.FindStringSubmatch(word)
	if m == nil || m[6] != "" || m[4] == "?" && m[5] == "..." {
		return t, "malformed type " + word
	}
	t.Name, t.Optional, t.List = m[1], m[4] != "", m[5] != ""
	switch {
	case !slices.Contains(typeNames, t.Name):
		return t, "unknown type " + t.Name + suggest(t.Name, typeNames, "the types are")
	case argument && t.Name == "scores":
		return t, "only a result is scores"
	case argument && m[5] == "[]":
		return t, "an argument of many values is written " + t.Name + "..."
	case !argument && m[5] == "...":
		return t, "a result of many values is written " + t.Name + "[]"
	case t.Optional && t.Name == "bool":
		return t, "there is no bool?: nil is how false arrives"
	case t.Optional && argument && (t.Name == "string" || t.Name == "bytes"):
		return t, "there is no " + t.Name + "? argument: absent travels as an empty text, which is a " + t.Name + " too"
	}
	if m[2] != "" {
		msg = t.bounds(m[3], argument)
	}
	return t, msg
}

// bounds reads "min..max", of which one may be left out: a time then is at least 0, and as an argument, maybe an expiry, 1.
func (t *Type) bounds(text string, argument bool) string {
	if t.Name != "int" && !t.IsTime() {
		return "only int, milliseconds and seconds take bounds"
	}
	low, high, found := strings.Cut(text, "..")
	least := int64(math.MinInt64)
	if t.IsTime() {
		least = map[bool]int64{true: 1}[argument]
	}
	minimum, err1 := strconv.ParseInt(cmp.Or(low, strconv.FormatInt(least, 10)), 10, 64)
	maximum, err2 := strconv.ParseInt(cmp.Or(high, strconv.FormatInt(math.MaxInt64, 10)), 10, 64)
	switch {
	case !found || low+high == "" || err1 != nil || err2 != nil:
		return "malformed bounds (" + text + "): write " + t.Name + "(1..100)"
	case minimum > maximum:
		return "empty bounds (" + text + ")"
	}
	t.Bounded, t.Min, t.Max = true, minimum, maximum
	return ""
}
