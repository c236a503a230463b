package scriptcall_test

import (
	"errors"
	"math"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/backend/scriptcall"
)

// unit is a type of whole numbers: its 1 in Go, its name in errors, and the decoder of results without bounds.
type unit struct {
	one    int64
	name   string
	result any
}

// units are by the names of the methods for them.
var units = map[string]unit{
	"Int":          {1, "", backend.Reply.Int},
	"Milliseconds": {int64(time.Millisecond), " milliseconds", scriptcall.Milliseconds},
	"Seconds":      {int64(time.Second), " seconds", scriptcall.Seconds},
}

// ranges are by their texts in errors.
var ranges = map[string][2]int64{
	"1..60": {1, 60}, "0..0": {0, 0}, "-5..5": {-5, 5}, "..60": {math.MinInt64, 60}, "-1..": {-1, math.MaxInt64},
	"0..": {0, math.MaxInt64}, "0..99999999999999": {0, 99999999999999}, "..": {math.MinInt64, math.MaxInt64},
}

// edges are numbers at both sides of the bounds of a range, and of what Go, Lua and a time can hold.
func edges(of [2]int64) (all []int64) {
	for _, n := range []int64{of[0], of[1], 0, 1 << 53, math.MaxInt64 / 1_000_000, math.MaxInt64 / 1_000_000_000} {
		all = append(all, n-1, n, n+1, -n)
	}
	return all
}

// in reports whether a range has a number.
func in(of [2]int64, n int64) bool { return of[0] <= n && n <= of[1] }

// call calls a function with arguments of its types.
func call(f reflect.Value, args ...any) []reflect.Value {
	values := make([]reflect.Value, len(args))
	for i, arg := range args {
		values[i] = reflect.ValueOf(arg).Convert(f.Type().In(i))
	}
	return f.Call(values)
}

// TestNumbersAsArguments: each type of numbers, of which each method of Bounded is one, is sent from the least to the
// most of its range, and nothing beyond. What is no whole number is cut, but not to 0.
func TestNumbersAsArguments(t *testing.T) {
	t.Parallel()
	for text, of := range ranges {
		for i := range reflect.TypeFor[scriptcall.Bounded]().NumMethod() {
			m := reflect.TypeFor[scriptcall.Bounded]().Method(i)
			u, known := units[m.Name]
			require.True(t, known, "Bounded.%s has no row", m.Name)
			for _, v := range values(of, u.one) {
				c := &scriptcall.Call{Script: take}
				word := call(reflect.ValueOf(c.In(of[0], of[1])).MethodByName(m.Name), "a", v)[0].String()
				requireWord(t, c, word, in(of, v/u.one) && (v == 0 || v/u.one != 0), v/u.one,
					goText(v, u)+" is not in "+text+u.name)
				if unbounded := map[bool]string{true: "..", false: "0.."}[u.one == 1]; text == unbounded {
					c = &scriptcall.Call{Script: take}
					word = call(reflect.ValueOf(c).MethodByName(m.Name), "a", v)[0].String()
					requireWord(t, c, word, u.one == 1 || v >= u.one, v/u.one,
						goText(v, u)+" is less than a"+strings.TrimSuffix(u.name, "s"))
				}
			}
		}
	}
}

// values are the edges of a range in Go, and what lies a little below and above each.
func values(of [2]int64, one int64) (all []int64) {
	for _, n := range edges(of) {
		if n*one/one == n {
			all = append(all, n*one)
		}
		if one > 1 && n*one/one == n && n < math.MaxInt64/one && n > math.MinInt64/one {
			all = append(all, n*one-1, n*one+1, n*one+one/2)
		}
	}
	return all
}

// goText returns a value as Go prints it.
func goText(v int64, u unit) string {
	if u.one == 1 {
		return strconv.FormatInt(v, 10)
	}
	return time.Duration(v).String()
}

// requireWord fails unless the word of an argument is a number, or the argument is refused.
func requireWord(t *testing.T, c *scriptcall.Call, word string, allowed bool, n int64, problem string) {
	t.Helper()
	srv := &server{}
	err := c.Run(t.Context(), srv, 0, []string{word}).Err()
	if allowed {
		require.NoError(t, err)
		require.Equal(t, strconv.FormatInt(n, 10), word)
		return
	}
	require.ErrorIs(t, err, backend.ErrArgument)
	require.EqualError(t, err, "script take: a: bad argument: "+problem)
	require.Nil(t, srv.args, "it was sent")
}

