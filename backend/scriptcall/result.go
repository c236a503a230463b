package scriptcall

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/hasp-go/hasp/backend"
)

// Result is the outcome of a call. Functions of this package read the reply by a method of [backend.Reply], or a function
// of this package, that decodes one value. Their errors name the script and the value, and wrap [backend.ErrReply].
type Result struct {
	script *backend.Script
	reply  backend.Reply
	err    error
}

// Err returns the error of a call whose reply does not matter.
func (r Result) Err() error { return r.err }

func (r Result) failed(name string, err error) error {
	if r.script == nil { // within a reply
		return fmt.Errorf("%s: %w", name, err)
	}
	return fmt.Errorf("script %s: %s: %w", r.script.Name, name, err)
}

// Value returns the reply.
func Value[T any](r Result, name string, decode func(backend.Reply) (T, error)) (value T, err error) {
	if r.err != nil {
		return value, r.err
	}
	decoded, err := decode(r.reply)
	if err != nil {
		return value, r.failed(name, err)
	}
	return decoded, nil
}

// ValueOK returns the reply, and false if it is nil.
func ValueOK[T any](r Result, name string, decode func(backend.Reply) (T, error)) (value T, ok bool, err error) {
	if r.err != nil || r.reply.IsNil() {
		return value, false, r.err
	}
	return found(Value(r, name, decode))
}

// Values returns the elements of a reply that is an array.
func Values[T any](r Result, name string, decode func(backend.Reply) (T, error)) ([]T, error) {
	items, err := Value(r, name, backend.Reply.Items)
	if err != nil {
		return nil, err
	}
	values := make([]T, len(items))
	for i, item := range items {
		if values[i], err = decode(item); err != nil {
			return nil, r.failed(name, err)
		}
	}
	return values, nil
}

// OrNil returns the decoder for elements of which some may be nil.
func OrNil[T any](decode func(backend.Reply) (T, error)) func(backend.Reply) (*T, error) {
	return func(r backend.Reply) (element *T, err error) {
		if r.IsNil() {
			return nil, nil
		}
		value, ok, err := found(decode(r))
		if !ok {
			return nil, err
		}
		return &value, nil
	}
}

// Tuple reads a reply that is an array of several results, one after the other. After a failure the others are zero.
type Tuple struct {
	script *backend.Script
	items  []backend.Reply // that were not read yet
	err    error           // the first
}

// Tuple returns the results of a reply that must have n.
func (r Result) Tuple(n int) Tuple {
	t := Tuple{script: r.script, err: r.err}
	if r.err != nil {
		return t
	}
	if t.items, t.err = r.reply.Tuple(n); t.err != nil && r.script != nil {
		t.err = fmt.Errorf("script %s: %w", r.script.Name, t.err)
	}
	return t
}

// errNone is the error of a Tuple whose reply is nil instead of results.
var errNone = errors.New("no result")

// TupleOK is Tuple for a reply that may be nil. AllOK reports that.
func (r Result) TupleOK(n int) Tuple {
	if r.err == nil && r.reply.IsNil() {
		return Tuple{err: errNone}
	}
	return r.Tuple(n)
}

// found returns false, and no error, for errNone.
func found[T any](value T, err error) (_ T, ok bool, _ error) {
	if errors.Is(err, errNone) {
		return value, false, nil
	}
	return value, err == nil, err
}

// next returns the next result as a reply of its own.
func (t *Tuple) next() Result {
	r := Result{script: t.script, err: t.err}
	if t.err == nil {
		r.reply, t.items = t.items[0], t.items[1:]
	}
	return r
}

// Next returns the next result.
func Next[T any](t *Tuple, name string, decode func(backend.Reply) (T, error)) (value T) {
	value, t.err = Value(t.next(), name, decode)
	return value
}

// NextOK returns the next result, and false if it is nil.
func NextOK[T any](t *Tuple, name string, decode func(backend.Reply) (T, error)) (value T, ok bool) {
	value, ok, t.err = ValueOK(t.next(), name, decode)
	return value, ok
}

// NextList returns the next result, which is an array.
func NextList[T any](t *Tuple, name string, decode func(backend.Reply) (T, error)) (values []T) {
	values, t.err = Values(t.next(), name, decode)
	return values
}

