package hasptest

import (
	"context"
	"encoding/binary"
	"errors"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/backend/embedded"
)

// FuzzScript makes f the fuzz target of a function that luagen made; "luagen -fuzz" writes this call. It returns when
// f.Fuzz does. Each input is a sequence of calls on a new embedded server, whose clock advances by up to 20 minutes before
// each. For each, call draws keys and arguments, calls the function with them and r, and returns its error.
//
// An input fails if Lua or a command fails in the script, or if the reply is not what the script declares. It does not fail
// by an error that the script returns, a refused argument, or a number that becomes too large. The log of a failure has
// all calls. An input that needs what the embedded server lacks is skipped. Without -fuzz eight fixed inputs run; with it
// add -fuzzminimizetime=1x, or go test spends most of its time on making inputs shorter.
func FuzzScript(f *testing.F, call func(ctx context.Context, r backend.ScriptRunner, in *Drawn) error) {
	f.Helper()
	for seed := range byte(8) {
		data := make([]byte, 1<<9)
		_, _ = rand.NewChaCha8([32]byte{seed}).Read(data)
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		server, in := embedded.NewServer(), &Drawn{data}
		b, err := embedded.New(server, nil)
		for err == nil && len(in.data) > 0 {
			server.Advance(time.Duration(in.Int(0, 1<<40)))
			err = call(t.Context(), logged{b, t}, in)
			var reply *backend.ServerError
			returned := errors.As(err, &reply) && reply.Line == 0 // Lua gives errors that are raised a line.
			if returned || errors.Is(err, backend.ErrArgument) || errors.Is(err, backend.ErrOverflow) {
				err = nil
			}
		}
		switch {
		case errors.Is(err, backend.ErrNotSupported):
			t.Skip(err)
		case err != nil:
			t.Fatal(err)
		}
	})
}

// logged is a runner that shows the calls of a target that fails.
type logged struct {
	backend.ScriptRunner
	t *testing.T
}

// Run implements [backend.ScriptRunner].
func (r logged) Run(ctx context.Context, s *backend.Script, keys, args []string) (backend.Reply, error) {
	r.t.Logf("keys %q, arguments %q", keys, args)
	return r.ScriptRunner.Run(ctx, s, keys, args)
}

// Drawn draws keys and arguments from one input of [FuzzScript], for one goroutine. Behind the end of the input each is
// the least of its kind.
type Drawn struct{ data []byte }

// below returns a number from 0 to n-1.
func (in *Drawn) below(n uint64) uint64 {
	var word [8]byte
	in.data = in.data[copy(word[:], in.data):]
	return binary.LittleEndian.Uint64(word[:]) % n
}

// Int returns a number from least, which must not exceed most, to most: often one of these, or one near 0.
func (in *Drawn) Int(least, most int64) int64 {
	near := []int64{least, most, 0, 1, -1, int64(in.below(10))}
	if i := in.below(8); i < uint64(len(near)) {
		return max(least, min(most, near[i]))
	}
	return least + int64(in.below(max(1, uint64(most)-uint64(least))))
}

// Key returns one of three keys, or channels, for a declared name. All keys have one hash tag.
func (in *Drawn) Key(name string) string { return "{fuzz}:" + name + ":" + in.OneOf("a", "b", "c") }

// OneOf returns one of at least one text.
func (in *Drawn) OneOf(texts ...string) string { return texts[in.below(uint64(len(texts)))] }

// Text returns a text of at most 8 bytes, often a number.
func (in *Drawn) Text() string {
	random := binary.LittleEndian.AppendUint64(nil, in.below(math.MaxUint64))[:in.below(9)]
	return in.OneOf("", "a", "b", "0", "1", "-1", "1.5", "a:{b}", string(random))
}

// Bool returns true or false.
func (in *Drawn) Bool() bool { return in.below(2) == 1 }

// Maybe returns the address of v, or nil.
func Maybe[T any](in *Drawn, v T) *T {
	if in.Bool() {
		return &v
	}
	return nil
}

// Several returns n values, which draw returns.
func Several[T any](n int64, draw func() T) []T {
	values := make([]T, n)
	for i := range values {
		values[i] = draw()
	}
	return values
}
