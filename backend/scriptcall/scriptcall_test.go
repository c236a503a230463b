package scriptcall_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/backend/scriptcall"
)

// server keeps what it is sent, and gives one reply.
type server struct {
	keys, args []string
	reply      backend.Reply
	err        error
}

func (s *server) Run(_ context.Context, _ *backend.Script, keys, args []string) (backend.Reply, error) {
	s.keys, s.args = keys, args
	return s.reply, s.err
}

var (
	take     = backend.NewScript("take", "return 1", 1, backend.RetryNever)
	gone     = &backend.ServerError{Code: "GONE", Message: "no bucket"}
	list     = backend.ArrayReply([]backend.Reply{backend.IntegerReply(7), backend.StringReply("x")})
	integers = backend.ArrayReply([]backend.Reply{backend.IntegerReply(7), backend.IntegerReply(8)})
)

// TestArguments: each argument is a word, or it is refused, and then nothing is sent.
func TestArguments(t *testing.T) {
	t.Parallel()
	three := int64(3)
	for want, word := range map[string]func(c *scriptcall.Call) string{
		"0.1":                  func(c *scriptcall.Call) string { return c.Float("a", 0.1) },
		"1":                    func(c *scriptcall.Call) string { return c.Bool("a", true) },
		"0":                    func(c *scriptcall.Call) string { return c.Bool("a", false) },
		"\x00":                 func(c *scriptcall.Call) string { return c.Bytes("a", []byte{0}) },
		"1763700000123":        func(c *scriptcall.Call) string { return c.UnixMilli("a", time.UnixMilli(1763700000123)) },
		"":                     func(c *scriptcall.Call) string { return scriptcall.Optional("a", nil, c.Milliseconds) },
		"3":                    func(c *scriptcall.Call) string { return scriptcall.Optional("a", &three, c.In(1, 3).Int) },
		"read":                 func(c *scriptcall.Call) string { return c.OneOf("a", "read", "write", "read") },
		"a{b}c":                func(c *scriptcall.Call) string { return c.Prefix("a", "a{b}c") },
		"5 8":                  func(c *scriptcall.Call) string { return strings.Join(scriptcall.List("a", []int64{5, 8}, c.Int), " ") },
		"a: NaN is no number":  func(c *scriptcall.Call) string { return c.Float("a", math.NaN()) },
		"a: 10 is not in 1..9": func(c *scriptcall.Call) string { return scriptcall.List("a", []int64{1, 10}, c.In(1, 9).Int)[0] },
		"a: 4 is not in 1..3": func(c *scriptcall.Call) string {
			four := int64(4)
			return scriptcall.Optional("a", &four, c.In(1, 3).Int)
		},
		"a: \"del\" is not PUBLISH|SPUBLISH": func(c *scriptcall.Call) string { return c.Command("a", "del", "PUBLISH", "SPUBLISH") },
		"a: \"Read\" is not write|read":      func(c *scriptcall.Call) string { return c.OneOf("a", "Read", "write", "read") },
		"a: no hash tag in \"a{}c\"":         func(c *scriptcall.Call) string { return c.Prefix("a", "a{}c") },
		"a: no key":                          func(c *scriptcall.Call) string { c.NotEmpty("a", 0); c.NotEmpty("b", 0); return "" },
		"a: 2 for 3 of keys":                 func(c *scriptcall.Call) string { c.SameLength("a", 2, "keys", 3); return "" },
	} {
		c := scriptcall.Call{Script: take}
		srv := &server{}
		c.NotEmpty("keys", 1)
		got := word(&c)
		err := c.Run(t.Context(), srv, 1, []string{"key", got}).Err()
		problem, refused := strings.CutPrefix(want, "a: ")
		if !refused {
			require.NoError(t, err, want)
			require.Equal(t, []string{"key"}, srv.keys)
			require.Equal(t, []string{want}, srv.args)
			require.Equal(t, len(srv.keys), cap(srv.keys), "an append to the keys would overwrite an argument")
			continue
		}
		require.Nil(t, srv.keys, want)
		require.ErrorIs(t, err, backend.ErrArgument)
		require.EqualError(t, err, "script take: a: bad argument: "+problem)
	}
}

// result returns what was decoded, or the text of the error.
func result[T any](got T, err error) any {
	if err != nil {
		return err.Error()
	}
	return got
}

