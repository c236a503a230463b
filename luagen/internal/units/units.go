// Package units knows in what times are measured, and what names and comments say of that.
package units

import (
	"cmp"
	"fmt"
)

// Unit is in what a time is measured. Its zero is unknown.
type Unit struct {
	Per float64 // second
	As  Span
}

// Span is how long something takes, or a time since 1970.
type Span int

const (
	Duration Span = iota + 1 // how long something takes
	Moment                   // since 1970
)

// ByType has them by the names of declared types, and of the places that commands have for them.
var ByType = map[string]Unit{
	"seconds": {1, Duration}, "milliseconds": {1000, Duration}, "unixmilli": {1000, Moment},
	"microseconds": {1e6, Duration}, "unix-time-seconds": {1, Moment}, "unix-time-milliseconds": {1000, Moment},
}

// Names are those of units, by how many of them are a second. Nobody means the last two: something was multiplied wrongly.
var Names = map[float64]string{1: "seconds", 1e3: "milliseconds", 1e6: "microseconds", 1e9: "nanoseconds", 1e-3: "thousands of seconds", 1e12: "picoseconds"}

// String says a unit in words.
func (u Unit) String() string {
	text := Names[u.Per]
	if u.As == Moment {
		text += " since 1970"
	}
	return text
}

// Remedy says how to get one unit from another.
func (u Unit) Remedy(want Unit) string {
	switch by := want.Per / u.Per; {
	case by == 1:
		return "add or subtract the time"
	case by > 1:
		return fmt.Sprintf("multiply it by %.0f", by)
	default:
		return fmt.Sprintf("divide it by %.0f, with math.ceil", 1/by)
	}
}

// Apart reports whether two times certainly are of different units.
func (u Unit) Apart(w Unit) bool {
	return Names[u.Per] != "" && Names[w.Per] != "" && u.Per != w.Per
}

// Or returns a unit, or another as far as it is not known.
func (u Unit) Or(w Unit) Unit {
	return Unit{cmp.Or(u.Per, w.Per), cmp.Or(u.As, w.As)}
}