// TestNumbersAsResults: each type of numbers is read from the least to the most of its range, from an integer and from a
// text, and nothing beyond, and no other kind of reply. A time that is too long for Go is the longest.
func TestNumbersAsResults(t *testing.T) {
	t.Parallel()
	for text, of := range ranges {
		for i := range reflect.TypeFor[scriptcall.Bounds]().NumMethod() {
			m := reflect.TypeFor[scriptcall.Bounds]().Method(i)
			u, known := units[m.Name]
			if m.Name == "String" {
				continue
			}
			require.True(t, known, "Bounds.%s has no row", m.Name)
			decoders := []reflect.Value{reflect.ValueOf(scriptcall.In(of[0], of[1])).MethodByName(m.Name)}
			if text == ".." {
				decoders = append(decoders, reflect.ValueOf(u.result))
			}
			for _, decode := range decoders {
				for _, n := range edges(of) {
					for _, reply := range []backend.Reply{backend.IntegerReply(n), backend.StringReply(strconv.FormatInt(n, 10))} {
						requireNumber(t, call(decode, reply), n, in(of, n), u, text)
					}
				}
				for _, reply := range []backend.Reply{
					{}, list, backend.StringReply(""), backend.StringReply("1.5"), backend.StringReply(" 1"), backend.StringReply("1e3"),
					backend.StringReply("9223372036854775808"), backend.StringReply("x"),
				} {
					got := call(decode, reply)
					require.ErrorIs(t, got[1].Interface().(error), backend.ErrReply)
					require.Zero(t, got[0].Int())
				}
			}
		}
	}
}

// requireNumber fails unless a decoder returned a number, or refused it.
func requireNumber(t *testing.T, got []reflect.Value, n int64, allowed bool, u unit, text string) {
	t.Helper()
	err, _ := got[1].Interface().(error)
	if !allowed {
		require.ErrorIs(t, err, backend.ErrReply, n)
		require.ErrorContains(t, err, " is not in "+text+u.name)
		return
	}
	want := n * u.one
	if want/u.one != n && n > 0 {
		want = math.MaxInt64
	} else if want/u.one != n {
		want = math.MinInt64
	}
	require.NoError(t, err, n)
	require.Equal(t, want, got[0].Int())
}

// TestCommandsAndChannels: a script that may call SPUBLISH, by whatever letters, gets no channel of another slot, and no
// beginning of channels whose slot is not fixed.
func TestCommandsAndChannels(t *testing.T) {
	t.Parallel()
	for command, sharded := range map[string]bool{
		"PUBLISH": false, "publish": false, "Publish": false, "SPUBLISH": true, "spublish": true, "sPublish": true,
	} {
		for channel, problem := range map[string]map[string]string{
			"a:{key}": {}, "{key}:": {},
			"key": {"ChannelPrefix": `bad argument: no hash tag in "key"`}, // "keys" may be elsewhere.
			"b":   {"Channel": "keys hash to different slots", "ChannelPrefix": `bad argument: no hash tag in "b"`},
			"{b}": {"Channel": "keys hash to different slots", "ChannelPrefix": "keys hash to different slots"},
		} {
			for method, of := range map[string]func(*scriptcall.Call, string, string, string, ...string) string{
				"Channel": (*scriptcall.Call).Channel, "ChannelPrefix": (*scriptcall.Call).ChannelPrefix,
			} {
				c, srv := scriptcall.Call{Script: take}, &server{}
				words := []string{"key", c.Command("command", command, "publish", "spublish"), of(&c, "a", channel, command, "key", "{b}")}
				err := c.Run(t.Context(), srv, 1, words).Err()
				if want := problem[method]; sharded && want != "" {
					require.Equal(t, strings.HasPrefix(want, "keys"), errors.Is(err, backend.ErrCrossSlot))
					require.EqualError(t, err, "script take: a: "+want, "%s of %s for %s", method, channel, command)
					require.Nil(t, srv.keys, "it was sent")
					continue
				}
				require.NoError(t, err)
				require.Equal(t, []string{command, channel}, srv.args)
			}
		}
	}
}