// TestOneResult: a reply is decoded, or the error names the script and the result.
func TestOneResult(t *testing.T) {
	t.Parallel()
	c := scriptcall.Call{Script: take}
	run := func(reply backend.Reply) scriptcall.Result { return c.Run(t.Context(), &server{reply: reply}, 0, nil) }
	seven, none := run(backend.IntegerReply(7)), run(backend.Reply{})
	require.Equal(t, int64(7), result(scriptcall.Value(seven, "n", backend.Reply.Int)))
	require.Equal(t, 7*time.Second, result(scriptcall.Value(seven, "n", scriptcall.Seconds)))
	require.Equal(t, 7*time.Millisecond, result(scriptcall.Value(seven, "n", scriptcall.In(7, 7).Milliseconds)))
	require.Equal(t, []byte("7"), result(scriptcall.Value(seven, "n", scriptcall.Bytes)))
	require.Equal(t, []int64{7, 8}, result(scriptcall.Values(run(integers), "n", scriptcall.In(7, 8).Int)))
	some := run(backend.ArrayReply([]backend.Reply{{}, backend.IntegerReply(8), {}}))
	eight := int64(8)
	require.Equal(t, []*int64{nil, &eight, nil}, result(scriptcall.Values(some, "n", scriptcall.OrNil(backend.Reply.Int))))
	for want, got := range map[string]any{
		"want string, got nil":    result(scriptcall.Value(none, "n", scriptcall.Bytes)),
		"want array, got integer": result(scriptcall.Values(seven, "n", backend.Reply.Int)),
		"8 is not in ..6":         result(scriptcall.Values(some, "n", scriptcall.OrNil(scriptcall.In(math.MinInt64, 6).Int))),
	} {
		require.Equal(t, "script take: n: unexpected reply: "+want, got)
	}
	n, ok, err := scriptcall.ValueOK(seven, "n", backend.Reply.Int)
	require.Equal(t, []any{int64(7), true, nil}, []any{n, ok, err})
	n, ok, err = scriptcall.ValueOK(none, "n", backend.Reply.Int)
	require.Equal(t, []any{int64(0), false, nil}, []any{n, ok, err})
	_, ok, err = scriptcall.ValueOK(run(list), "n", backend.Reply.Int)
	require.ErrorIs(t, err, backend.ErrReply)
	require.False(t, ok)
}

// TestSeveralResults: all are there, or none.
func TestSeveralResults(t *testing.T) {
	t.Parallel()
	type results struct {
		n, none int64
		some    bool
		list    []int64
	}
	read := func(reply backend.Reply, err error) (results, error) {
		c := scriptcall.Call{Script: take}
		out := c.Run(t.Context(), &server{reply: reply, err: err}, 0, nil).Tuple(3)
		var r results
		r.n = scriptcall.Next(&out, "n", backend.Reply.Int)
		r.none, r.some = scriptcall.NextOK(&out, "none", backend.Reply.Int)
		r.list = scriptcall.NextList(&out, "list", backend.Reply.Int)
		return scriptcall.All(r, out)
	}
	array := func(items ...backend.Reply) backend.Reply { return backend.ArrayReply(items) }
	got, err := read(array(backend.IntegerReply(1), backend.Reply{}, integers), nil)
	require.NoError(t, err)
	require.Equal(t, results{n: 1, list: []int64{7, 8}}, got)
	got, err = read(array(backend.IntegerReply(1), backend.IntegerReply(2), array()), nil)
	require.NoError(t, err)
	require.Equal(t, results{n: 1, none: 2, some: true, list: []int64{}}, got)
	for want, reply := range map[string]backend.Reply{
		": unexpected reply: want array, got integer":      backend.IntegerReply(1),
		": unexpected reply: want 3 elements, got 2":       integers,
		" n: unexpected reply: want integer, got nil":      array(backend.Reply{}, list, list),
		" none: unexpected reply: want integer, got array": array(backend.IntegerReply(1), list, list),
		" list: unexpected reply: want array, got nil":     array(backend.IntegerReply(1), backend.Reply{}, backend.Reply{}),
	} {
		got, err := read(reply, nil)
		require.ErrorIs(t, err, backend.ErrReply)
		require.ErrorContains(t, err, "script take:"+strings.TrimPrefix(want, ":"))
		require.Zero(t, got)
	}
	readOK := func(reply backend.Reply, err error) (results, bool, error) {
		c := scriptcall.Call{Script: take}
		out := c.Run(t.Context(), &server{reply: reply, err: err}, 0, nil).TupleOK(2)
		n := scriptcall.Next(&out, "n", backend.Reply.Int)
		scriptcall.NextOK(&out, "none", backend.Reply.Int)
		return scriptcall.AllOK(results{n: n}, out)
	}
	got, ok, err := readOK(array(backend.IntegerReply(1), backend.Reply{}), nil)
	require.Equal(t, []any{results{n: 1}, true, nil}, []any{got, ok, err})
	got, ok, err = readOK(backend.Reply{}, nil)
	require.Equal(t, []any{results{}, false, nil}, []any{got, ok, err})
	_, ok, err = readOK(array(), nil)
	require.ErrorIs(t, err, backend.ErrReply)
	require.False(t, ok)
	_, ok, err = readOK(backend.Reply{}, gone)
	require.Same(t, gone, err)
	require.False(t, ok)
	got, err = read(backend.Reply{}, gone)
	require.Same(t, gone, err, "an error of the server is the result as it is")
	require.Zero(t, got)
}