// All returns the results that were read from t, or none of them and the first error.
func All[T any](results T, t Tuple) (T, error) {
	if t.err != nil {
		var none T
		return none, t.err
	}
	return results, nil
}

// AllOK is All for a Tuple that TupleOK made. It returns false without an error if the reply was nil.
func AllOK[T any](results T, t Tuple) (_ T, ok bool, err error) {
	return found(All(results, t))
}

// Bytes decodes a text.
func Bytes(r backend.Reply) ([]byte, error) {
	text, err := r.Text()
	if err != nil {
		return nil, err
	}
	return []byte(text), nil
}

// Milliseconds decodes a time.
func Milliseconds(r backend.Reply) (time.Duration, error) { return r.Duration(time.Millisecond) }

// Seconds decodes a time.
func Seconds(r backend.Reply) (time.Duration, error) { return r.Duration(time.Second) }

// In returns the decoders for results with bounds, of which [math.MinInt64] and [math.MaxInt64] are none.
func In(least, most int64) Bounds { return Bounds{least, most} }

// Bounds decodes numbers, and times in their unit, and refuses those out of bounds.
type Bounds struct{ least, most int64 }

func (b Bounds) have(n int64) bool { return b.least <= n && n <= b.most }

// String returns the bounds as annotations write them.
func (b Bounds) String() string {
	var least, most string
	if b.least > math.MinInt64 {
		least = strconv.FormatInt(b.least, 10)
	}
	if b.most < math.MaxInt64 {
		most = strconv.FormatInt(b.most, 10)
	}
	return least + ".." + most
}

// Int decodes a whole number.
func (b Bounds) Int(r backend.Reply) (int64, error) {
	n, err := r.Int()
	if err == nil && !b.have(n) {
		err = fmt.Errorf("%w: %d is not in %v", backend.ErrReply, n, b)
	}
	return n, err
}

// Milliseconds decodes a time.
func (b Bounds) Milliseconds(r backend.Reply) (time.Duration, error) {
	return b.time(r, time.Millisecond, "milliseconds")
}

// Seconds decodes a time.
func (b Bounds) Seconds(r backend.Reply) (time.Duration, error) {
	return b.time(r, time.Second, "seconds")
}

func (b Bounds) time(r backend.Reply, unit time.Duration, units string) (time.Duration, error) {
	v, err := r.Duration(unit)
	if n, _ := r.Int(); err == nil && !b.have(n) { // v may be the longest time instead.
		err = fmt.Errorf("%w: %v is not in %v %s", backend.ErrReply, v, b, units)
	}
	return v, err
}

// Fields returns the values of fields of a hash, whose reply has the name and the value of each field, as HGETALL
// replies. Those of missing fields are nil.
func Fields(reply backend.Reply, names ...string) Tuple {
	t := Tuple{items: make([]backend.Reply, len(names))}
	words, err := pairs(reply)
	t.err = err
	for i := 0; i < len(words); i += 2 {
		name, _ := words[i].Text()
		if place := slices.Index(names, name); place >= 0 {
			t.items[place] = words[i+1]
		}
	}
	return t
}

func pairs(reply backend.Reply) ([]backend.Reply, error) {
	items, err := reply.Items()
	if len(items)%2 != 0 {
		return nil, fmt.Errorf("%w: want pairs, got %d elements", backend.ErrReply, len(items))
	}
	return items, err
}

// Listed returns the values of n fields, as HMGET replies.
func Listed(reply backend.Reply, n int) Tuple { return Result{reply: reply}.Tuple(n) }

// OrNone returns t, or, if no field has a value, a Tuple whose results are missing: there is no hash.
func (t Tuple) OrNone() Tuple {
	if t.err == nil && !slices.ContainsFunc(t.items, func(r backend.Reply) bool { return !r.IsNil() }) {
		t.err = errNone
	}
	return t
}

// Scored is an element of a sorted set.
type Scored struct {
	Member string
	Score  float64
}

// Scores decodes elements, each with its score, as commands reply with the word WITHSCORES, and ZPOPMIN does.
func Scores(reply backend.Reply) ([]Scored, error) {
	words, err := pairs(reply)
	all := make([]Scored, len(words)/2)
	for i := range all {
		if err == nil {
			all[i].Member, err = words[2*i].Text()
		}
		if err == nil {
			all[i].Score, err = words[2*i+1].Float()
		}
	}
	return all, err
}
