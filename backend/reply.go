package backend

import (
	"fmt"
	"math"
	"strconv"
	"time"
)

// Reply is what a script returned: nil, an integer, a byte string or an array of replies (R5). The
// zero Reply is nil. Its decoding methods return errors that wrap [ErrReply].
type Reply struct {
	kind  Kind
	num   int64
	text  string
	items []Reply
}

// Kind is the shape of a [Reply].
type Kind int

// The shapes of replies.
const (
	KindNil Kind = iota
	KindInteger
	KindString
	KindArray
)

// String returns the shape's name.
func (k Kind) String() string {
	switch k {
	case KindNil:
		return "nil"
	case KindInteger:
		return "integer"
	case KindString:
		return "string"
	case KindArray:
		return "array"
	}
	return "unknown"
}

// IntegerReply returns the reply for an integer.
func IntegerReply(n int64) Reply { return Reply{kind: KindInteger, num: n} }

// StringReply returns the reply for a byte string or a status.
func StringReply(s string) Reply { return Reply{kind: KindString, text: s} }

// ArrayReply returns the reply for an array; it keeps items.
func ArrayReply(items []Reply) Reply { return Reply{kind: KindArray, items: items} }

// Kind returns the reply's shape.
func (r Reply) Kind() Kind { return r.kind }

// IsNil reports whether the reply is nil, which is also how Lua's false arrives.
func (r Reply) IsNil() bool { return r.kind == KindNil }

// Text returns a string reply, or the decimal text of an integer.
func (r Reply) Text() (string, error) {
	switch r.kind {
	case KindString:
		return r.text, nil
	case KindInteger:
		return strconv.FormatInt(r.num, 10), nil
	}
	return "", r.mismatch("string")
}

// Int returns an integer reply, or the value of a string in decimal: scripts return text for what
// may pass 2^53 (R4).
func (r Reply) Int() (int64, error) {
	switch r.kind {
	case KindInteger:
		return r.num, nil
	case KindString:
		n, err := strconv.ParseInt(r.text, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("%w: %w", ErrReply, err)
		}
		return n, nil
	}
	return 0, r.mismatch("integer")
}

// Float returns the value of a string or an integer.
func (r Reply) Float() (float64, error) {
	switch r.kind {
	case KindInteger:
		return float64(r.num), nil
	case KindString:
		f, err := strconv.ParseFloat(r.text, 64)
		if err != nil {
			return 0, fmt.Errorf("%w: %w", ErrReply, err)
		}
		return f, nil
	}
	return 0, r.mismatch("float")
}

// Bool returns true for the integer 1, false for 0 and nil: Lua's true and false arrive so.
func (r Reply) Bool() (bool, error) {
	switch {
	case r.kind == KindNil:
		return false, nil
	case r.kind == KindInteger && (r.num == 0 || r.num == 1):
		return r.num == 1, nil
	}
	return false, r.mismatch("bool")
}

// Duration returns an integer of the given unit, such as [time.Millisecond]. One beyond the range of
// a Duration, which is 292 years, becomes the longest, or the shortest: as [time.Time.Sub] does it.
func (r Reply) Duration(unit time.Duration) (time.Duration, error) {
	n, err := r.Int()
	switch d := time.Duration(n) * unit; {
	case err != nil:
		return 0, err
	case d/unit == time.Duration(n):
		return d, nil
	case n < 0:
		return math.MinInt64, nil
	}
	return math.MaxInt64, nil
}

// UnixMilli returns an integer as milliseconds since 1970.
func (r Reply) UnixMilli() (time.Time, error) {
	n, err := r.Int()
	if err != nil {
		return time.Time{}, err
	}
	return time.UnixMilli(n), nil
}

// Items returns the elements of an array. The caller must not change them.
func (r Reply) Items() ([]Reply, error) {
	if r.kind != KindArray {
		return nil, r.mismatch("array")
	}
	return r.items, nil
}

// Tuple returns the elements of an array of exactly n.
func (r Reply) Tuple(n int) ([]Reply, error) {
	items, err := r.Items()
	if err != nil {
		return nil, err
	}
	if len(items) != n {
		return nil, fmt.Errorf("%w: want %d elements, got %d", ErrReply, n, len(items))
	}
	return items, nil
}

func (r Reply) mismatch(want string) error {
	return fmt.Errorf("%w: want %s, got %s", ErrReply, want, r.kind)
}