// TestHashes: fields are read by their names, or in their order; a hash without any of them is none.
func TestHashes(t *testing.T) {
	t.Parallel()
	type bucket struct {
		level int64
		owner string
	}
	read := func(hash scriptcall.Tuple) (bucket, error) {
		b := bucket{level: scriptcall.Next(&hash, "level", backend.Reply.Int)}
		b.owner, _ = scriptcall.NextOK(&hash, "owner", backend.Reply.Text)
		return scriptcall.All(b, hash)
	}
	fields := func(reply backend.Reply) (bucket, error) {
		return read(scriptcall.Fields(reply, "level", "owner").OrNone())
	}
	listed := func(reply backend.Reply) (bucket, error) { return read(scriptcall.Listed(reply, 2).OrNone()) }
	array := func(words ...string) backend.Reply {
		items := make([]backend.Reply, len(words))
		for i, word := range words {
			if word != "" {
				items[i] = backend.StringReply(word)
			}
		}
		return backend.ArrayReply(items)
	}
	c := scriptcall.Call{Script: take}
	run := func(reply backend.Reply) scriptcall.Result { return c.Run(t.Context(), &server{reply: reply}, 0, nil) }
	for _, one := range []struct {
		decode func(backend.Reply) (bucket, error)
		reply  backend.Reply
		want   any // a bucket, nil, or the error
	}{
		{fields, array("more", "1", "owner", "ann", "level", "7"), bucket{7, "ann"}},
		{fields, array("level", "7"), bucket{7, ""}},
		{fields, array("owner", "ann"), "level: unexpected reply: want integer, got nil"},
		{fields, array("owner", "ann", "level"), "unexpected reply: want pairs, got 3 elements"},
		{fields, array(), nil},
		{fields, backend.Reply{}, nil},
		{fields, backend.IntegerReply(1), "unexpected reply: want array, got integer"},
		{listed, array("7", "ann"), bucket{7, "ann"}},
		{listed, array("", ""), nil},
		{listed, array("", "ann"), "level: unexpected reply: want integer, got nil"},
		{listed, array("7"), "unexpected reply: want 2 elements, got 1"},
	} {
		b, ok, err := scriptcall.ValueOK(run(one.reply), "hash", one.decode)
		list := run(backend.ArrayReply([]backend.Reply{one.reply}))
		all, allErr := scriptcall.Values(list, "hash", scriptcall.OrNil(one.decode))
		switch want := one.want.(type) {
		case bucket:
			require.Equal(t, []any{want, true, nil}, []any{b, ok, err})
			require.Equal(t, []*bucket{&want}, result(all, allErr))
		case nil:
			require.Equal(t, []any{bucket{}, false, nil}, []any{b, ok, err})
			require.Equal(t, []*bucket{nil}, result(all, allErr))
		default:
			require.False(t, ok)
			require.ErrorIs(t, err, backend.ErrReply)
			require.EqualError(t, err, fmt.Sprint("script take: hash: ", want))
			require.EqualError(t, allErr, err.Error())
		}
	}
}

// TestErrorOfRunner: every way to read a reply returns the runner's own error.
func TestErrorOfRunner(t *testing.T) {
	t.Parallel()
	c := scriptcall.Call{Script: take}
	failed := c.Run(t.Context(), &server{err: gone}, 0, nil)
	_, err := scriptcall.Value(failed, "n", backend.Reply.Int)
	_, ok, err2 := scriptcall.ValueOK(failed, "n", backend.Reply.Int)
	_, err3 := scriptcall.Values(failed, "n", backend.Reply.Int)
	require.False(t, ok)
	for _, err := range []error{err, err2, err3, failed.Err()} {
		require.Same(t, gone, err)
	}
	require.True(t, errors.Is(err, backend.ScriptError("GONE")))
}

// TestAllocations: a call allocates its words, and nothing else.
func TestAllocations(t *testing.T) {
	srv := &server{reply: backend.IntegerReply(1)}
	ctx, ttl := context.Background(), time.Millisecond
	allocations := testing.AllocsPerRun(100, func() {
		c := scriptcall.Call{Script: take}
		c.SameLength("a", 1, "b", 1)
		words := []string{
			"key", c.Milliseconds("ms", time.Millisecond), scriptcall.Optional("ttl", &ttl, c.Milliseconds),
			scriptcall.Optional("bounded", &ttl, c.In(0, 9).Milliseconds), c.Command("command", "publish", "PUBLISH", "SPUBLISH"),
		}
		if _, err := scriptcall.Value(c.Run(ctx, srv, 1, words), "n", scriptcall.In(0, 9).Int); err != nil {
			panic(err)
		}
	})
	require.LessOrEqual(t, allocations, 1.0)
}

func TestScores(t *testing.T) {
	t.Parallel()
	text := backend.StringReply
	one, low := backend.IntegerReply(1), text("-inf")
	for want, items := range map[string][]backend.Reply{
		"[]":               {},
		"[{a 1} {1 -Inf}]": {text("a"), one, one, low},
		"unexpected reply: want pairs, got 3 elements":                      {text("a"), one, one},
		"unexpected reply: want string, got nil":                            {{}, one},
		`unexpected reply: strconv.ParseFloat: parsing "b": invalid syntax`: {text("a"), text("b"), text("c"), one},
	} {
		require.Equal(t, want, fmt.Sprint(result(scriptcall.Scores(backend.ArrayReply(items)))))
	}
}

// batches keeps the keys of each batch, and replies with the last argument.
type batches [][]string

func (b *batches) RunBatch(_ context.Context, calls []backend.Call, report func(place int, outcome backend.Outcome)) {
	var keys []string
	for _, call := range calls {
		keys = append(keys, call.Keys...)
	}
	*b = append(*b, keys)
	for i := range calls {
		place := len(calls) - 1 - i
		call := calls[place]
		if call.Args[0] == "gone" {
			report(place, backend.Outcome{Err: gone})
			continue
		}
		report(place, backend.Outcome{Reply: backend.StringReply(call.Args[0])})
	}
}

// TestBatch: the first scripts of all calls are one batch, in the order of the calls, and each gets its own outcome.
func TestBatch(t *testing.T) {
	t.Parallel()
	var b batches
	got := make([]int64, 6)
	errs := scriptcall.Batch(t.Context(), &b, len(got), func(i int, r backend.ScriptRunner) (err error) {
		run := func(arg string) scriptcall.Result {
			c := scriptcall.Call{Script: take}
			c.In(0, 8).Int("n", int64(2*i))
			return c.Run(t.Context(), r, 1, []string{strconv.Itoa(i), arg})
		}
		switch i {
		case 1:
			return run("gone").Err()
		case 2:
			return nil
		case 3:
			if err := run("3").Err(); err != nil {
				return err
			}
			got[i], err = scriptcall.Value(run("33"), "n", backend.Reply.Int)
			return err
		}
		got[i], err = scriptcall.Value(run(strconv.Itoa(i)), "n", backend.Reply.Int)
		return err
	})
	require.Equal(t, batches{{"0", "1", "3", "4"}, {"3"}}, b)
	require.Equal(t, []int64{0, 0, 0, 33, 4, 0}, got)
	require.Equal(t, []error{nil, gone, nil, nil, nil}, errs[:5])
	require.ErrorIs(t, errs[5], backend.ErrArgument)
}

func TestBatchOfNone(t *testing.T) {
	t.Parallel()
	var b batches
	require.Empty(t, scriptcall.Batch(t.Context(), &b, 0, nil))
	require.Equal(t, []error{nil}, scriptcall.Batch(t.Context(), &b, 1, func(int, backend.ScriptRunner) error { return nil }))
	require.Empty(t, b)
}
